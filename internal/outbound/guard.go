// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package outbound

import (
	"fmt"
	"net/netip"
	"slices"

	"code.dny.dev/ssrf"
)

// guard decides which addresses may be connected to. It is asked after name resolution, before
// each connection, so neither a redirect nor a name that changes its address gets past it.
//
// An address that carries an IPv4 address within (see embedded) leads to that one, by way of a
// translator or a tunnel. It is refused where one of the two is, whatever else allows it.
type guard struct {
	guardian *ssrf.Guardian
	// allowed and denied are networks, none of them of IPv4 mapped into IPv6.
	allowed, denied []netip.Prefix
}

func newGuard(allowed, denied []netip.Prefix) guard {
	g := guard{allowed: unmapped(allowed), denied: unmapped(denied)}
	var v4, v6 []netip.Prefix
	for _, prefix := range g.allowed {
		if prefix.Addr().Is4() {
			v4 = append(v4, prefix)
		} else {
			v6 = append(v6, prefix)
		}
	}
	g.guardian = ssrf.New(ssrf.WithAnyPort(), ssrf.WithAllowedV4Prefixes(v4...), ssrf.WithAllowedV6Prefixes(v6...))
	return g
}

// control decides about an address as the Control function of a net.Dialer gets it. An error is a *refusedError.
func (g guard) control(network, address string) error {
	endpoint, err := netip.ParseAddrPort(address)
	if err != nil {
		return &refusedError{because: "it is no address"}
	}
	if network != "tcp4" && network != "tcp6" {
		return &refusedError{endpoint.Addr(), "it is of a network other than TCP"}
	}
	return g.judge(endpoint.Addr())
}

// judge returns nil, or a *refusedError.
func (g guard) judge(address netip.Addr) error {
	plain := address.WithZone("")
	for _, each := range append(embedded(plain), plain) {
		switch {
		case contains(g.denied, each):
			return &refusedError{address, "the operator was started to deny it"}
		case isMetadata[each] && !slices.Contains(g.allowed, netip.PrefixFrom(each, each.BitLen())):
			return &refusedError{address, "it is one of those that give credentials to a machine of a cloud"}
		case each != plain && g.guardian.SafeAddr(each) != nil:
			return &refusedError{address, fmt.Sprintf("it leads to %s, which is private or reserved", each)}
		}
	}
	if g.guardian.SafeAddr(address) != nil {
		return &refusedError{address, "it is private or reserved"}
	}
	return nil
}

func contains(networks []netip.Prefix, address netip.Addr) bool {
	return slices.ContainsFunc(networks, func(network netip.Prefix) bool { return network.Contains(address) })
}

// unmapped writes networks of IPv4 that is mapped into IPv6 as those of IPv4 that they are.
func unmapped(networks []netip.Prefix) []netip.Prefix {
	out := slices.Clone(networks)
	for i, network := range out {
		if address := network.Addr(); address.Is4In6() && network.Bits() >= 96 {
			out[i] = netip.PrefixFrom(address.Unmap(), network.Bits()-96)
		}
	}
	return out
}

// refusedError means that the guard did not let a connection be made. Its text can be shown to anybody:
// what address a name has inside is nobody's business but that of those who run the operator.
type refusedError struct {
	address netip.Addr
	// because is a clause for the log.
	because string
}

func (e *refusedError) Error() string { return "the address is refused" }

// message returns what to do.
func (e *refusedError) message(host string) string {
	return fmt.Sprintf("The address of %s is private, reserved or denied, and therefore refused. If it is meant to be reached, "+
		"ask those who run the operator: its log has the address, and --allow-cidr allows it.", host)
}
