// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package outbound is the only way out of the operator: every request to a feed, a page, a
// provider or a destination goes through its guarded dialer and its limits.
//
// It knows addresses, redirects, sizes and times. It must never know what an answer means, and
// must never let a credential, a query string or a header value into an error.
package outbound

import (
	"crypto/tls"
	"net/http"
	"net/netip"
	"time"

	"github.com/feed-operator/feed-operator/internal/budget"
)

// Limits of a connection that no request changes.
const (
	dialTimeout         = 10 * time.Second
	tlsHandshakeTimeout = 10 * time.Second
	idleConnTimeout     = 60 * time.Second
	maxIdleConns        = 100
	maxIdleConnsPerHost = 2
	maxHeaderBytes      = 64 << 10
	pingAfter           = 30 * time.Second
	pingTimeout         = 10 * time.Second
	// Of HTTP/2, what is received ahead of who reads it is kept in memory: usually 4 MiB for each answer.
	maxAheadOfReader     = 256 << 10
	maxAheadOfConnection = 1 << 20
)

// Config is what the operator was started with.
type Config struct {
	// UserAgent is sent with every request.
	UserAgent string
	// AllowCIDRs are networks, IPv4 or IPv6, that may be reached although their addresses are
	// private or reserved. Addresses at which clouds serve credentials must be named alone (/32, /128).
	AllowCIDRs []netip.Prefix
	// DenyCIDRs are networks that are not reached, though they are public or within AllowCIDRs.
	DenyCIDRs []netip.Prefix
	// Refused is told of each address that was not connected to, and why, for those who run this: no
	// error names the address. It must not block. Nil is not told.
	Refused func(host string, address netip.Addr, because string)
	// AllowHTTP lets requests that demand TLS use plain http.
	AllowHTTP bool
	// Budget bounds the memory that all answers together take while they are read. Default: one of this
	// client's own, of the default size.
	Budget *budget.Budget
	// Now is the clock that dates in answers are compared with, where these do not say what time it is there. Default: time.Now.
	Now func() time.Time
}

// Client makes requests. It is safe for concurrent use, and keeps connections: have one.
type Client struct {
	transport *http.Transport
	// fresh makes a new connection for each request. It speaks HTTP/1.1 only: net/http shares
	// connections of HTTP/2 between requests that begin at the same time, and fails some of them.
	fresh     *http.Transport
	userAgent string
	allowHTTP bool
	budget    *budget.Budget
	now       func() time.Time
}

// New returns a client that reaches public addresses and those of cfg.AllowCIDRs, but none of
// cfg.DenyCIDRs. It ignores the proxies of the environment: what a proxy would connect to could not be
// guarded.
func New(cfg Config) *Client {
	client := &Client{
		transport: newTransport(cfg),
		fresh:     newTransport(cfg),
		userAgent: cfg.UserAgent,
		allowHTTP: cfg.AllowHTTP,
		budget:    cfg.Budget,
		now:       cfg.Now,
	}
	client.fresh.DisableKeepAlives = true
	client.fresh.ForceAttemptHTTP2 = false
	if client.now == nil {
		client.now = time.Now
	}
	if client.budget == nil {
		client.budget = budget.New(budget.Default, client.now)
	}
	return client
}

// Budget is the memory that all answers together take while they are read, and what is made of them until it is used.
func (c *Client) Budget() *budget.Budget { return c.budget }

// Now is the time on the clock that dates in answers are compared with.
func (c *Client) Now() time.Time { return c.now() }

func newTransport(cfg Config) *http.Transport {
	return &http.Transport{
		Proxy:                  nil,
		DialContext:            newDialer(cfg).dial,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    tlsHandshakeTimeout,
		MaxIdleConns:           maxIdleConns,
		MaxIdleConnsPerHost:    maxIdleConnsPerHost,
		IdleConnTimeout:        idleConnTimeout,
		MaxResponseHeaderBytes: maxHeaderBytes,
		DisableCompression:     true, // it is done here, with limits
		ForceAttemptHTTP2:      true,
		// Without pings a connection that died quietly would fail every request that shares it.
		HTTP2: &http.HTTP2Config{
			SendPingTimeout: pingAfter, PingTimeout: pingTimeout,
			MaxReceiveBufferPerStream: maxAheadOfReader, MaxReceiveBufferPerConnection: maxAheadOfConnection,
		},
	}
}
