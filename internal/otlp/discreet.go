// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/feed-operator/feed-operator/internal/conditions"
)

const (
	// tellInterval is how often it is told at most that spans cannot be sent.
	tellInterval = 10 * time.Minute
	// maxError is how much of the words of a collector is told, in bytes.
	maxError = 300
)

// discreet masks what is exported, and tells seldom that it cannot be.
type discreet struct {
	next sdktrace.SpanExporter
	mask func(string) string
	log  logr.Logger
	// left is told which spans wait no longer, and says how many there was no room for.
	left func([]sdktrace.ReadOnlySpan) (dropped int)

	mu     sync.Mutex
	told   seldom
	fails  bool // and that was told
	lost   int  // since it was told last that it fails no more
	noRoom int  // while it does not
	full   seldom
}

// ExportSpans implements sdktrace.SpanExporter. Its error is nil: who waits for nothing need not know, and the SDK would log it each time.
func (d *discreet) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	dropped := d.left(spans)
	clean := make([]sdktrace.ReadOnlySpan, 0, len(spans))
	for _, span := range spans {
		clean = append(clean, masked{span, d.mask})
	}
	err := d.next.ExportSpans(ctx, clean)
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case err != nil:
		if d.lost += len(spans) + dropped; d.told.may(time.Now()) {
			d.fails = true
			d.log.Info("Traces not sent", "severity", "warning", "lost", d.lost, "error", shortened(err))
		}
	case d.fails, d.lost > 0 && d.told.may(time.Now()):
		d.log.Info("Traces sent again", "lost", d.lost+dropped)
		d.fails, d.lost = false, 0
	default:
		if d.noRoom += dropped; d.noRoom > 0 && d.full.may(time.Now()) {
			d.log.Info("Traces dropped: there is no room for more", "severity", "warning", "lost", d.noRoom)
			d.noRoom = 0
		}
	}
	return nil
}

// Shutdown implements sdktrace.SpanExporter.
func (d *discreet) Shutdown(ctx context.Context) error { return d.next.Shutdown(ctx) }

// seldom lets something be told every ten minutes at most.
type seldom struct {
	mu   sync.Mutex
	last time.Time
}

func (s *seldom) may(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.last.IsZero() && now.Sub(s.last) < tellInterval {
		return false
	}
	s.last = now
	return true
}

// shortened are the words of an error, on one line. A collector may have written them.
func shortened(err error) string {
	return conditions.Cut(strings.Join(strings.Fields(strings.ToValidUTF8(err.Error(), "")), " "), maxError)
}

// masked is a span in whose texts nothing stands that must not get out. Package tracing puts nothing of that there; this holds should that be wrong.
type masked struct {
	sdktrace.ReadOnlySpan
	mask func(string) string
}

func (m masked) Name() string { return m.mask(m.ReadOnlySpan.Name()) }

func (m masked) Attributes() []attribute.KeyValue { return m.attributes(m.ReadOnlySpan.Attributes()) }

func (m masked) Status() sdktrace.Status {
	status := m.ReadOnlySpan.Status()
	status.Description = m.mask(status.Description)
	return status
}

func (m masked) Events() []sdktrace.Event {
	events := append([]sdktrace.Event(nil), m.ReadOnlySpan.Events()...)
	for i := range events {
		events[i].Name, events[i].Attributes = m.mask(events[i].Name), m.attributes(events[i].Attributes)
	}
	return events
}

func (m masked) attributes(of []attribute.KeyValue) []attribute.KeyValue {
	clean := append([]attribute.KeyValue(nil), of...)
	for i := range clean {
		if clean[i].Value.Type() == attribute.STRING {
			clean[i].Value = attribute.StringValue(m.mask(clean[i].Value.AsString()))
		}
	}
	return clean
}
