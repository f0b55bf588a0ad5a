// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package outbound

import "net/netip"

// Networks of IPv6 whose addresses carry one of IPv4.
var (
	mapped     = netip.MustParsePrefix("::ffff:0:0/96")   // RFC 4291, section 2.5.5.2
	compatible = netip.MustParsePrefix("::/96")           // RFC 4291, section 2.5.5.1
	translated = netip.MustParsePrefix("::ffff:0:0:0/96") // RFC 2765, section 2.1
	nat64      = netip.MustParsePrefix("64:ff9b::/96")    // RFC 6052, section 2.1
	localNAT64 = netip.MustParsePrefix("64:ff9b:1::/48")  // RFC 8215
	sixToFour  = netip.MustParsePrefix("2002::/16")       // RFC 3056, section 2
	teredo     = netip.MustParsePrefix("2001::/32")       // RFC 4380, section 4
	thisHost   = netip.MustParsePrefix("0.0.0.0/8")       // RFC 1122, section 3.2.1.3
)

// isMetadata are the addresses at which the clouds tell a machine, or a pod, what it is, its credentials
// among it. Some are public by their number, and so in no registry of special addresses. A network
// that is allowed does not include them: each must be allowed by exactly its own address.
var isMetadata = map[netip.Addr]bool{
	netip.MustParseAddr("169.254.169.254"): true, // most of them
	netip.MustParseAddr("fd00:ec2::254"):   true, // AWS
	netip.MustParseAddr("169.254.170.2"):   true, // AWS, of a task of ECS
	netip.MustParseAddr("169.254.170.23"):  true, // AWS, of a pod of EKS
	netip.MustParseAddr("fd00:ec2::23"):    true, // AWS, of a pod of EKS
	netip.MustParseAddr("fd20:ce::254"):    true, // Google (metadata.google.internal), by IPv6
	netip.MustParseAddr("168.63.129.16"):   true, // Azure, the wire server
	netip.MustParseAddr("100.100.100.200"): true, // Alibaba
	netip.MustParseAddr("192.0.0.192"):     true, // Oracle
	netip.MustParseAddr("169.254.0.23"):    true, // Tencent
	netip.MustParseAddr("169.254.42.42"):   true, // Scaleway
	netip.MustParseAddr("fd00:42::42"):     true, // Scaleway
	netip.MustParseAddr("fe80::a9fe:a9fe"): true, // OpenStack
}

// embedded returns the addresses of IPv4 that one of IPv6 may lead to.
func embedded(address netip.Addr) []netip.Addr {
	if !address.Is6() {
		return nil
	}
	b := address.As16()
	v4 := func(at ...int) netip.Addr { return netip.AddrFrom4([4]byte{b[at[0]], b[at[1]], b[at[2]], b[at[3]]}) }
	last := v4(12, 13, 14, 15)
	switch {
	case mapped.Contains(address), address.Is4In6(): // a Prefix never contains the latter
		return []netip.Addr{last}
	case address.IsUnspecified() || address.IsLoopback():
		return nil
	case compatible.Contains(address), translated.Contains(address), nat64.Contains(address):
		return []netip.Addr{last}
	case localNAT64.Contains(address):
		// Where the address is depends on how long the prefix of the translator is (RFC 6052, section
		// 2.2), which only the translator knows.
		out := []netip.Addr{last}
		for _, other := range []netip.Addr{v4(6, 7, 9, 10), v4(7, 9, 10, 11), v4(9, 10, 11, 12)} {
			if !thisHost.Contains(other) { // nothing but the zeros before or after the address
				out = append(out, other)
			}
		}
		return out
	case sixToFour.Contains(address):
		return []netip.Addr{v4(2, 3, 4, 5)}
	case teredo.Contains(address):
		client := netip.AddrFrom4([4]byte{^b[12], ^b[13], ^b[14], ^b[15]})
		return []netip.Addr{v4(4, 5, 6, 7), client}
	}
	return nil
}
