// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package outbound

import (
	"fmt"
	"net/netip"
	"syscall"

	"code.dny.dev/ssrf"
)

// azureWireServer serves the metadata of Azure machines from an address that is public by its
// number, and so is in no registry of special addresses.
var azureWireServer = netip.MustParsePrefix("168.63.129.16/32")

// guard decides which addresses may be connected to. It is asked after name resolution, before
// each connection, so neither a redirect nor a name that changes its address gets past it.
type guard struct {
	guardian *ssrf.Guardian
}

func newGuard(allowed []netip.Prefix) guard {
	var v4, v6 []netip.Prefix
	for _, prefix := range allowed {
		if prefix.Addr().Is4() {
			v4 = append(v4, prefix)
		} else {
			v6 = append(v6, prefix)
		}
	}
	return guard{ssrf.New(
		ssrf.WithAnyPort(),
		ssrf.WithAllowedV4Prefixes(v4...),
		ssrf.WithAllowedV6Prefixes(v6...),
		ssrf.WithDeniedV4Prefixes(azureWireServer),
	)}
}

// control is the Control function of a net.Dialer.
func (g guard) control(network, address string, connection syscall.RawConn) error {
	err := g.guardian.Safe(network, address, connection)
	if err == nil {
		return nil
	}
	refused := &refusedError{err: err}
	if endpoint, parseErr := netip.ParseAddrPort(address); parseErr == nil {
		refused.address = endpoint.Addr()
	}
	return refused
}

// refusedError says that the guard did not let a connection be made.
type refusedError struct {
	address netip.Addr
	err     error
}

func (e *refusedError) Error() string { return e.err.Error() }
func (e *refusedError) Unwrap() error { return e.err }

// message says what to do, with the narrowest network that would help.
func (e *refusedError) message(host string) string {
	if !e.address.IsValid() {
		return fmt.Sprintf("The address of %s is refused.", host)
	}
	address := e.address.WithZone("")
	return fmt.Sprintf("%s has the address %s, which is private or reserved and therefore refused. "+
		"If it is meant to be reached, start the operator with --allow-cidr=%s/%d.",
		host, address, address, address.BitLen())
}
