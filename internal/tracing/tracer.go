// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tracing

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
)

// scope names who makes the spans.
const scope = "github.com/feed-operator/feed-operator"

// Names of spans. Calls of models and HTTP requests have those of the conventions.
const (
	spanAttempt   = "attempt"
	spanBatch     = "batch"
	spanArticle   = "article"
	spanSummarize = "summarize"
	spanDeliver   = "deliver"
	spanLookUp    = "look up"
)

// KeyNamespace is the attribute that says in which namespace something is done.
const KeyNamespace = attribute.Key("feed_operator.namespace")

// Attributes that the conventions have no names for.
const (
	keyItem        = attribute.Key("feed_operator.item.name")
	keyItemUID     = attribute.Key("feed_operator.item.uid")
	keyRetries     = attribute.Key("feed_operator.item.retries")
	keySource      = attribute.Key("feed_operator.source.name")
	keyProvider    = attribute.Key("feed_operator.provider.name")
	keyDestination = attribute.Key("feed_operator.destination.name")
	keyStage       = attribute.Key("feed_operator.stage")
	keyTokens      = attribute.Key("feed_operator.tokens")
	keyDuplicate   = attribute.Key("feed_operator.duplicate")
	keyFound       = attribute.Key("feed_operator.found")
	keyBatchItems  = attribute.Key("feed_operator.batch.items")
)

// mostRemembered is of how many items it is known which trace they had last. One takes some 200 bytes.
const mostRemembered = 4096

// Tracer makes spans. Nil makes none, at no cost. It is safe for concurrent use.
type Tracer struct {
	spans trace.Tracer
	// last has the span context of the last attempt at an item, by its UID: the traces of an item are linked, and that of a batch to those of
	// its items. Of those that were seen longest ago it is forgotten; their traces have no link.
	last *lru.Cache
}

// New returns what makes spans that go to a provider.
func New(provider trace.TracerProvider) *Tracer {
	return &Tracer{spans: provider.Tracer(scope), last: lru.New(mostRemembered)}
}

// Attempt begins the trace of an attempt at an item. It is linked to that of the last one.
func (t *Tracer) Attempt(ctx context.Context, item *v1alpha1.FeedItem) (context.Context, Span) {
	if t == nil {
		return ctx, Span{}
	}
	ctx, span := t.spans.Start(ctx, spanAttempt, trace.WithNewRoot(), trace.WithLinks(t.linksTo(item.UID)...), trace.WithAttributes(
		KeyNamespace.String(item.Namespace), keyItem.String(item.Name), keyItemUID.String(string(item.UID)),
		keySource.String(item.Spec.SourceRef.Name), keyRetries.Int64(int64(item.Status.RetryCount)),
	))
	if known := span.SpanContext(); known.IsSampled() {
		t.last.Add(item.UID, known)
	}
	return ctx, Span{span}
}

// Batch begins the trace of a request with several items, which is linked to those of the items.
func (t *Tracer) Batch(ctx context.Context, destination *v1alpha1.FeedDestination, items []types.UID) (context.Context, Span) {
	if t == nil {
		return ctx, Span{}
	}
	ctx, span := t.spans.Start(ctx, spanBatch, trace.WithNewRoot(), trace.WithLinks(t.linksTo(items...)...), trace.WithAttributes(
		KeyNamespace.String(destination.Namespace), keyDestination.String(destination.Name), keyBatchItems.Int(len(items)),
	))
	return ctx, Span{span}
}

// linksTo are links to the last traces of items, as far as they are known.
func (t *Tracer) linksTo(items ...types.UID) (links []trace.Link) {
	for _, item := range items {
		if known, ok := t.last.Get(item); ok {
			links = append(links, trace.Link{SpanContext: known.(trace.SpanContext)})
		}
	}
	return links
}

// start begins a span within the one of ctx, where that is recorded. It may have ended: posts are made when what they are of is written.
func start(ctx context.Context, name string, kind trace.SpanKind, attributes ...attribute.KeyValue) (context.Context, Span) {
	within := trace.SpanFromContext(ctx)
	if !within.SpanContext().IsSampled() {
		return ctx, Span{}
	}
	ctx, span := within.TracerProvider().Tracer(scope).Start(ctx, name, trace.WithSpanKind(kind), trace.WithAttributes(attributes...))
	return ctx, Span{span}
}

// Article begins the span of reading the page of an item, from a host.
func Article(ctx context.Context, host string) (context.Context, Span) {
	return start(ctx, spanArticle, trace.SpanKindInternal, server(host))
}

// Delivery begins the span of one call that posts to a destination.
func Delivery(ctx context.Context, destination string) (context.Context, Span) {
	return start(ctx, spanDeliver, trace.SpanKindInternal, keyDestination.String(destination))
}

// LookUp begins the span of looking for a post at a destination that may have been made.
func LookUp(ctx context.Context, destination string) (context.Context, Span) {
	return start(ctx, spanLookUp, trace.SpanKindInternal, keyDestination.String(destination))
}

// Within reports whether ctx belongs to a trace, be it recorded or not.
func Within(ctx context.Context) bool { return trace.SpanContextFromContext(ctx).IsValid() }

// ID is that of the trace that ctx belongs to, if that is recorded; else empty.
func ID(ctx context.Context) string { return idOf(trace.SpanContextFromContext(ctx)) }

func idOf(known trace.SpanContext) string {
	if !known.IsSampled() {
		return ""
	}
	return known.TraceID().String()
}
