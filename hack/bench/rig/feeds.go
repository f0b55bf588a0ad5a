// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"net/http"
	"strings"
	"sync"

	"github.com/feed-operator/feed-operator/hack/bench/news"
	"github.com/feed-operator/feed-operator/internal/feed"
)

// Feeds is a server of feeds on loopback, each at a path of its own, that counts who asks. Every
// feed stands for a host of its own, so the operator is told to allow many requests to one host.
type Feeds struct {
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

// ServeFeeds starts a server that has no feed yet.
func ServeFeeds(ctx context.Context) (_ *Feeds, err error) {
	f := &Feeds{documents: map[string]document{}, hits: map[string]int{}}
	f.server, f.url, err = serve(ctx, http.HandlerFunc(f.serve))
	return f, err
}

// Close ends the server.
func (f *Feeds) Close() { _ = f.server.Close() }

// Publish serves entries as the feed of that name from now on, and returns its URL.
func (f *Feeds) Publish(name string, entries []feed.Entry) string {
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

func (f *Feeds) serve(w http.ResponseWriter, r *http.Request) {
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

// Counts returns how often each feed was asked for.
func (f *Feeds) Counts() map[string]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.hits)
}

// Total returns how often feeds were asked for.
func (f *Feeds) Total() int {
	total := 0
	for _, count := range f.Counts() {
		total += count
	}
	return total
}
