// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package webhooktest is a receiver of webhooks: of a program, or of a chat. Tests make it misbehave; a developer runs it to see
// what is sent, on the page at its root.
//
// It knows the wire and nothing of who calls: it must never import what it helps to test.
package webhooktest

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"html/template"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Keys are what a receiver does with an Idempotency-Key that it has had before.
type Keys int

const (
	// Answers409 takes nothing and answers 409, as many receivers do.
	Answers409 Keys = iota
	// Answers200 takes nothing and answers as it did the first time.
	Answers200
	// IgnoresKeys takes it once more, as chats do.
	IgnoresKeys
)

// Options of a Server. The zero value takes everything at any path, with any token.
type Options struct {
	// Address to listen on. Default: a free port of 127.0.0.1.
	Address string
	// Path that is known; any other is answered with 404. Empty knows all.
	Path string
	// Token that is accepted; empty accepts every request.
	Token string
	// Keys are what becomes of a key that is used again.
	Keys Keys
	// Answer is the body of a success, such as Slack's "ok".
	Answer string
	// Now is the clock. Default: time.Now.
	Now func() time.Time
}

// Delivery is a request that was taken.
type Delivery struct {
	// Key is its Idempotency-Key, without the quotes.
	Key    string
	Path   string
	Header http.Header
	Body   string
	Time   time.Time
}

// Server is one receiver. It is safe for concurrent use.
type Server struct {
	// URL of the server, without a slash at the end. Empty until it listens.
	URL string

	options Options
	http    *http.Server
	closed  chan struct{}

	mu        sync.Mutex
	taken     []Delivery // oldest first
	keys      map[string]bool
	requests  int
	changed   chan struct{} // closed and replaced when a request is taken
	onRequest func(*Pending) bool
}

// New returns a server that listens. Like httptest.NewServer it panics where it cannot.
func New(options Options) *Server {
	s := NewUnstarted(options)
	if err := s.Start(); err != nil {
		panic(fmt.Sprintf("webhooktest: %v", err))
	}
	return s
}

// NewUnstarted returns a server that does not listen: Start makes it listen.
func NewUnstarted(options Options) *Server {
	options.Address = cmp.Or(options.Address, "127.0.0.1:0")
	if options.Now == nil {
		options.Now = time.Now
	}
	return &Server{options: options, closed: make(chan struct{}), keys: map[string]bool{}, changed: make(chan struct{})}
}

// Start listens and sets the URL.
func (s *Server) Start() error {
	var listen net.ListenConfig
	listener, err := listen.Listen(context.Background(), "tcp", s.options.Address)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", s.options.Address, err)
	}
	s.URL = "http://" + listener.Addr().String()
	s.http = &http.Server{Handler: s, ReadHeaderTimeout: time.Minute}
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

// OnRequest lets a hook see each request that would be looked at, before it is. A hook that returns true has answered; nil removes it.
func (s *Server) OnRequest(hook func(*Pending) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onRequest = hook
}

// SetToken changes the token that is accepted.
func (s *Server) SetToken(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.options.Token = token
}

// Requests returns how many requests came, taken or not.
func (s *Server) Requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests
}

// Taken returns what was taken, oldest first.
func (s *Server) Taken() []Delivery {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.taken)
}

// Await returns what was taken as soon as it is at least so much, or an error when the context ends before.
func (s *Server) Await(ctx context.Context, deliveries int) ([]Delivery, error) {
	for {
		s.mu.Lock()
		taken, changed := slices.Clone(s.taken), s.changed
		s.mu.Unlock()
		if len(taken) >= deliveries {
			return taken, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return taken, fmt.Errorf("%d of %d deliveries arrived: %w", len(taken), deliveries, ctx.Err())
		}
	}
}

