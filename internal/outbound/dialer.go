// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package outbound

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"syscall"
)

// dialer connects to what its guard lets through.
type dialer struct {
	guard guard
	// refused is told of what the guard did not let through, once for a connection that was to be made; nil is not.
	refused func(host string, address netip.Addr, because string)
	// resolver of names; nil is that of the system.
	resolver *net.Resolver
}

func newDialer(cfg Config) *dialer {
	return &dialer{guard: newGuard(cfg.AllowCIDRs, cfg.DenyCIDRs), refused: cfg.Refused}
}

// dial is the DialContext of a transport.
func (d *dialer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	var once sync.Once // a name may have thousands of addresses
	connecting := net.Dialer{Timeout: dialTimeout, Resolver: d.resolver, Control: func(network, resolved string, _ syscall.RawConn) error {
		err := d.guard.control(network, resolved)
		if refused, ok := errors.AsType[*refusedError](err); ok && d.refused != nil {
			host, _, _ := net.SplitHostPort(address)
			once.Do(func() { d.refused(host, refused.address, refused.because) })
		}
		return err
	}}
	return connecting.DialContext(ctx, network, address)
}
