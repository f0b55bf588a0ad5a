// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package outbound

import "testing"

// R1.3: a host is one host, in whatever way a feed names it.
func TestAHostIsTheSameHoweverItIsWritten(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"https://news.example/feed":                  "news.example",
		"https://user:geheim@NEWS.example:8443/feed": "news.example",
		"https://bücher.example/feed":                "xn--bcher-kva.example",
		"https://BÜCHER.example/feed":                "xn--bcher-kva.example",
		"https://xn--bcher-kva.example/":             "xn--bcher-kva.example",
		"http://[2001:DB8::1]:80/":                   "2001:db8::1",
		"ftp://news.example/feed":                    "",
		"news.example/feed":                          "",
		"https://news.example:99999/":                "",
	} {
		if got := HostOf(raw); got != want {
			t.Errorf("%s: %q, want %q", raw, got, want)
		}
	}
}
