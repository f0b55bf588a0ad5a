// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//nolint:bodyclose,contextcheck // the bodies that a Transport returns are in memory; the context is that of the test
package outbound

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/failure"
)

// What never had a connection is unsent: it is repeated without asking the other side.
//
// R1.7, R4.4, R4.7
func TestWhatCannotHaveArrivedIsUnsent(t *testing.T) {
	t.Parallel()
	ignored := func(http.ResponseWriter, *http.Request) {}
	tests := map[string]struct {
		url      string // instead of that of the server
		prepare  func(*testing.T, *Client, *http.Request)
		want     outcome
		wantText string
	}{
		"plain http": {
			url:  "http://127.0.0.1/",
			want: outcome{v1alpha1.CategoryValidation, failure.TypeInvalidURL, 0}, wantText: "use https://, or start the operator with --allow-http",
		},
		"a scheme that nobody knows": {
			url:  "gopher://127.0.0.1/",
			want: outcome{v1alpha1.CategoryValidation, failure.TypeInvalidURL, 0}, wantText: "must be https or http",
		},
		"a private address": {
			url:  "https://10.0.0.1/",
			want: outcome{v1alpha1.CategoryValidation, failure.TypeAddressRefused, 0}, wantText: "--allow-cidr",
		},
		"the metadata of a cloud": {
			url:  "https://169.254.169.254/latest/meta-data",
			want: outcome{v1alpha1.CategoryValidation, failure.TypeAddressRefused, 0}, wantText: "private, reserved or denied",
		},
		"loopback by IPv6": {
			url:  "https://[::1]/",
			want: outcome{v1alpha1.CategoryValidation, failure.TypeAddressRefused, 0}, wantText: "--allow-cidr",
		},
		"a name that has no address": {
			url:  "https://nowhere.invalid/",
			want: outcome{v1alpha1.CategoryNetwork, failure.TypeDNS, 0}, wantText: "nowhere.invalid could not be resolved",
		},
		"a port where nobody listens": {
			url:  "https://127.0.0.1:1/",
			want: outcome{v1alpha1.CategoryNetwork, failure.TypeConnection, 0}, wantText: "nothing answers there at this port",
		},
		"a certificate that nobody knows": {
			prepare: func(_ *testing.T, client *Client, _ *http.Request) {
				client.fresh.TLSClientConfig.RootCAs, client.transport.TLSClientConfig.RootCAs = nil, nil
			},
			want: outcome{v1alpha1.CategoryNetwork, failure.TypeTLS, 0}, wantText: "No secure connection",
		},
		"plain HTTP where TLS must be": {
			prepare: talk("HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request"),
			want:    outcome{v1alpha1.CategoryNetwork, failure.TypeTLS, 0}, wantText: "No secure connection",
		},
		"a handshake that makes no sense": {
			prepare: talk("\x16\x03\x03\x00\x04\x63\x00\x00\x00"),
			want:    outcome{v1alpha1.CategoryNetwork, failure.TypeTLS, 0}, wantText: "No secure connection",
		},
		"a handshake that is broken off": {
			prepare: func(t *testing.T, _ *Client, r *http.Request) {
				listen(t, r, func(connection net.Conn) { _ = connection.Close() })
			},
			want: outcome{v1alpha1.CategoryNetwork, failure.TypeConnection, 0}, wantText: "could not be made",
		},
		"a handshake that takes too long": {
			prepare: func(t *testing.T, client *Client, r *http.Request) {
				silent(t, r)
				client.fresh.TLSHandshakeTimeout, client.transport.TLSHandshakeTimeout = time.Millisecond, time.Millisecond
			},
			want: outcome{v1alpha1.CategoryNetwork, failure.TypeTimeout, 0}, wantText: "No connection to 127.0.0.1",
		},
		"an address that does not answer": {
			prepare: func(_ *testing.T, client *Client, _ *http.Request) {
				unreachable := &net.Dialer{Timeout: time.Millisecond, ControlContext: func(ctx context.Context, _, _ string, _ syscall.RawConn) error {
					<-ctx.Done()
					return nil
				}}
				client.fresh.DialContext, client.transport.DialContext = unreachable.DialContext, unreachable.DialContext
			},
			want: outcome{v1alpha1.CategoryNetwork, failure.TypeTimeout, 0}, wantText: "No connection to 127.0.0.1",
		},
		"a token that ends with a line break": {
			prepare: func(_ *testing.T, _ *Client, r *http.Request) { r.Header.Set("Authorization", "Bearer hunter2\n") },
			want:    outcome{v1alpha1.CategoryValidation, typeInvalidHeader, 0}, wantText: "The value of the header Authorization",
		},
	}
	for name, test := range tests {
		for _, fresh := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				server, client := speak(t, secure, ignored)
				url := test.url
				if url == "" {
					url = server.URL
				}
				body := &closing{Reader: strings.NewReader("status=hello")}
				request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, body)
				if err != nil {
					t.Fatal(err)
				}
				if test.prepare != nil {
					test.prepare(t, client, request)
				}
				response, err := (&http.Client{Transport: client.Transport(TransportOptions{FreshConnections: fresh})}).Do(request)
				got := undelivered(t, response, err)
				wantOutcome(t, got, test.want)
				if !got.Unsent {
					t.Error("what cannot have arrived is not said to be unsent")
				}
				if text := got.Error(); !strings.Contains(text, test.wantText) || strings.Contains(text, " 0s") {
					t.Errorf("message %q, want %q in it", text, test.wantText)
				}
				if !body.closed {
					t.Error("the body of the request was left open")
				}
			})
		}
	}
}

