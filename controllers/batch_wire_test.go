// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/portion"
	"github.com/feed-operator/feed-operator/internal/webhooktest"
)

// wire is a way to a receiver that does something to connections, until it is mended.
type wire struct {
	url string
	// breaks does something to a connection, of which the head of the request was read; nil for what just passes through.
	breaks atomic.Pointer[func(*net.TCPConn, *http.Request)]
	tried  atomic.Int32
}

// wireTo makes one to a receiver.
func wireTo(t *testing.T, server *webhooktest.Server) *wire {
	t.Helper()
	var listen net.ListenConfig
	listener, err := listen.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	w := &wire{url: "http://" + listener.Addr().String()}
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			tcp, _ := connection.(*net.TCPConn)
			_ = tcp.SetReadBuffer(4096) // what is not read fills no more than that
			go w.serve(tcp, strings.TrimPrefix(server.URL, "http://"))
		}
	}()
	return w
}

func (w *wire) serve(from *net.TCPConn, to string) {
	defer func() { _ = from.Close() }()
	if breaks := w.breaks.Load(); breaks != nil {
		w.tried.Add(1)
		if request, err := http.ReadRequest(bufio.NewReader(from)); err == nil {
			(*breaks)(from, request)
		}
		return
	}
	other, err := net.Dial("tcp", to) //nolint:noctx // ends with the test's server
	if err != nil {
		return
	}
	defer func() { _ = other.Close() }()
	go func() { _, _ = io.Copy(other, from); _ = other.Close() }()
	_, _ = io.Copy(from, other)
}

func reset(from *net.TCPConn) {
	_ = from.SetLinger(0)
	_ = from.Close()
}

var wireFaults = map[string]func(*net.TCPConn, *http.Request){
	"before the body": func(from *net.TCPConn, _ *http.Request) { reset(from) },
	"in the middle of the body": func(from *net.TCPConn, r *http.Request) {
		_, _ = io.CopyN(io.Discard, r.Body, r.ContentLength/2)
		reset(from)
	},
	"after the last byte": func(from *net.TCPConn, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		reset(from)
	},
	"in the middle of the answer's head": func(from *net.TCPConn, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(from, "HTTP/1.1 200 OK\r\nContent-Le")
		_ = from.Close()
	},
	"in the status line": func(from *net.TCPConn, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(from, "HTTP/1.1 2")
		_ = from.Close()
	},
}

// large makes long bodies, so that a connection can break while one is sent.
func large(d *v1alpha1.FeedDestination) {
	d.Spec.Webhook.Body = `{"title": title, "text": "` + strings.Repeat("x", 8000) + `"}`
}

// R4.3, R4.4: the connection breaks at any moment of a request with a batch, again and again. It is not tried more often than its policy says, is sent again
// with its key, and arrives once; where it is to be held, it is sent once.
func TestTheConnectionOfABatchBreaks(t *testing.T) {
	t.Parallel()
	for when, breaks := range portion.Some(wireFaults, 1) {
		for name, holds := range portion.Some(map[string]bool{"it is repeated": false, "it is held": true}, 1) {
			t.Run(when+", "+name, func(t *testing.T) {
				t.Parallel()
				const n = 12
				w := newWorld(t, repeating)
				server := w.webhook(func(o *webhooktest.Options) { o.Keys = webhooktest.Answers200 })
				way := wireTo(t, server)
				way.breaks.Store(&breaks)
				w.batches(n, server, func(d *v1alpha1.FeedDestination) {
					d.Spec.Webhook.URL = way.url
					if holds {
						held(d)
					}
				}, large, inBatches(n, time.Hour))
				if holds {
					w.untilSent(n, v1alpha1.PhaseFailed, v1alpha1.ReasonDeliveryUncertain)
					if tried := way.tried.Load(); tried > 1 { // on a slow machine its time may be over before it arrives
						t.Errorf("tried %d times", tried)
					}
					return
				}
				w.timePasses(func() error {
					if way.tried.Load() < 3 {
						return errNotYet
					}
					return nil
				})
				for range 12 {
					w.clock.Step(5 * time.Minute)
					w.lookAtBatches()
				}
				w.poll("news")
				const most = 4 * (1 + 3) // attempts after 0, 5, 15 and 35 minutes, each with three repetitions at once
				if tried := way.tried.Load(); tried > most {
					t.Errorf("tried %d times in an hour, want %d at most", tried, most)
				}
				way.breaks.Store(nil)
				w.untilSent(n, v1alpha1.PhaseProcessed, v1alpha1.ReasonNone)
				wantOnceEach(t, server, n)
				w.untilNoBatch()
			})
		}
	}
}

// R4.3: a receiver answers with 413 as soon as it has read how long a batch is, and reads no more. That is its answer, and the batch is parted.
func TestABatchThatIsTooLongIsPartedThoughItIsNotRead(t *testing.T) {
	t.Parallel()
	for name, lingers := range portion.Some(map[string]bool{"it closes the connection": false, "it reads the rest": true}, 1) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const n = 60
			w := newWorld(t)
			server := w.webhook(func(o *webhooktest.Options) { o.Keys = webhooktest.Answers200 })
			way := wireTo(t, server)
			breaks := func(from *net.TCPConn, r *http.Request) {
				way.breaks.Store(nil)
				_, _ = io.WriteString(from, "HTTP/1.1 413 Content Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
				if lingers {
					_ = from.CloseWrite()
					_, _ = io.Copy(io.Discard, r.Body)
				}
			}
			way.breaks.Store(&breaks)
			w.batches(n, server, func(d *v1alpha1.FeedDestination) { d.Spec.Webhook.URL = way.url }, large, inBatches(n, time.Hour))
			w.untilSent(n, v1alpha1.PhaseProcessed, v1alpha1.ReasonNone)
			wantOnceEach(t, server, n)
			// An answer may get lost with a connection that is closed while somebody still writes to it: then the whole is tried once more.
			if taken := len(server.Taken()); taken != 2 && (lingers || taken != 1) {
				t.Errorf("it has arrived in %d requests", taken)
			}
		})
	}
}
