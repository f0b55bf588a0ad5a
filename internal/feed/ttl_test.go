// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feed_test

import (
	"testing"

	"github.com/feed-operator/feed-operator/internal/feed"
)

// R1.3: the ttl of a feed is read, whatever stands there.
func TestTheTTLOfAFeed(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		element string
		want    int
	}{
		"an hour":            {"<ttl>60</ttl>", 60},
		"with space":         {"<ttl>\n 120 </ttl>", 120},
		"a fraction":         {"<ttl>90.5</ttl>", 90},
		"none":               {"", 0},
		"empty":              {"<ttl/>", 0},
		"zero":               {"<ttl>0</ttl>", 0},
		"less than nothing":  {"<ttl>-5</ttl>", 0},
		"words":              {"<ttl>one hour</ttl>", 0},
		"not a number":       {"<ttl>NaN</ttl>", 0},
		"longer than a year": {"<ttl>99999999999</ttl>", 366 * 24 * 60},
		"without end":        {"<ttl>Inf</ttl>", 366 * 24 * 60},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body := `<rss version="2.0"><channel><title>News</title>` + test.element + `<item><title>One</title></item></channel></rss>`
			document, err := feed.Parse([]byte(body), "application/rss+xml", "")
			if err != nil {
				t.Fatal(err)
			}
			if document.TTL != test.want {
				t.Errorf("got %d, want %d", document.TTL, test.want)
			}
		})
	}
}