// ServeHTTP takes what is posted, and shows it to whoever asks with GET.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		s.show(w)
		return
	}
	const longest = 32 << 20
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, longest))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	pending := &Pending{
		Delivery: Delivery{
			Key: strings.Trim(r.Header.Get("Idempotency-Key"), `"`), Path: r.URL.Path, Header: maps.Clone(r.Header), Body: string(body), Time: s.options.Now(),
		},
		Request: r, server: s, writer: w,
	}
	s.mu.Lock()
	s.requests++
	hook, options := s.onRequest, s.options
	s.mu.Unlock()
	switch {
	case hook != nil && hook(pending):
	case r.Method != http.MethodPost:
		pending.Answer(http.StatusMethodNotAllowed, "text/plain", "only POST")
	case options.Path != "" && r.URL.Path != options.Path:
		pending.Answer(http.StatusNotFound, "text/plain", "no_service")
	case options.Token != "" && r.Header.Get("Authorization") != "Bearer "+options.Token:
		pending.Answer(http.StatusUnauthorized, "application/json", `{"error":"the token is wrong"}`)
	case pending.Commit() && options.Keys == Answers409:
		pending.Answer(http.StatusConflict, "application/json", `{"error":"have it already"}`)
	default:
		pending.Answer(http.StatusOK, "text/plain", options.Answer)
	}
}

// take notes a delivery, and reports whether it was had before and is not taken again.
func (s *Server) take(delivery Delivery) (duplicate bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.keys[delivery.Key] && s.options.Keys != IgnoresKeys {
		return true
	}
	s.keys[delivery.Key] = true
	s.taken = append(s.taken, delivery)
	close(s.changed)
	s.changed = make(chan struct{})
	return false
}

// Pending is a request that nothing was done about yet. A hook decides when it is taken, and separately what the caller hears of it.
type Pending struct {
	Delivery Delivery
	// Request that asks for it. Its body is read.
	Request *http.Request

	server    *Server
	writer    http.ResponseWriter
	once      sync.Once
	duplicate bool
}

// Commit takes the delivery, once, and reports whether it was had before. It may be called after the hook has returned.
func (p *Pending) Commit() (duplicate bool) {
	p.once.Do(func() { p.duplicate = p.server.take(p.Delivery) })
	return p.duplicate
}

// Header of the answer that is sent next.
func (p *Pending) Header() http.Header { return p.writer.Header() }

// Answer sends an answer of any kind.
func (p *Pending) Answer(status int, contentType, body string) {
	p.writer.Header().Set("Content-Type", contentType)
	p.writer.WriteHeader(status)
	_, _ = io.WriteString(p.writer, body)
}

// Reset breaks the connection without an answer.
func (p *Pending) Reset() {
	hijacker, ok := p.writer.(http.Hijacker)
	if !ok {
		panic(http.ErrAbortHandler)
	}
	connection, _, err := hijacker.Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := connection.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = connection.Close()
}

// Hang does not answer until the caller gives up or the server is closed.
func (p *Pending) Hang() {
	select {
	case <-p.Request.Context().Done():
	case <-p.server.closed:
	}
}

// maxShown is how many deliveries the page shows.
const maxShown = 100

var page = template.Must(template.New("page").Parse(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="refresh" content="5">
<title>Webhooks</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; max-width: 50rem; margin: 2rem auto; padding: 0 1rem; }
article { border-top: 1px solid #8886; padding: .75rem 0; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: 0; }
footer { color: #777; font-size: .85rem; }
</style>
</head>
<body>
<h1>Webhooks</h1>
<p>A local stand-in for a chat and other receivers of webhooks. {{.Total}} arrived{{if lt (len .Shown) .Total}}, these are the newest {{len .Shown}}{{end}}.</p>
{{range .Shown}}<article>
<pre>{{.Body}}</pre>
<footer>{{.Time.UTC.Format "2006-01-02 15:04:05 MST"}} · {{.Path}} · {{.Key}}</footer>
</article>
{{else}}<p>Nothing has arrived yet.</p>
{{end}}</body>
</html>
`))

// show is the page, newest first.
func (s *Server) show(w http.ResponseWriter) {
	shown := s.Taken()
	total := len(shown)
	slices.Reverse(shown)
	var body bytes.Buffer
	err := page.Execute(&body, struct {
		Shown []Delivery
		Total int
	}{shown[:min(total, maxShown)], total})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = body.WriteTo(w)
}
