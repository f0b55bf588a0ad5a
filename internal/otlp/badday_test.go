// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package otlp_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/feed-operator/feed-operator/internal/otlp"
	"github.com/feed-operator/feed-operator/internal/otlptest"
)

// endOf is where a request has what is closed when its test is over.
type endOf struct{}

func over(r *http.Request) <-chan struct{} {
	ended, _ := r.Context().Value(endOf{}).(chan struct{})
	return ended
}

// R5.5, R6.2: whatever a collector does, nobody waits for it: spans are made and ended as if it took them, the end of the operator comes when it should, and
// the log has a line or two, and not one for each span.
func TestABadCollectorHoldsUpNothing(t *testing.T) {
	t.Parallel()
	absent := httptest.NewServer(http.NotFoundHandler())
	absent.Close()
	elsewhere := otlptest.New(t)
	for name, answer := range map[string]http.HandlerFunc{
		"is not there": nil,
		"answers 503":  func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) },
		"answers 503, and wants to be left alone for an hour": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(http.StatusServiceUnavailable)
		},
		"answers 429, until a time a year from now": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "Sat, 25 Nov 2399 12:00:00 GMT")
			w.WriteHeader(http.StatusTooManyRequests)
		},
		"never answers": func(_ http.ResponseWriter, r *http.Request) { <-over(r) },
		"closes the connection": func(w http.ResponseWriter, _ *http.Request) {
			if connection, _, err := http.NewResponseController(w).Hijack(); err == nil {
				_ = connection.Close()
			}
		},
		"answers without end": func(w http.ResponseWriter, r *http.Request) {
			for {
				select {
				case <-over(r):
					return
				default:
				}
				if _, err := w.Write(make([]byte, 64<<10)); err != nil {
					return
				}
			}
		},
		"leads to itself, for ever": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, r.URL.Path, http.StatusTemporaryRedirect)
		},
		"leads elsewhere": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL+r.URL.Path, http.StatusMovedPermanently)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			collector, log := otlptest.New(t), &lines{}
			if answer != nil {
				ended := make(chan struct{})
				t.Cleanup(func() { close(ended) }) // before the collector is closed
				collector.Answers(func(w http.ResponseWriter, r *http.Request) {
					answer(w, r.WithContext(context.WithValue(r.Context(), endOf{}, ended)))
				})
			}
			address := collector.URL
			if answer == nil {
				address = absent.URL
			}
			sender := started(t, address, log)
			sender.WaitFor(200 * time.Millisecond)
			for n := range 5000 {
				span(t, sender, fmt.Sprint(n))
			}
			sender.Flush(t.Context()) // or the test never ends
			said := log.said()
			if len(said) == 0 || len(said) > 2 {
				t.Errorf("%d lines of the log: %.3000q", len(said), said)
			}
			for _, line := range said {
				if len(line) > 600 || !strings.Contains(line, "warning") {
					t.Errorf("a line of %d bytes: %.700s", len(line), line)
				}
			}
		})
	}
}

// R5.5, R1.8: the spans of a namespace with very many items take no room from those of others while a collector is slow; those of one alone are bounded too.
func TestSpansOfOneNamespaceCrowdOutNoOthers(t *testing.T) {
	t.Parallel()
	collector, log, busy, over := otlptest.New(t), &lines{}, make(chan struct{}, 100), make(chan struct{})
	collector.Answers(func(w http.ResponseWriter, _ *http.Request) {
		busy <- struct{}{}
		<-over
		w.WriteHeader(http.StatusBadRequest)
	})
	const by = attribute.Key("of")
	sender, err := otlp.Start(t.Context(), otlp.Config{Endpoint: collector.URL, Mask: mask, Log: log.logger(), ShareBy: by})
	if err != nil {
		t.Fatal(err)
	}
	attempts := func(of string, n int) {
		for range n {
			ctx, outer := sender.Provider().Tracer("test").Start(t.Context(), "attempt", trace.WithAttributes(by.String(of)))
			within, request := sender.Provider().Tracer("test").Start(ctx, "call")
			_, inner := sender.Provider().Tracer("test").Start(within, "POST")
			inner.End()
			request.End()
			outer.End()
		}
	}
	attempts("large", 200) // of which 512 spans are sent at once
	<-busy
	attempts("large", 5000)
	attempts("small", 100)
	attempts("other", 100)
	collector.Answers(nil)
	close(over)
	sender.Flush(t.Context())
	arrived := map[string]int{}
	for _, got := range collector.Spans() {
		arrived[got.Attributes["of"]]++
	}
	if arrived["small"] != 300 || arrived["other"] != 300 || arrived["large"] > 1024+512 || arrived["large"] == 0 || len(arrived) != 3 {
		t.Errorf("arrived: %v", arrived)
	}
	if said := log.said(); len(said) != 2 || !strings.Contains(said[0], "Traces not sent") || !strings.Contains(said[1], "Traces sent again") {
		t.Errorf("log: %q", said)
	} else if lost := fmt.Sprintf(`"lost"=%d`, 3*(200+5000+100+100)-arrived["large"]-arrived["small"]-arrived["other"]); !strings.Contains(said[1], lost) {
		t.Errorf("%s, want %s", said[1], lost)
	}
}

// R5.5: what there is no room for although the collector takes what it gets is told, with how much that is.
func TestSpansForWhichThereIsNoRoomAreTold(t *testing.T) {
	t.Parallel()
	collector, log := otlptest.New(t), &lines{}
	let, busy := make(chan struct{}), make(chan struct{}, 100)
	sender := started(t, collector.URL, log)
	collector.Answers(func(http.ResponseWriter, *http.Request) { busy <- struct{}{}; <-let })
	for range 512 {
		span(t, sender, "first")
	}
	<-busy
	for range 3000 {
		span(t, sender, "more")
	}
	close(let)
	sender.Flush(t.Context())
	said := log.said()
	if !slices.ContainsFunc(said, func(line string) bool {
		return strings.Contains(line, "Traces dropped: there is no room for more") && strings.Contains(line, `"lost"=952`)
	}) || len(said) != 1 {
		t.Errorf("log: %q", said)
	}
}

// R5.5: a collector that takes every other batch has a line of the log once in a while, and not two for each batch; what is lost is told all the same.
func TestACollectorThatFailsEveryOtherTimeIsToldSeldom(t *testing.T) {
	t.Parallel()
	collector, log := otlptest.New(t), &lines{}
	sender := started(t, collector.URL, log)
	var asked atomic.Int32
	collector.Answers(func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1)%2 == 1 {
			w.WriteHeader(http.StatusBadRequest)
		}
	})
	for range 20 {
		span(t, sender, "one")
		if err := sender.Now(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	sender.Flush(t.Context())
	if said := log.said(); len(said) != 2 || !strings.Contains(said[0], "Traces not sent") || !strings.Contains(said[1], "Traces sent again") {
		t.Errorf("log: %q", said)
	}
}
