// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/feed-operator/feed-operator/internal/destination"
	"github.com/feed-operator/feed-operator/internal/destination/webhook"
	"github.com/feed-operator/feed-operator/internal/failure"
)

// R4.5: a receiver is left alone for as long as it asks for, and by what its answer says of a limit only where that limit is used up.
func TestAReceiverIsLeftAloneForAsLongAsItAsks(t *testing.T) {
	t.Parallel()
	const date = "Fri, 20 Nov 2026 12:00:00 GMT"
	for name, test := range map[string]struct {
		status int
		header map[string]string
		want   time.Duration
	}{
		"a time of its own":                  {429, map[string]string{"Retry-After": "90"}, 90 * time.Second},
		"a time of its own, with an error":   {503, map[string]string{"Retry-After": "90"}, 90 * time.Second},
		"until its limit is reset":           {429, map[string]string{"X-RateLimit-Reset": "1795176240"}, 4 * time.Minute},
		"seconds until its limit is reset":   {429, map[string]string{"X-RateLimit-Reset-After": "1.5"}, 1500 * time.Millisecond},
		"the longest of all":                 {429, map[string]string{"X-RateLimit-Reset-After": "2", "X-RateLimit-Reset": "240", "Retry-After": "3"}, 4 * time.Minute},
		"a limit that is used up":            {429, map[string]string{"X-RateLimit-Reset-After": "2", "X-RateLimit-Remaining": "0"}, 2 * time.Second},
		"a limit of which something is left": {429, map[string]string{"X-RateLimit-Reset-After": "7200", "X-RateLimit-Remaining": "4", "Retry-After": "3"}, 3 * time.Second},
		"an error and a limit":               {500, map[string]string{"X-RateLimit-Reset-After": "7200"}, 0},
		"a year":                             {429, map[string]string{"Retry-After": "31536000"}, 24 * time.Hour},
		"nothing":                            {429, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Date", date)
				for key, value := range test.header {
					w.Header().Set(key, value)
				}
				w.WriteHeader(test.status)
			}))
			t.Cleanup(server.Close)
			client, err := webhook.New(webhook.Config{URL: server.URL, Transport: http.DefaultTransport, ContentType: "application/json", Now: time.Now})
			if err != nil {
				t.Fatal(err)
			}
			_, err = client.Deliver(t.Context(), "key", destination.Post{Text: "{}"})
			if got := failure.Classify(err).RetryAfter; got != test.want {
				t.Errorf("it is left alone for %s, want %s", got, test.want)
			}
		})
	}
}
