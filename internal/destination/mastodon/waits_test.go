// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package mastodon

import (
	"testing"
	"time"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/destination"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/mastodontest"
)

// R4.5: 429 and X-RateLimit-Reset are honoured without holding a worker. The library would sleep
// in the call, and this test with it.
func TestWaitsAreSaidAndNotWaited(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		status int
		header map[string]string
		want   time.Duration
	}{
		"Mastodon":                     {429, map[string]string{"X-RateLimit-Reset": "2026-11-20T12:04:00.123456Z"}, 4*time.Minute + 123456*time.Microsecond},
		"an older server":              {429, map[string]string{"X-RateLimit-Reset": "1795176240"}, 4 * time.Minute},
		"seconds from now":             {429, map[string]string{"X-RateLimit-Reset": "30"}, 30 * time.Second},
		"Retry-After in seconds":       {429, map[string]string{"Retry-After": "90"}, 90 * time.Second},
		"Retry-After as a date":        {429, map[string]string{"Retry-After": "Fri, 20 Nov 2026 12:01:00 GMT"}, time.Minute},
		"dates by its own clock":       {429, map[string]string{"Date": "Thu, 19 Nov 2026 12:00:00 GMT", "Retry-After": "Thu, 19 Nov 2026 12:01:00 GMT"}, time.Minute},
		"the longer of both":           {429, map[string]string{"Retry-After": "90", "X-RateLimit-Reset": "2026-11-20T12:01:00Z"}, 90 * time.Second},
		"the longer of both again":     {429, map[string]string{"Retry-After": "30", "X-RateLimit-Reset": "2026-11-20T12:01:00Z"}, time.Minute},
		"its limit, and nothing left":  {429, map[string]string{"X-RateLimit-Reset": "2026-11-20T12:04:00Z", "X-RateLimit-Remaining": "0"}, 4 * time.Minute},
		"of a proxy, and much left":    {429, map[string]string{"Retry-After": "60", "X-RateLimit-Reset": "2026-11-20T15:00:00Z", "X-RateLimit-Remaining": "299"}, time.Minute},
		"of a proxy that says nothing": {429, map[string]string{"X-RateLimit-Reset": "2026-11-20T15:00:00Z", "X-RateLimit-Remaining": "299"}, 0},
		"a time that is over":          {429, map[string]string{"X-RateLimit-Reset": "2026-11-20T11:00:00Z", "Retry-After": "Fri, 20 Nov 2026 11:01:00 GMT"}, 0},
		"epoch seconds that are over":  {429, map[string]string{"X-RateLimit-Reset": "1795100000"}, 0},
		"milliseconds":                 {429, map[string]string{"X-RateLimit-Reset": "1795176240000"}, maxWait},
		"nonsense":                     {429, map[string]string{"X-RateLimit-Reset": "soon", "Retry-After": "NaN"}, 0},
		"more than is believed":        {429, map[string]string{"Retry-After": "99999999999999999999"}, maxWait},
		"a year":                       {429, map[string]string{"X-RateLimit-Reset": "2027-11-20T12:00:00Z"}, maxWait},
		"less than nothing":            {429, map[string]string{"Retry-After": "-5", "X-RateLimit-Reset": "-5"}, 0},
		"nothing":                      {429, nil, 0},
		"maintenance":                  {503, map[string]string{"Retry-After": "600"}, 10 * time.Minute},
		"a limit that is not reached":  {503, map[string]string{"X-RateLimit-Reset": "2026-11-20T15:00:00Z"}, 0},
		"an error and such a limit":    {500, map[string]string{"X-RateLimit-Reset": "2026-11-20T15:00:00Z"}, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := newClient(t, serve(t, answer{test.status, test.header, `{"error":"Too many requests"}`}.ServeHTTP))
			_, err := client.Deliver(t.Context(), "key", destination.Post{Text: "text"})
			if got := failed(t, err).RetryAfter; got != test.want {
				t.Errorf("wait is %s, want %s", got, test.want)
			}
			_, _, err = client.Find(t.Context(), destination.Query{Since: start})
			if got := failed(t, err).RetryAfter; got != test.want {
				t.Errorf("wait after Find is %s, want %s", got, test.want)
			}
		})
	}
}

func TestThrottledByTheServersOwnLimit(t *testing.T) { // R4.5
	t.Parallel()
	server := newServer(t, mastodontest.Options{PostsPerWindow: 1})
	client := newClient(t, server.URL)
	if _, err := client.Deliver(t.Context(), "1", destination.Post{Text: "1"}); err != nil {
		t.Fatal(err)
	}
	_, err := client.Deliver(t.Context(), "2", destination.Post{Text: "2"})
	wantOutcome(t, err, outcome{v1alpha1.CategoryRateLimit, failure.TypeThrottled, 429, true})
	if got := failed(t, err); got.RetryAfter != 3*time.Hour {
		t.Errorf("wait is %s, want 3 h", got.RetryAfter)
	}
	if server.Count(posting) != 2 {
		t.Errorf("%d requests, want 2", server.Count(posting))
	}
}
