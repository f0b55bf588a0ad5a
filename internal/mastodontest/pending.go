// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package mastodontest

import (
	"io"
	"net"
	"net/http"
	"sync"
)

// Pending is a request to post that nothing was done about yet. A hook decides when it is
// published, and separately what the caller hears of it.
type Pending struct {
	// Post as it is asked for; it has no ID and no time yet.
	Post Post
	// Request that asks for it. Its body is read.
	Request *http.Request

	server *Server
	writer http.ResponseWriter
	once   sync.Once
	made   Post
	replay bool
}

// Commit publishes the post, once, and returns it. It may be called after the hook has returned:
// some servers publish after the connection has died.
func (p *Pending) Commit() Post {
	p.once.Do(func() {
		p.server.mu.Lock()
		defer p.server.mu.Unlock()
		made, replay := p.server.accept(p.Post)
		p.made, p.replay = *made, replay
	})
	return p.made
}

// Answer sends an answer of any kind.
func (p *Pending) Answer(status int, contentType, body string) {
	p.writer.Header().Set("Content-Type", contentType)
	p.writer.WriteHeader(status)
	_, _ = io.WriteString(p.writer, body)
}

// Header of the answer that is sent next.
func (p *Pending) Header() http.Header { return p.writer.Header() }

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
