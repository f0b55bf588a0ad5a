// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package outbound

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/portion"
)

// R1.6
func TestAnswersThatAreTooLarge(t *testing.T) {
	t.Parallel()
	const limit = 1 << 20
	tests := map[string]struct {
		handler  http.HandlerFunc
		wantSize int
	}{
		"a body that announces its size": {handler: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1048577")
			_, _ = w.Write(make([]byte, limit+1))
		}},
		"a body without end": {handler: func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				_, _ = w.Write(make([]byte, 64<<10))
			}
		}},
		"a body of exactly the limit is taken": {wantSize: limit, handler: func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write(make([]byte, limit))
		}},
		"a compressed body of exactly the limit is taken": {wantSize: limit, handler: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(gzipped(t, limit))
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := serve(t, test.handler)
			response, err := localClient(t).Get(t.Context(), Request{URL: server.URL, MaxBytes: limit})
			if test.wantSize > 0 {
				if err != nil || len(response.Body) != test.wantSize {
					t.Fatalf("got error %v, want a body of %d bytes", err, test.wantSize)
				}
				return
			}
			got := failed(t, response, err)
			wantOutcome(t, got, outcome{v1alpha1.CategoryValidation, failure.TypeTooLarge, 0})
		})
	}
}

// R1.6. Not parallel: it looks at what the whole process allocates.
func TestAGzipBombDoesNotGrowTheMemory(t *testing.T) {
	bomb := gzipped(t, int64(portion.Of(200, 32))<<20) // larger than what may be allocated
	server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(bomb)
	})
	client := localClient(t)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	response, err := client.Get(t.Context(), Request{URL: server.URL, MaxBytes: 1 << 20})
	runtime.ReadMemStats(&after)
	wantOutcome(t, failed(t, response, err), outcome{v1alpha1.CategoryValidation, failure.TypeTooLarge, 0})
	// All that was ever allocated, freed or not: growing a buffer to 1 MiB takes about 5 MiB of it.
	if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 16<<20 {
		t.Errorf("allocated %d bytes for a body of at most 1 MiB", allocated)
	}
}

func gzipped(t *testing.T, zeros int64) []byte {
	t.Helper()
	const member = 1 << 20 // members one after the other are one body, and each is the same: it is compressed once
	if zeros <= member {
		return compressed(t, "gzip", io.LimitReader(zeroReader{}, zeros))
	}
	return append(bytes.Repeat(gzipped(t, member), int(zeros/member)), gzipped(t, zeros%member)...)
}

type zeroReader struct{}

func (zeroReader) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// R1.6
func TestExchangesThatBreak(t *testing.T) {
	t.Parallel()
	network := func(kind string) outcome { return outcome{v1alpha1.CategoryNetwork, kind, 0} }
	malformed := outcome{v1alpha1.CategoryAPI, failure.TypeMalformed, 0}
	tests := map[string]struct {
		handler  http.HandlerFunc
		timeout  time.Duration
		want     outcome
		wantText string
	}{
		"a body that stops before its length": {
			handler: func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Length", "100")
				_, _ = io.WriteString(w, "short")
			},
			want: network(failure.TypeConnection), wantText: "broke before the answer was complete",
		},
		"a gzip stream that stops": {
			handler: func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Encoding", "gzip")
				_, _ = w.Write(gzipped(t, 1<<20)[:500])
			},
			want: network(failure.TypeConnection), wantText: "broke before the answer was complete",
		},
		"gzip that is none": {
			handler: func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Encoding", "gzip")
				_, _ = io.WriteString(w, "this is not a gzip stream at all")
			},
			want: malformed, wantText: "not compressed as gzip",
		},
		"a body that trickles": {
			handler: func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.WriteString(w, "a")
				_ = http.NewResponseController(w).Flush()
				<-r.Context().Done()
			},
			timeout: 100 * time.Millisecond, want: network(failure.TypeTimeout), wantText: "within 100ms",
		},
		"no answer at all": {
			handler: func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
			timeout: 100 * time.Millisecond, want: network(failure.TypeTimeout), wantText: "within 100ms",
		},
		"headers without end": {
			handler: func(w http.ResponseWriter, _ *http.Request) {
				for i := range 2000 {
					w.Header().Set(fmt.Sprintf("X-Filler-%d", i), strings.Repeat("x", 100))
				}
			},
			want: malformed, wantText: "headers larger than 64 KiB",
		},
		"what is not HTTP": {handler: raw("220 smtp.example.org ESMTP\r\n"), want: malformed, wantText: "malformed"},
		"a connection closed without an answer": {
			handler: raw(""), want: network(failure.TypeConnection), wantText: "could not be made, or broke",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := serve(t, test.handler)
			response, err := localClient(t).Get(t.Context(), Request{URL: server.URL, Timeout: test.timeout})
			got := failed(t, response, err)
			wantOutcome(t, got, test.want)
			if !strings.Contains(got.Error(), test.wantText) || !strings.Contains(got.Error(), "127.0.0.1") {
				t.Errorf("message %q, want %q and the host in it", got, test.wantText)
			}
		})
	}
}

// raw answers with these bytes and closes the connection.
func raw(answer string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		connection, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(err)
		}
		_, _ = io.WriteString(connection, answer)
		_ = connection.Close()
	}
}

func TestAPortWhereNobodyListens(t *testing.T) {
	t.Parallel()
	server := serve(t, nil)
	server.Close()
	response, err := localClient(t).Get(t.Context(), Request{URL: server.URL})
	wantOutcome(t, failed(t, response, err), outcome{v1alpha1.CategoryNetwork, failure.TypeConnection, 0})
}

func TestACancelledCallerCanBeToldFromAFailure(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	server := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	})
	response, err := localClient(t).Get(ctx, Request{URL: server.URL})
	got := failed(t, response, err)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v is not context.Canceled", err)
	}
	wantOutcome(t, got, outcome{v1alpha1.CategoryNetwork, typeInterrupted, 0})
}