type closing struct {
	io.Reader
	closed bool
}

func (c *closing) Close() error { c.closed = true; return nil }

// listen sends the request to a listener that deals with each connection.
func listen(t *testing.T, r *http.Request, deal func(net.Conn)) {
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	r.URL.Host = listener.Addr().String()
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { _ = connection.Close() })
			deal(connection)
		}
	}()
}

// silent sends the request to where connections are made and nothing is said.
func silent(t *testing.T, r *http.Request) {
	listen(t, r, func(net.Conn) {})
}

// talk sends the request to where these bytes are said in answer to the first that come.
func talk(text string) func(*testing.T, *Client, *http.Request) {
	return func(t *testing.T, _ *Client, r *http.Request) {
		listen(t, r, func(connection net.Conn) {
			_, _ = connection.Read(make([]byte, 4096))
			_, _ = io.WriteString(connection, text)
		})
	}
}

// A context that ends tells whether there was a connection yet.
//
// R4.4
func TestAContextThatEnds(t *testing.T) {
	t.Parallel()
	ends := map[string]struct {
		make     func(*testing.T) (context.Context, func())
		wantType string
		wantText map[bool]string // by whether there was a connection
		wantIs   error
	}{
		"by its deadline": {
			func(t *testing.T) (context.Context, func()) { ctx := newExpiring(t); return ctx, ctx.expire },
			failure.TypeTimeout,
			map[bool]string{true: "did not answer completely in the time that was left", false: "No connection to"},
			context.DeadlineExceeded,
		},
		"because the caller stops": {
			func(t *testing.T) (context.Context, func()) { return context.WithCancel(t.Context()) },
			typeInterrupted,
			map[bool]string{true: "was interrupted", false: "was interrupted"},
			context.Canceled,
		},
	}
	moments := map[string]struct {
		connected bool
		prepare   func(client *Client, end func())
		handler   func(w http.ResponseWriter, r *http.Request, end func())
	}{
		"before anything": {prepare: func(_ *Client, end func()) { end() }},
		"while dialing": {prepare: func(client *Client, end func()) {
			dialer := &net.Dialer{ControlContext: func(ctx context.Context, _, _ string, _ syscall.RawConn) error {
				end()
				<-ctx.Done()
				return ctx.Err()
			}}
			client.fresh.DialContext, client.transport.DialContext = dialer.DialContext, dialer.DialContext
		}},
		"before the answer": {connected: true, handler: func(_ http.ResponseWriter, r *http.Request, end func()) {
			end()
			<-r.Context().Done()
			panic(http.ErrAbortHandler) // whoever only returns has answered with 200
		}},
		"in the middle of the answer": {connected: true, handler: func(w http.ResponseWriter, r *http.Request, end func()) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "part")
			_ = http.NewResponseController(w).Flush()
			end()
			<-r.Context().Done()
		}},
	}
	for endName, ended := range ends {
		for momentName, moment := range moments {
			for _, p := range protocols {
				for _, fresh := range []bool{true, false} {
					t.Run(endName+" "+momentName+" over "+string(p), func(t *testing.T) {
						t.Parallel()
						ctx, end := ended.make(t)
						defer end()
						server, client := speak(t, p, func(w http.ResponseWriter, r *http.Request) {
							_, _ = io.Copy(io.Discard, r.Body)
							if moment.handler != nil {
								moment.handler(w, r, end)
							}
						})
						if moment.prepare != nil {
							moment.prepare(client, end)
						}
						way := client.Transport(TransportOptions{FreshConnections: fresh})
						response, err := send(ctx, t, way, http.MethodPost, server.URL, "status=hello")
						got := undelivered(t, response, err)
						wantOutcome(t, got, outcome{v1alpha1.CategoryNetwork, ended.wantType, 0})
						if got.Unsent == moment.connected {
							t.Errorf("unsent %t, connected %t", got.Unsent, moment.connected)
						}
						if !errors.Is(err, ended.wantIs) {
							t.Errorf("%v is not %v", err, ended.wantIs)
						}
						if text := got.Error(); !strings.Contains(text, ended.wantText[moment.connected]) || strings.Contains(text, " 0s") {
							t.Errorf("message %q", text)
						}
					})
				}
			}
		}
	}
}

// The mark of one request is not that of the next.
func TestTheMarkIsOfOneRequestOnly(t *testing.T) {
	t.Parallel()
	known := failure.New(v1alpha1.CategoryNetwork, failure.TypeConnection, "The body could not be read.")
	client := newTestClient(t, Config{AllowCIDRs: []netip.Prefix{loopback}})
	client.fresh.DialContext = func(context.Context, string, string) (net.Conn, error) { return nil, known }
	response, err := send(t.Context(), t, client.Transport(TransportOptions{FreshConnections: true}), http.MethodPost, "https://127.0.0.1/", "x")
	if got := undelivered(t, response, err); !got.Unsent || got == known || known.Unsent {
		t.Errorf("unsent %t, that of somebody else %t", got.Unsent, known.Unsent)
	}
}
