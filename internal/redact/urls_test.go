// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package redact_test

import (
	"slices"
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
		"https://example.org/feed?token=&a=1":              "https://example.org/feed?token=&a=1",
		"https://example.org/feed?token=politics":          "https://example.org/feed",
		"https://example.org/feed?token=t0%zz&a=1":         "https://example.org/feed?a=1",
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

// R5.6: what is a credential does not depend on how well the rest of a URL is written; words are none where the name
// of the parameter has other uses.
func TestCredentialsAreFoundInURLs(t *testing.T) {
	t.Parallel()
	if got := redact.CredentialsIn(" https://example.org/feed?token=abc123def456\n"); !slices.Equal(got, []string{"abc123def456"}) {
		t.Errorf("with space around it, a URL holds %q", got)
	}
	for address, want := range map[string][]string{
		"https://example.org/feed?b=2&a=1#token=abc123def456":         nil,
		"https://example.org/feed?token=abc123def456":                 {"abc123def456"},
		"https://example.org/feed?TOKEN=b2&feed_token=a%31":           {"a1", "b2"},
		"https://example.org/feed?token=a1;b2":                        {"a1;b2"},
		"https://example.org/feed?token=a1%zz":                        {"a1%zz"},
		"https://example.org/feed?token=opensesame&pwd=horse-battery": {"horse-battery", "opensesame"},
		"https://example.org/feed?key=politics&hash=world-news-2026":  nil,
		"https://example.org/feed?key=abc123def456&api_key=politics":  {"abc123def456", "politics"},
		"https://example.org/feed?token=&key=&password":               nil,
		"https://example.org/feed?token=https://example.org":          nil,
		"https://me:s3cret@example.org/feed":                          {"s3cret"},
		"https://t0k3n@example.org/feed":                              {"t0k3n"},
		"https://example.org/%zz?token=abc123def456":                  nil,
	} {
		if got := redact.CredentialsIn(address); !slices.Equal(got, want) {
			t.Errorf("%s holds %q, want %q", address, got, want)
		}
	}
}
