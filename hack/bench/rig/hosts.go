// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/feed-operator/feed-operator/internal/feed"
)

// Hosts is a server that stands for many: each feed has an address of 127.0.0.0/8 of its own, so
// that what is allowed to one host bounds none of them. All serve the same document. It notes when
// each of them was asked.
type Hosts struct {
	server *http.Server
	port   uint16

	mu       sync.Mutex
	document document
	answers  Answers
	polls    [][]time.Time
}

// Answers is how a server answers who has read its document before.
type Answers int

const (
	// NotModified answers 304 to who has the validator.
	NotModified Answers = iota
	// SameETag sends the document again, with the same validator: some servers know no conditional requests.
	SameETag
	// SameBody sends the document again, without a validator.
	SameBody
)

// ServeHosts starts a server for so many hosts.
func ServeHosts(ctx context.Context, count int) (_ *Hosts, err error) {
	h := &Hosts{polls: make([][]time.Time, count)}
	h.server, h.port, err = ServeAsMany(ctx, http.HandlerFunc(h.serve))
	return h, err
}

// Close ends the server.
func (h *Hosts) Close() { _ = h.server.Close() }

// MaxHosts is how many addresses from 127.1.0.0 on are used at most.
const MaxHosts = 200 << 16

// URL is where the feed of that number is.
func (h *Hosts) URL(number int) string {
	address := netip.AddrFrom4([4]byte{127, byte(1 + number>>16), byte(number >> 8), byte(number)}) //nolint:gosec // below MaxHosts
	return fmt.Sprintf("http://%s/feed", netip.AddrPortFrom(address, h.port))
}

// numberOf is the number of the feed that a request asks for.
func (h *Hosts) numberOf(r *http.Request) (int, error) {
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

func (h *Hosts) serve(w http.ResponseWriter, r *http.Request) {
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
	if how != SameBody {
		w.Header().Set("ETag", document.etag)
	}
	if how == NotModified && r.Header.Get("If-None-Match") == document.etag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	_, _ = w.Write(document.body)
}

// Publish has all feeds list these entries from now on.
func (h *Hosts) Publish(entries []feed.Entry) {
	document := newDocument(entries)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.document = document
}

// Answer has all feeds answer in that way from now on.
func (h *Hosts) Answer(how Answers) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.answers = how
}

// More adds a host, and returns its number.
func (h *Hosts) More() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.polls = append(h.polls, nil)
	return len(h.polls) - 1
}

// Total returns how often all feeds together were asked for.
func (h *Hosts) Total() (polls int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, times := range h.polls {
		polls += len(times)
	}
	return polls
}

// Times returns when each feed was asked for, by its number.
func (h *Hosts) Times() [][]time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	copied := make([][]time.Time, len(h.polls))
	for i, times := range h.polls {
		copied[i] = slices.Clone(times)
	}
	return copied
}
