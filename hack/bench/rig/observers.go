// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/feed-operator/feed-operator/internal/otlp"
	"github.com/feed-operator/feed-operator/internal/redact"
	"github.com/feed-operator/feed-operator/internal/tracing"
)

// scrapeInterval is how often metrics are read: twice as often as most do.
const scrapeInterval = 15 * time.Second

// browsers are all viewers of pages: each has connections of its own.
var browsers = &http.Client{}

// observers look at operators as those do who run one: they scrape the metrics, take the traces, and have the page open. Nil look at none.
type observers struct {
	collector *http.Server
	// endpoint is where traces are sent.
	endpoint string
	// scrapes, pages and traces are how often something was read so far, and taken.
	scrapes, pages, traces atomic.Int64
}

func newObservers(ctx context.Context) (*observers, error) {
	o := &observers{}
	var err error
	o.collector, o.endpoint, err = serve(ctx, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err == nil {
			o.traces.Add(1)
		}
	}))
	return o, err
}

func (o *observers) close() {
	if o != nil {
		_ = o.collector.Close()
	}
}

// flags have the operator's program be observed.
func (o *observers) flags() []string {
	if o == nil {
		return nil
	}
	return []string{"--otlp-endpoint=" + strings.TrimSuffix(o.endpoint, "/")}
}

// tracer makes the traces of an operator in this process; nil where nobody takes them.
func (o *observers) tracer(ctx context.Context) (*tracing.Tracer, error) {
	if o == nil {
		return nil, nil
	}
	sender, err := otlp.Start(ctx, otlp.Config{Endpoint: o.endpoint, Version: "bench", Mask: redact.Log, Log: logr.Discard(), ShareBy: tracing.KeyNamespace})
	if err != nil {
		return nil, err
	}
	return tracing.New(sender.Provider()), nil
}

// scrape reads metrics now and then until the context ends. Where they cannot be read, that is not counted: whether all was observed is seen by how much was.
func (o *observers) scrape(ctx context.Context, metrics prometheus.Gatherer) {
	if o == nil {
		return
	}
	every(ctx, scrapeInterval, func() {
		if _, err := metrics.Gather(); err == nil {
			o.scrapes.Add(1)
		}
	})
}

// watch scrapes the metrics of a program, and has its page open where that has an address, until the context ends.
func (o *observers) watch(ctx context.Context, metrics, page string) {
	if o == nil {
		return
	}
	go every(ctx, scrapeInterval, func() {
		if _, err := fetch(ctx, metrics); err == nil {
			o.scrapes.Add(1)
		}
	})
	if page != "" {
		go every(ctx, time.Second, func() { _ = ViewPage(ctx, page, &o.pages) }) // it begins anew where the operator is not up yet, or has ended
	}
}

// Measured is on what something was measured, and how much was looked at meanwhile: of one control plane after the other.
type Measured struct {
	// Version of the API servers.
	Version                string
	scrapes, pages, traces int64
}

// Add adds a control plane on which nothing more will be measured.
func (m *Measured) Add(p *Plane) {
	m.Version = p.version
	if o := p.observers; o != nil {
		m.scrapes += o.scrapes.Load()
		m.pages += o.pages.Load()
		m.traces += o.traces.Load()
	}
}

// Observed says how much of the operators was looked at.
func (m *Measured) Observed() string {
	if m.scrapes+m.pages+m.traces == 0 {
		return "nobody looked at the operators"
	}
	return fmt.Sprintf("the operators were looked at meanwhile: %d scrapes of metrics, %d loads of the page, %d batches of traces", m.scrapes, m.pages, m.traces)
}

// every does something at once, and then again each time that so long has passed, until the context ends.
func every(ctx context.Context, interval time.Duration, do func()) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		do()
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// ViewPage loads a page, and again each time that its stream tells of another version, until the context ends or the stream does. It counts how often.
func ViewPage(ctx context.Context, page string, loads *atomic.Int64) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, page+"/events", http.NoBody)
	if err != nil {
		return err
	}
	answer, err := browsers.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return errors.New("the stream is refused: " + answer.Status)
	}
	lines := bufio.NewScanner(answer.Body)
	for lines.Scan() {
		if !strings.HasPrefix(lines.Text(), "data: ") {
			continue
		}
		if _, err := FetchPage(ctx, page); err != nil {
			return err
		}
		loads.Add(1)
	}
	return lines.Err()
}

// FetchPage loads the overview of a page, and returns how many bytes it has.
func FetchPage(ctx context.Context, page string) (size int64, _ error) { return fetch(ctx, page+"/") }

func fetch(ctx context.Context, url string) (size int64, _ error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return 0, err
	}
	answer, err := browsers.Do(request)
	if err != nil {
		return 0, err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("%s is refused: %s", url, answer.Status)
	}
	return io.Copy(io.Discard, answer.Body)
}
