// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package feedtest gives tests a web server with a feed and its articles, which does what the
// test tells it to: it changes, fails, blocks, and counts who asks for what.
package feedtest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"html"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Entry is one entry of the feed.
type Entry struct {
	// GUID, Link, Title and Content are left out of the feed where they are empty.
	GUID, Link, Title, Content string
	Categories                 []string
	// Image is the address of an enclosure, if it is to have one.
	Image string
	// Published is left out where it is zero.
	Published time.Time
}

// Hook answers a request in place of the server. It returns false to let the server answer.
type Hook func(w http.ResponseWriter, r *http.Request) bool

// Server serves /feed.xml, an RSS feed, and /articles/NAME, pages with a readable article each.
type Server struct {
	// URL of the server, without a slash at the end.
	URL string

	mu      sync.Mutex
	entries []Entry
	noETag  bool
	hits    map[string]int
	hook    Hook
}

// New starts a server that stops with the test.
func New(t *testing.T) *Server {
	t.Helper()
	return NewAt(t, "127.0.0.1")
}

// NewAt starts a server at a loopback address of its own, for tests in which hosts differ.
func NewAt(t *testing.T, address string) *Server {
	t.Helper()
	var listen net.ListenConfig
	listener, err := listen.Listen(t.Context(), "tcp", net.JoinHostPort(address, "0"))
	if err != nil {
		t.Fatalf("listen: %v", err)
	}
	s := &Server{hits: map[string]int{}, URL: "http://" + listener.Addr().String()}
	server := &httptest.Server{Listener: listener, Config: &http.Server{Handler: http.HandlerFunc(s.serve), ReadHeaderTimeout: time.Minute}}
	server.Start()
	t.Cleanup(server.Close)
	return s
}

// FeedURL is where the feed is.
func (s *Server) FeedURL() string { return s.URL + "/feed.xml" }

// ArticleURL is where the article of that name is. There is one for every name.
func (s *Server) ArticleURL(name string) string { return s.URL + "/articles/" + name }

// List makes the feed list these entries, in this order.
func (s *Server) List(entries ...Entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.entries = slices.Clone(entries)
}

// WithoutValidators makes the server send neither ETag nor 304, as some servers do.
func (s *Server) WithoutValidators() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.noETag = true
}

// OnRequest puts a hook before every answer; nil takes it away.
func (s *Server) OnRequest(hook Hook) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hook = hook
}

// Hits returns how often a path was asked for.
func (s *Server) Hits(path string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hits[path]
}

// Entries makes n entries with articles, named by the prefix and a number, an hour apart, the
// newest first.
func (s *Server) Entries(prefix string, n int) []Entry {
	newest := time.Date(2026, 4, 1, 9, 0, 0, 0, time.UTC)
	entries := make([]Entry, 0, n)
	for i := range n {
		name := fmt.Sprintf("%s-%d", prefix, n-i)
		entries = append(entries, Entry{
			GUID: "tag:" + name, Link: s.ArticleURL(name), Title: "News about " + name,
			Published: newest.Add(-time.Duration(i) * time.Hour),
		})
	}
	return entries
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.hits[r.URL.Path]++
	hook := s.hook
	s.mu.Unlock()
	if hook != nil && hook(w, r) {
		return
	}
	name, article := strings.CutPrefix(r.URL.Path, "/articles/")
	switch {
	case r.URL.Path == "/feed.xml":
		s.serveFeed(w, r)
	case article:
		ServeArticle(w, name)
	default:
		http.NotFound(w, r)
	}
}

func (s *Server) serveFeed(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	body, noETag := RSS(s.entries), s.noETag
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/rss+xml")
	if !noETag {
		sum := sha256.Sum256(body)
		etag := `"` + hex.EncodeToString(sum[:8]) + `"`
		w.Header().Set("ETag", etag)
		if r.Header.Get("If-None-Match") == etag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	_, _ = w.Write(body)
}

// ServeArticle answers with a page that has a readable article about the name.
func ServeArticle(w http.ResponseWriter, name string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = fmt.Fprintf(w, `<!doctype html><html><head><title>News about %[1]s</title></head><body>
<nav>Home &gt; News &gt; %[1]s</nav><article><h1>News about %[1]s</h1>
<p>The committee for %[1]s met on Tuesday and agreed on a new plan for the coming year. The plan names
three goals and the people who are responsible for each of them.</p>
<p>Members of the committee said that work on the first goal begins in May, and that reports about
%[1]s will be published every quarter. The budget of the plan was left unchanged.</p>
<p>Critics pointed out that the plan says little about costs. The committee answered that a second
document about the costs of %[1]s follows in the summer.</p>
</article><footer>Contact | Imprint | Privacy</footer></body></html>`, html.EscapeString(name))
}

// RSS returns an RSS 2.0 document that lists the entries.
func RSS(entries []Entry) []byte {
	var b strings.Builder
	b.WriteString(`<?xml version="1.0" encoding="UTF-8"?>` + "\n" + `<rss version="2.0"><channel><title>Test feed</title>`)
	element := func(name, attributes, value string) {
		if value == "" {
			return
		}
		b.WriteString("<" + name + attributes + ">")
		_ = xml.EscapeText(&b, []byte(value))
		b.WriteString("</" + name + ">")
	}
	for _, entry := range entries {
		b.WriteString("<item>")
		element("title", "", entry.Title)
		element("link", "", entry.Link)
		element("guid", ` isPermaLink="false"`, entry.GUID)
		element("description", "", entry.Content)
		for _, category := range entry.Categories {
			element("category", "", category)
		}
		if entry.Image != "" {
			b.WriteString(`<enclosure type="image/png" length="1" url="`)
			_ = xml.EscapeText(&b, []byte(entry.Image))
			b.WriteString(`"/>`)
		}
		if !entry.Published.IsZero() {
			element("pubDate", "", entry.Published.UTC().Format(time.RFC1123Z))
		}
		b.WriteString("</item>")
	}
	b.WriteString("</channel></rss>")
	return []byte(b.String())
}
