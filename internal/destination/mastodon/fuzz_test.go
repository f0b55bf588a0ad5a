// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package mastodon

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/destination"
	"github.com/feed-operator/feed-operator/internal/failure"
)

// FuzzAnswers: whatever a server answers, a delivery is a receipt with an id or a failure that
// says the right thing about what is certain, with the token in none of its words.
func FuzzAnswers(f *testing.F) {
	f.Add(200, "", "", `{"id":"1","url":"https://example.social/1"}`)
	f.Add(200, `<https://example.social/x?max_id=1>; rel="next"`, "", `[{"id":1,"created_at":"2026-11-20T12:00:00Z","content":"<p>Text <a href='https://example.org/a'>a"}]`)
	f.Add(429, "", "2026-11-20T12:04:00.000Z", `{"error":"Too many requests"}`)
	f.Add(429, "", "99999999999999999999", `{}`)
	f.Add(422, "", "-1", `{"error":"`+token+`"}`)
	f.Add(403, "", "NaN", `{"error":{"a":1},"message":"\u202e"}`)
	f.Add(301, "", "", `<html>`)
	f.Add(202, "", "Inf", `null`)
	f.Add(200, `<:>; rel="next"`, "", `[null,{"id":{},"account":7,"reblog":[],"edited_at":0}]`)
	f.Fuzz(func(t *testing.T, status int, links, reset, body string) {
		status = 200 + (status%600+600)%600
		requests := 0
		client, err := New(Config{
			Server: "https://example.social", AccessToken: token, Now: func() time.Time { return start },
			Transport: roundTripper(func(*http.Request) (*http.Response, error) {
				requests++
				return &http.Response{
					StatusCode: status, Body: io.NopCloser(strings.NewReader(body)),
					Header: http.Header{"Link": {links}, "X-Ratelimit-Reset": {reset}, "Retry-After": {reset}},
				}, nil
			}),
		})
		if err != nil {
			t.Fatal(err)
		}
		post := destination.Post{Text: "Text https://example.org/a", Link: "https://example.org/a"}
		receipt, err := client.Deliver(t.Context(), "key", post)
		if requests != 1 {
			t.Errorf("%d requests, want 1", requests)
		}
		if err == nil && (status != http.StatusOK || receipt.ID == "" || len(receipt.ID) > maxID || len(receipt.URL) > maxURL) {
			t.Errorf("status %d is the success %+v", status, receipt)
		}
		check := func(err error) {
			if err == nil {
				return
			}
			got := failed(t, err)
			refused := status >= 300 && status <= 499 && status != http.StatusRequestTimeout
			if got.Status != status && got.Type != failure.TypeTooLarge || destination.Certain(err) != refused && got.Status == status {
				t.Errorf("status %d: %+v", status, got)
			}
			if got.RetryAfter < 0 || got.RetryAfter > maxWait {
				t.Errorf("wait is %s", got.RetryAfter)
			}
			if got.Category == v1alpha1.CategoryUnknown && status < 600 || !utf8.ValidString(got.Message) || len(got.Message) > 1200 {
				t.Errorf("status %d: %s %q", status, got.Category, got.Message)
			}
		}
		check(err)
		_, found, err := client.Find(t.Context(), destination.Query{Since: start.Add(-time.Minute), Post: post})
		if found && err != nil {
			t.Errorf("found along with %v", err)
		}
		check(err)
		_, err = client.Check(t.Context())
		check(err)
	})
}
