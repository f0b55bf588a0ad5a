// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package inmemory

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
)

// transport calls a handler in place of a network. What is answered in a moment is returned whole; a watch is read while it goes on.
type transport struct{ handler http.Handler }

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(r.Context())
	answer := newAnswer(ctx, cancel)
	if r.URL.Query().Get("watch") == "" {
		t.serve(answer, r.WithContext(ctx))
	} else {
		go t.serve(answer, r.WithContext(ctx))
	}
	select {
	case <-answer.begun:
		return &http.Response{
			Status: http.StatusText(answer.code), StatusCode: answer.code, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
			Header: answer.sent, Body: answer, ContentLength: -1, Request: r,
		}, nil
	case <-ctx.Done():
		_ = answer.Close()
		return nil, ctx.Err()
	}
}

func (t transport) serve(answer *answer, r *http.Request) {
	defer answer.end()
	if r.Body != nil {
		defer func() { _ = r.Body.Close() }()
	}
	t.handler.ServeHTTP(answer, r)
	answer.WriteHeader(http.StatusOK)
}

// answer is written by a handler and read by a client.
type answer struct {
	ctx    context.Context //nolint:containedctx // that of the request, as in net/http
	cancel func()
	header http.Header
	begun  chan struct{}
	code   int
	sent   http.Header

	mu     sync.Mutex
	more   sync.Cond
	text   bytes.Buffer
	ended  bool // by the handler
	closed bool // by the client
}

func newAnswer(ctx context.Context, cancel func()) *answer {
	made := &answer{ctx: ctx, cancel: cancel, header: http.Header{}, begun: make(chan struct{})}
	made.more.L = &made.mu
	context.AfterFunc(ctx, func() {
		made.mu.Lock()
		defer made.mu.Unlock()
		made.more.Broadcast()
	})
	return made
}

// Header implements http.ResponseWriter.
func (a *answer) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(code int) {
	if a.code == 0 {
		a.code, a.sent = code, a.header.Clone()
		close(a.begun)
	}
}

// Write implements http.ResponseWriter.
func (a *answer) Write(text []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return 0, errors.New("the client has closed the connection")
	}
	a.more.Broadcast()
	return a.text.Write(text)
}

// FlushError implements what http.ResponseController asks for: what is written can be read at once.
func (a *answer) FlushError() error { return nil }

func (a *answer) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ended = true
	a.more.Broadcast()
}

// Read implements io.Reader for the client. It ends with the request's context.
func (a *answer) Read(into []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for a.text.Len() == 0 {
		switch {
		case a.closed:
			return 0, http.ErrBodyReadAfterClose
		case a.ctx.Err() != nil:
			return 0, a.ctx.Err()
		case a.ended:
			return 0, io.EOF
		}
		a.more.Wait()
	}
	return a.text.Read(into)
}

// Close implements io.Closer for the client: the handler's request ends.
func (a *answer) Close() error {
	a.cancel()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
	a.more.Broadcast()
	return nil
}
