// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package mastodontest is a server that speaks the client API of Mastodon and of servers like it,
// as far as posting needs it. Tests make it misbehave; a developer runs it to see what is posted,
// on the page at its root.
//
// It knows the wire and nothing of who calls: it must never import what it helps to test.
package mastodontest

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// Keys are what a server does with an Idempotency-Key that it has seen within an hour.
type Keys int

const (
	// HonoursKeys answers with the post that was made first, as Mastodon does since September 2026.
	HonoursKeys Keys = iota
	// IgnoresKeys makes another post, as GoToSocial and Pixelfed do.
	IgnoresKeys
	// FailsReplay makes no other post and answers 500, as earlier releases of Mastodon do.
	FailsReplay
)

// Versions that servers give of themselves.
const (
	Mastodon   = "4.4.0"
	GoToSocial = "0.19.1+git (GoToSocial)"
	Pixelfed   = "2.7.2 (compatible; Pixelfed 0.12.3)"
)

// Options of a Server. The zero value is a Mastodon that takes every token, for writing only.
type Options struct {
	// Address to listen on. Default: a free port of 127.0.0.1.
	Address string
	// Token that is accepted; empty accepts every request.
	Token string
	// TokenMayRead lets the token read the account and its statuses, and not only write them.
	TokenMayRead bool
	// Username of the one account. Default: "feeds".
	Username string
	// MaxCharacters of a status. Default: 500.
	MaxCharacters int
	// CharactersPerURL is what a link counts. Default: 23. GoToSocial counts what is there.
	CharactersPerURL int
	// Version is what the server says of itself. Default: Mastodon. What contains "GoToSocial" counts
	// and refuses as GoToSocial does.
	Version string
	// Keys are what becomes of an Idempotency-Key that is used again.
	Keys Keys
	// PostsPerWindow is how many requests to post are taken in a Window; more are answered with 429.
	// 0 takes all, and says 300 in the headers.
	PostsPerWindow int
	// Window of PostsPerWindow. Default: 3 hours.
	Window time.Duration
	// PageSize bounds a page of statuses, whatever the client asks for. Default: 40.
	PageSize int
	// MaxPosts is how many posts are kept; the oldest go first. Default: 20,000.
	MaxPosts int
	// Now is the clock of created_at, of the ids, of the keys, of the rate limit, and of the Date of answers. Default: time.Now.
	Now func() time.Time
	// MaxImageBytes is how large an image may be. Default: 16 MiB.
	MaxImageBytes int
	// ImageChecks is how often a client has to ask for an image until it is ready; 0: it is, at once.
	ImageChecks int
	// Skew is how far that clock is ahead of Now; less than 0: behind.
	Skew time.Duration
}

// Post is a status of the account.
type Post struct {
	ID          string
	Text        string
	SpoilerText string
	Visibility  string
	Language    string
	// Images that it shows.
	Images []Image
	// Key is the Idempotency-Key that it came with.
	Key       string
	CreatedAt time.Time
	// EditedAt is zero while the post is as it was published.
	EditedAt time.Time
	// Boost is set if it is another account's post, which this account has boosted.
	Boost bool
}

// Image is one that was uploaded.
type Image struct {
	ID, Type, Description string
	Content               []byte
}

// Server is one Mastodon with one account. It is safe for concurrent use.
type Server struct {
	// URL of the server, without a slash at the end. Empty until it listens.
	URL string

	options Options
	handler http.Handler
	http    *http.Server
	closed  chan struct{}

	mu        sync.Mutex
	posts     []*Post // oldest first
	uploads   []*upload
	byKey     map[string]keyUse
	lastID    int64
	counts    map[string]int
	window    time.Time
	inWindow  int
	changed   chan struct{} // closed and replaced when a post is published
	onPost    func(*Pending) bool
	onRequest func(http.ResponseWriter, *http.Request) bool
}

