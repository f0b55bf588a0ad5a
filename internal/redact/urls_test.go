// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package redact_test

import (
	"testing"

	"github.com/feed-operator/feed-operator/internal/redact"
)

// R5.6: a URL goes without credentials, and else stays as it is.
func TestAURLGoesWithoutItsCredentials(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"https://example.org/feed?b=2&a=1#top":             "https://example.org/feed?b=2&a=1#top",
		"https://example.org/feed?q=a+b&&c=%2f":            "https://example.org/feed?q=a+b&&c=%2f",
		"https://example.org/feed?key=politics":            "https://example.org/feed?key=politics",
		"https://me:s3'cr@t@example.org/feed?b=2&a=%2f":    "https://example.org/feed?b=2&a=%2f",
		"https://t0k3n@example.org":                        "https://example.org",
		"https://example.org/feed?a=1&to%6ben=t0k3n&c=%2f": "https://example.org/feed?a=1&c=%2f",
		"https://example.org/feed?api_key=t0k3n":           "https://example.org/feed",
		"https://me:s3cret@example.org:x/":                 "https://example.org:x/",
	} {
		if got := redact.WithoutCredentials(address); got != want {
			t.Errorf("%s becomes %s, want %s", address, got, want)
		}
	}
}
