// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/feed-operator/feed-operator/hack/bench/news"
	"github.com/feed-operator/feed-operator/internal/feed"
)

// feeds is a server of feeds on loopback, each at a path of its own, that counts who asks. Every
// feed stands for a host of its own, so the operator is told to allow many requests to one host.
type feeds struct {
	server *http.Server
	url    string

	mu        sync.Mutex
	documents map[string]document
	hits      map[string]int
}

type document struct {
	body []byte
	etag string
}

func serveFeeds(ctx context.Context) (_ *feeds, err error) {
	f := &feeds{documents: map[string]document{}, hits: map[string]int{}}
	f.server, f.url, err = serve(ctx, http.HandlerFunc(f.serve))
	return f, err
}

// serve starts a server on loopback, and returns its URL with a slash at the end.
func serve(ctx context.Context, handler http.Handler) (*http.Server, string, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(listener) }() // ends with Close
	return server, "http://" + listener.Addr().String() + "/", nil
}

func (f *feeds) close() { _ = f.server.Close() }

// publish serves entries as the feed of that name from now on, and returns its URL.
func (f *feeds) publish(name string, entries []feed.Entry) string {
	document := newDocument(entries)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.documents[name] = document
	return f.url + name
}

// newDocument is a feed that lists entries.
func newDocument(entries []feed.Entry) document {
	body := news.RSS(entries)
	sum := sha256.Sum256(body)
	return document{body: body, etag: `"` + hex.EncodeToString(sum[:8]) + `"`}
}

func (f *feeds) serve(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/")
	f.mu.Lock()
	document, known := f.documents[name]
	f.hits[name]++
	f.mu.Unlock()
	if !known {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/rss+xml")
	w.Header().Set("ETag", document.etag)
	if r.Header.Get("If-None-Match") == document.etag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	_, _ = w.Write(document.body)
}

// counts returns how often each feed was asked for.
func (f *feeds) counts() map[string]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.hits)
}

// total returns how often feeds were asked for.
func (f *feeds) total() int {
	total := 0
	for _, count := range f.counts() {
		total += count
	}
	return total
}