// New returns a server that listens. Like httptest.NewServer it panics where it cannot.
func New(options Options) *Server {
	s := NewUnstarted(options)
	if err := s.Start(); err != nil {
		panic(fmt.Sprintf("mastodontest: %v", err))
	}
	return s
}

// NewUnstarted returns a server that does not listen: Start makes it listen, and Handler serves
// without.
func NewUnstarted(options Options) *Server {
	options.Address = cmp.Or(options.Address, "127.0.0.1:0")
	options.Username = cmp.Or(options.Username, "feeds")
	options.MaxCharacters = cmp.Or(options.MaxCharacters, 500)
	options.CharactersPerURL = cmp.Or(options.CharactersPerURL, 23)
	options.Version = cmp.Or(options.Version, Mastodon)
	options.MaxImageBytes = cmp.Or(options.MaxImageBytes, 16<<20)
	options.Window = cmp.Or(options.Window, 3*time.Hour)
	options.PageSize = cmp.Or(options.PageSize, 40)
	options.MaxPosts = cmp.Or(options.MaxPosts, 20_000)
	if options.Now == nil {
		options.Now = time.Now
	}
	if now := options.Now; options.Skew != 0 {
		options.Now = func() time.Time { return now().Add(options.Skew) }
	}
	s := &Server{
		options: options,
		closed:  make(chan struct{}),
		byKey:   map[string]keyUse{},
		counts:  map[string]int{},
		changed: make(chan struct{}),
	}
	s.handler = s.routes()
	return s
}

// Start listens and sets the URL.
func (s *Server) Start() error {
	var listen net.ListenConfig
	listener, err := listen.Listen(context.Background(), "tcp", s.options.Address)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", s.options.Address, err)
	}
	s.URL = "http://" + listener.Addr().String()
	s.http = &http.Server{Handler: s.handler, ReadHeaderTimeout: time.Minute}
	go func() { _ = s.http.Serve(listener) }()
	return nil
}

// Close ends all connections, and requests that hang.
func (s *Server) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.closed:
		return
	default:
		close(s.closed)
	}
	if s.http != nil {
		_ = s.http.Close()
	}
}

// Handler serves the API and the page.
func (s *Server) Handler() http.Handler { return s.handler }

// SetToken changes the token that is accepted.
func (s *Server) SetToken(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.options.Token = token
}

// OnPost lets a hook see each request to post that would be accepted, before it is. A hook that
// returns true has answered; nil removes it.
func (s *Server) OnPost(hook func(*Pending) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onPost = hook
}

// OnRequest lets a hook see every request first. A hook that returns true has answered; nil
// removes it.
func (s *Server) OnRequest(hook func(http.ResponseWriter, *http.Request) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onRequest = hook
}

// Count returns how many requests an endpoint had, such as "POST /api/v1/statuses" or
// "GET /api/v1/accounts/{id}/statuses".
func (s *Server) Count(endpoint string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts[endpoint]
}

// Posts returns what is published, oldest first.
func (s *Server) Posts() []Post {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.copied()
}

// Await returns what is published as soon as it is at least that many posts, or an error when the
// context ends before.
func (s *Server) Await(ctx context.Context, posts int) ([]Post, error) {
	for {
		s.mu.Lock()
		published, changed := s.copied(), s.changed
		s.mu.Unlock()
		if len(published) >= posts {
			return published, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return published, fmt.Errorf("%d of %d posts arrived: %w", len(published), posts, ctx.Err())
		}
	}
}

// Publish makes posts without a request, oldest first, and returns their ids. Of a post with a
// CreatedAt the time is kept.
func (s *Server) Publish(posts ...Post) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids := make([]string, 0, len(posts))
	for _, post := range posts {
		ids = append(ids, s.publish(post).ID)
	}
	return ids
}

// Edit changes the text of a post, as its owner might. It returns false where there is none.
func (s *Server) Edit(id, text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	post := s.find(id)
	if post == nil {
		return false
	}
	post.Text, post.EditedAt = text, s.options.Now().UTC()
	return true
}
