// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package outbound

import (
	"net/netip"

	"golang.org/x/net/publicsuffix"
)

// SiteOf returns the site that a host belongs to, as HostOf returns it: the domain that somebody has registered, by the
// Public Suffix List, or the network of an address (/24, or /48 of IPv6), which is the least that one owner is
// given. Hosts of one site are one to whoever counts them, because its owner can make as many as he likes.
func SiteOf(host string) string {
	if address, err := netip.ParseAddr(host); err == nil {
		address = address.Unmap().WithZone("")
		bits := 48
		if address.Is4() {
			bits = 24
		}
		if network, err := address.Prefix(bits); err == nil {
			return network.String()
		}
	}
	if site, err := publicsuffix.EffectiveTLDPlusOne(host); err == nil {
		return site
	}
	return host // a name without a dot, or a public suffix itself
}
