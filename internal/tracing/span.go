// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tracing

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/failure"
)

// errorCancelled is the type of the error of what was cut off because nobody waits for it any more.
const errorCancelled = "Cancelled"

// Span is one span, of whatever. The zero value is none, and does nothing.
type Span struct{ span trace.Span }

// In returns a context in which the span is the one that others begin within.
func (s Span) In(ctx context.Context) context.Context {
	if s.span == nil {
		return ctx
	}
	return trace.ContextWithSpan(ctx, s.span)
}

// ID is that of the span's trace, if it is recorded; else empty.
func (s Span) ID() string {
	if s.span == nil {
		return ""
	}
	return idOf(s.span.SpanContext())
}

// End ends the span; a second time does nothing.
func (s Span) End() {
	if s.span != nil {
		s.span.End()
	}
}

// Fail marks the span as failed, for what the error is by its category. Its words are not told. Nil does nothing.
func (s Span) Fail(err error) {
	switch {
	case err == nil || s.span == nil || !s.span.IsRecording():
	case errors.Is(err, context.Canceled):
		s.failAs(errorCancelled)
	default:
		s.failAs(string(failure.Classify(err).Category))
	}
}

// FailAs marks the span as failed, for a failure of a category.
func (s Span) FailAs(category v1alpha1.Category) { s.failAs(string(category)) }

// failAs marks the span as failed, by a word of a closed set.
func (s Span) failAs(kind string) {
	if s.span != nil {
		s.span.SetStatus(codes.Error, "")
		s.span.SetAttributes(semconv.ErrorTypeKey.String(kind))
	}
}

// Duplicate says whether the receiver of a delivery had it already.
func (s Span) Duplicate(had bool) { s.set(keyDuplicate.Bool(had)) }

// Found says whether what was looked for is there.
func (s Span) Found(found bool) { s.set(keyFound.Bool(found)) }

func (s Span) set(attributes ...attribute.KeyValue) {
	if s.span != nil {
		s.span.SetAttributes(attributes...)
	}
}
