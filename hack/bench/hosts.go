// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/feed-operator/feed-operator/internal/feed"
)

// hosts is a server that stands for many: each feed has an address of 127.0.0.0/8 of its own, so
// that what is allowed to one host bounds none of them. All serve the same document. It notes when
// each of them was asked.
type hosts struct {
	server *http.Server
	port   uint16

	mu       sync.Mutex
	document document
	answers  answers
	polls    [][]time.Time
}

// answers is how a server answers who has read its document before.
type answers int

const (
	// notModified answers 304 to who has the validator.
	notModified answers = iota
	// sameETag sends the document again, with the same validator: some servers know no conditional requests.
	sameETag
	// sameBody sends the document again, without a validator.
	sameBody
)

// serveHosts starts a server for so many hosts.
func serveHosts(ctx context.Context, count int) (*hosts, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp4", "0.0.0.0:0")
	if err != nil {
		return nil, err
	}
	address, err := netip.ParseAddrPort(listener.Addr().String())
	if err != nil {
		return nil, err
	}
	h := &hosts{port: address.Port(), polls: make([][]time.Time, count)}
	h.server = &http.Server{Handler: http.HandlerFunc(h.serve), ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = h.server.Serve(loopbackOnly{listener}) }() // ends with Close
	return h, nil
}

func (h *hosts) close() { _ = h.server.Close() }

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

// maxHosts is how many addresses from 127.1.0.0 on are used at most.
const maxHosts = 200 << 16

// url is where the feed of that number is.
func (h *hosts) url(number int) string {
	address := netip.AddrFrom4([4]byte{127, byte(1 + number>>16), byte(number >> 8), byte(number)}) //nolint:gosec // below maxHosts
	return fmt.Sprintf("http://%s/feed", netip.AddrPortFrom(address, h.port))
}

// numberOf is the number of the feed that a request asks for.
func (h *hosts) numberOf(r *http.Request) (int, error) {
	at, err := netip.ParseAddrPort(r.Host)
	if err != nil || !at.Addr().Is4() {
		return 0, errors.New("not the address of a feed")
	}
	bytes := at.Addr().As4()
	number := (int(bytes[1])-1)<<16 | int(bytes[2])<<8 | int(bytes[3])
	h.mu.Lock()
	defer h.mu.Unlock()
	if number < 0 || number >= len(h.polls) {
		return 0, errors.New("no feed has this address")
	}
	return number, nil
}

func (h *hosts) serve(w http.ResponseWriter, r *http.Request) {
	now := time.Now()
	number, err := h.numberOf(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	h.mu.Lock()
	document, how := h.document, h.answers
	h.polls[number] = append(h.polls[number], now)
	h.mu.Unlock()

	w.Header().Set("Content-Type", "application/rss+xml")
	if how != sameBody {
		w.Header().Set("ETag", document.etag)
	}
	if how == notModified && r.Header.Get("If-None-Match") == document.etag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	_, _ = w.Write(document.body)
}

// publish has all feeds list these entries from now on.
func (h *hosts) publish(entries []feed.Entry) {
	document := newDocument(entries)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.document = document
}

// answer has all feeds answer in that way from now on.
func (h *hosts) answer(how answers) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.answers = how
}

// more adds a host, and returns its number.
func (h *hosts) more() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.polls = append(h.polls, nil)
	return len(h.polls) - 1
}

// total returns how often all feeds together were asked for.
func (h *hosts) total() (polls int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, times := range h.polls {
		polls += len(times)
	}
	return polls
}

// times returns when each feed was asked for, by its number.
func (h *hosts) times() [][]time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	copied := make([][]time.Time, len(h.polls))
	for i, times := range h.polls {
		copied[i] = slices.Clone(times)
	}
	return copied
}
