// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package outbound

import "testing"

// R3.13: who has one domain, or one small network, counts once.
func TestHostsOfOneOwnerAreOneSite(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]string{
		"example.com": "example.com", "a.b.example.com": "example.com", "www.example.co.uk": "example.co.uk",
		"me.github.io": "me.github.io", "co.uk": "co.uk", "localhost": "localhost", "db.prod.svc.cluster.local": "cluster.local",
		"203.0.113.7": "203.0.113.0/24", "203.0.113.99": "203.0.113.0/24", "::ffff:203.0.113.7": "203.0.113.0/24",
		"2001:db8:1:2::3": "2001:db8:1::/48", "2001:db8:1:ffff::3": "2001:db8:1::/48", "fe80::1%eth0": "fe80::/48", "": "",
		"xn--bcher-kva.example": "xn--bcher-kva.example",
	} {
		if got := SiteOf(host); got != want {
			t.Errorf("%s is of %q, want %q", host, got, want)
		}
	}
}
