// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//nolint:bodyclose // the bodies that a Transport returns are in memory
package outbound

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	wire "golang.org/x/net/http2"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/failure"
)

// A request that has arrived, and whose connection then broke, has arrived once: net/http would
// repeat what has an Idempotency-Key.
//
// R4.4
func TestNoRequestWithAnEffectIsRepeated(t *testing.T) {
	t.Parallel()
	requests := map[string]struct{ method, body string }{
		"a POST":                        {http.MethodPost, "status=hello"},
		"a POST without a body":         {http.MethodPost, ""},
		"a DELETE without a body":       {http.MethodDelete, ""},
		"a PUT of more than one packet": {http.MethodPut, string(make([]byte, 100<<10))},
	}
	breaks := map[string]func(*http.Request){"hangs up": hangUp, "resets the connection": reset}
	for _, p := range protocols {
		for _, fresh := range []bool{true, false} {
			for breakName, broken := range breaks {
				for name, test := range requests {
					connection := map[bool]string{true: "a fresh connection", false: "a connection that was used before"}[fresh]
					t.Run(name+" over "+string(p)+" on "+connection+" to a server that "+breakName, func(t *testing.T) {
						t.Parallel()
						var seen arrivals
						server, client := speak(t, p, func(w http.ResponseWriter, r *http.Request) {
							seen.add(r)
							if r.URL.Path == "/break" {
								broken(r)
							}
						})
						way := client.Transport(TransportOptions{FreshConnections: fresh})
						response, err := send(t.Context(), t, way, test.method, server.URL+"/well", test.body)
						if err != nil {
							t.Fatal(err)
						}
						if multiplexed := response.ProtoMajor == 2; multiplexed != (p == http2 && !fresh) {
							t.Errorf("the connection speaks %s", response.Proto)
						}
						response, err = send(t.Context(), t, way, test.method, server.URL+"/break", test.body)
						got := undelivered(t, response, err)
						wantOutcome(t, got, outcome{v1alpha1.CategoryNetwork, failure.TypeConnection, 0})
						if got.Unsent {
							t.Error("what has arrived is said to be unsent")
						}
						from := seen.all()
						if len(from) != 2 {
							t.Fatalf("%d requests arrived, want the one before and this one", len(from))
						}
						if reused := from[0] == from[1]; reused == fresh {
							t.Errorf("the requests came from %v, fresh connections: %t", from, fresh)
						}
					})
				}
			}
		}
	}
}

// After some errors of a stream, net/http opens another one by itself.
//
// R4.4
func TestNoStreamIsRepeatedThatMayHaveHadAnEffect(t *testing.T) {
	t.Parallel()
	for name, code := range map[string]wire.ErrCode{
		"a protocol error": wire.ErrCodeProtocol, "an internal error": wire.ErrCodeInternal, "a cancellation": wire.ErrCodeCancel,
	} {
		for bodyName, body := range map[string]string{"with a body": "status=hello", "without a body": ""} {
			t.Run(name+" of a POST "+bodyName, func(t *testing.T) {
				t.Parallel()
				var streams atomic.Int32
				url, client := speakFrames(t, func(framer *wire.Framer, frame wire.Frame) bool {
					if headers, ok := frame.(*wire.HeadersFrame); ok {
						streams.Add(1)
						_ = framer.WriteRSTStream(headers.StreamID, code)
					}
					return true
				})
				response, err := send(t.Context(), t, client.Transport(TransportOptions{}), http.MethodPost, url, body)
				got := undelivered(t, response, err)
				wantOutcome(t, got, outcome{v1alpha1.CategoryNetwork, failure.TypeConnection, 0})
				if got.Unsent || streams.Load() != 1 {
					t.Errorf("%d streams were opened, unsent %t", streams.Load(), got.Unsent)
				}
			})
		}
	}
}

// R4.4
func TestAServerThatGoesAwayHasPerhapsSeenTheRequest(t *testing.T) {
	t.Parallel()
	url, client := speakFrames(t, func(framer *wire.Framer, frame wire.Frame) bool {
		headers, ok := frame.(*wire.HeadersFrame)
		if ok {
			_ = framer.WriteGoAway(headers.StreamID, wire.ErrCodeEnhanceYourCalm, []byte("calm down"))
		}
		return !ok
	})
	response, err := send(t.Context(), t, client.Transport(TransportOptions{}), http.MethodPost, url, "status=hello")
	got := undelivered(t, response, err)
	wantOutcome(t, got, outcome{v1alpha1.CategoryNetwork, failure.TypeConnection, 0})
	if got.Unsent {
		t.Error("what may have arrived is said to be unsent")
	}
}

// speakFrames starts a server that answers single frames of HTTP/2, as long as answer returns true.
func speakFrames(t *testing.T, answer func(*wire.Framer, wire.Frame) bool) (string, *Client) {
	t.Helper()
	server := httptest.NewUnstartedServer(nil)
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	listener := tlsListener(t, server)
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go converse(connection, answer)
		}
	}()
	client := newTestClient(t, Config{AllowCIDRs: []netip.Prefix{loopback}})
	trust(client, server)
	return "https://" + listener.Addr().String(), client
}

func converse(connection net.Conn, answer func(*wire.Framer, wire.Frame) bool) {
	defer func() { _ = connection.Close() }()
	preface := make([]byte, len(wire.ClientPreface))
	if _, err := connection.Read(preface); err != nil {
		return
	}
	framer := wire.NewFramer(connection, connection)
	_ = framer.WriteSettings()
	for {
		frame, err := framer.ReadFrame()
		if err != nil {
			return
		}
		if !answer(framer, frame) {
			return
		}
	}
}

// R4.4
func TestFreshConnectionsAreNeverShared(t *testing.T) {
	t.Parallel()
	for _, p := range protocols {
		t.Run(string(p), func(t *testing.T) {
			t.Parallel()
			var seen arrivals
			server, client := speak(t, p, func(_ http.ResponseWriter, r *http.Request) { seen.add(r) })
			way := client.Transport(TransportOptions{FreshConnections: true})
			const count = 24
			var group sync.WaitGroup
			for range count {
				group.Go(func() {
					if _, err := send(context.WithoutCancel(t.Context()), t, way, http.MethodPost, server.URL, "x"); err != nil {
						t.Error(err)
					}
				})
			}
			group.Wait()
			for range 3 {
				if _, err := send(t.Context(), t, way, http.MethodPost, server.URL, "x"); err != nil {
					t.Fatal(err)
				}
			}
			from := seen.all()
			slices.Sort(from)
			if different := len(slices.Compact(from)); different != count+3 {
				t.Errorf("%d requests came over %d connections", count+3, different)
			}
		})
	}
}
