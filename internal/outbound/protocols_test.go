// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package outbound

import (
	"context"
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
)

// protocol is a way in which a server speaks HTTP.
type protocol string

const (
	plain  protocol = "plain HTTP/1.1"
	secure protocol = "HTTP/1.1 over TLS"
	http2  protocol = "HTTP/2"
)

var protocols = []protocol{plain, secure, http2}

type connectionKey struct{}

// speak starts a server on 127.0.0.1 that speaks the protocol, and makes a client that trusts it.
func speak(t *testing.T, p protocol, handler http.HandlerFunc) (*httptest.Server, *Client) {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // handlers break off on purpose
	server.Config.ConnContext = func(ctx context.Context, connection net.Conn) context.Context {
		return context.WithValue(ctx, connectionKey{}, connection)
	}
	client := newTestClient(t, Config{
		UserAgent: "feed-operator/test (+https://example.org)", AllowCIDRs: []netip.Prefix{loopback}, AllowHTTP: p == plain,
	})
	if p == plain {
		server.Start()
	} else {
		server.EnableHTTP2 = p == http2
		server.StartTLS()
		trust(client, server)
	}
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	return server, client
}

// hangUp closes the connection of a request, of whichever protocol.
func hangUp(r *http.Request) {
	_ = r.Context().Value(connectionKey{}).(net.Conn).Close()
	<-r.Context().Done()
}

// reset breaks the connection of a request without a word.
func reset(r *http.Request) {
	connection := r.Context().Value(connectionKey{}).(net.Conn)
	if encrypted, ok := connection.(*tls.Conn); ok {
		connection = encrypted.NetConn()
	}
	_ = connection.(*net.TCPConn).SetLinger(0)
	_ = connection.Close()
	<-r.Context().Done()
}

// arrivals writes down from where each request has come.
type arrivals struct {
	mu   sync.Mutex
	from []string
}

func (a *arrivals) add(r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.from = append(a.from, r.RemoteAddr)
}

func (a *arrivals) all() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]string(nil), a.from...)
}

// send makes a request as the client of a provider or a destination does.
func send(ctx context.Context, t *testing.T, way *Transport, method, url, body string) (*http.Response, error) {
	t.Helper()
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	request, err := http.NewRequestWithContext(ctx, method, url, reader)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Idempotency-Key", "4711")
	request.Header.Set("X-Idempotency-Key", "4711")
	return (&http.Client{Transport: way}).Do(request)
}

// expiring is a context whose deadline has come when it is told so.
type expiring struct {
	context.Context
	done   chan struct{}
	expire func()
}

func newExpiring(t *testing.T) expiring {
	t.Helper()
	done := make(chan struct{})
	return expiring{t.Context(), done, sync.OnceFunc(func() { close(done) })}
}

func (e expiring) Done() <-chan struct{} { return e.done }

func (e expiring) Err() error {
	select {
	case <-e.done:
		return context.DeadlineExceeded
	default:
		return nil
	}
}
