// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"context"
	"os"
	"strconv"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// envQueueSize is how many spans may wait.
const envQueueSize = "OTEL_BSP_MAX_QUEUE_SIZE"

// queueSize is how many spans may wait, as the SDK reads it.
func queueSize() int {
	if size, err := strconv.Atoi(os.Getenv(envQueueSize)); err == nil && size > 0 {
		return size
	}
	return sdktrace.DefaultMaxQueueSize
}

// fair lets spans wait, so that those of one namespace, or whatever else has its name in an attribute, never take all of the room: of one there may be as many
// as there is room left for others. One alone has half of it.
type fair struct {
	sdktrace.SpanProcessor // in which they wait; it has room for all
	by                     attribute.Key
	room                   int

	mu      sync.Mutex
	waiting map[string]int
	all     int
	dropped int // since it was asked last
}

// OnStart implements sdktrace.SpanProcessor. A span belongs to whom the one belongs to that it is within, and says so too.
func (f *fair) OnStart(within context.Context, span sdktrace.ReadWriteSpan) {
	if outer, known := trace.SpanFromContext(within).(sdktrace.ReadOnlySpan); known && span.Parent().IsValid() && f.by != "" && f.ownerOf(span) == "" {
		if owner := f.ownerOf(outer); owner != "" {
			span.SetAttributes(f.by.String(owner))
		}
	}
	f.SpanProcessor.OnStart(within, span)
}

// OnEnd implements sdktrace.SpanProcessor.
func (f *fair) OnEnd(span sdktrace.ReadOnlySpan) {
	if span.SpanContext().IsSampled() && f.enters(f.ownerOf(span)) {
		f.SpanProcessor.OnEnd(span)
	}
}

// enters reports whether there is room for one more span of an owner, and takes it.
func (f *fair) enters(owner string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	left := f.room - f.all
	if left <= 0 || f.by != "" && f.waiting[owner] >= left {
		f.dropped++
		return false
	}
	f.waiting[owner]++
	f.all++
	return true
}

// leave says that spans wait no longer, and returns how many there was no room for since it was called last.
func (f *fair) leave(spans []sdktrace.ReadOnlySpan) (dropped int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, span := range spans {
		owner := f.ownerOf(span)
		if f.waiting[owner]--; f.waiting[owner] <= 0 {
			delete(f.waiting, owner)
		}
	}
	f.all -= len(spans)
	dropped, f.dropped = f.dropped, 0
	return dropped
}

func (f *fair) ownerOf(span sdktrace.ReadOnlySpan) string {
	for _, has := range span.Attributes() {
		if has.Key == f.by {
			return has.Value.AsString()
		}
	}
	return ""
}
