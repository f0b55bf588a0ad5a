// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"time"
)

// serve starts a server on loopback, and returns its URL with a slash at the end.
func serve(ctx context.Context, handler http.Handler) (*http.Server, string, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", err
	}
	return startServer(listener, handler), "http://" + listener.Addr().String() + "/", nil
}

// ServeAsMany starts a server that stands for many: it has all addresses of 127.0.0.0/8, on the port that is returned.
func ServeAsMany(ctx context.Context, handler http.Handler) (*http.Server, uint16, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp4", "0.0.0.0:0")
	if err != nil {
		return nil, 0, err
	}
	address, err := netip.ParseAddrPort(listener.Addr().String())
	if err != nil {
		return nil, 0, err
	}
	return startServer(loopbackOnly{listener}, handler), address.Port(), nil
}

func startServer(listener net.Listener, handler http.Handler) *http.Server {
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(listener) }() // ends with Close
	return server
}

// loopbackOnly lets nobody in but this machine: a socket can't listen on 127.0.0.0/8 alone.
type loopbackOnly struct{ net.Listener }

// Accept implements net.Listener.
func (l loopbackOnly) Accept() (net.Conn, error) {
	for {
		connection, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		to, err := netip.ParseAddrPort(connection.LocalAddr().String())
		if err == nil && to.Addr().Unmap().IsLoopback() {
			return connection, nil
		}
		_ = connection.Close()
	}
}
