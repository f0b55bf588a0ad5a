// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package outbound

import (
	"testing"
)

// R1.6, R1.7
func FuzzFollow(f *testing.F) {
	for _, location := range []string{
		"/next", "//other.example/x?y=z#w", "https://例え.テスト/", "http://[::1%25eth0]:80/", "?q", "http:opaque", "HTTP://EXAMPLE.ORG:080/",
		"http://user:pass@example.org", "http://a\\@b/", "javascript:alert(1)", "http://%61/", "..//../",
	} {
		f.Add(location)
	}
	start, err := parseTarget("https://user:pass@example.org/feed")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, location string) {
		next, err := start.follow(location)
		if err != nil {
			return
		}
		if next.url.Scheme != "http" && next.url.Scheme != "https" || next.url.Hostname() == "" || next.url.User != nil {
			t.Errorf("%q leads to %q", location, next)
		}
		for _, r := range next.url.Host {
			if r >= 0x80 {
				t.Errorf("host %q is not in ASCII", next.url.Host)
			}
		}
		again, err := parseTarget(next.String())
		if err != nil || again.origin() != next.origin() {
			t.Errorf("%q reads back as %q, %v", next, again, err)
		}
	})
}
