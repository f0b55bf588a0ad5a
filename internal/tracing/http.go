// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tracing

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/feed-operator/feed-operator/internal/failure"
)

// hidden stands in place of what is not told of an address, as the conventions want it.
const hidden = "REDACTED"

// Request begins the span of one HTTP request, within that of ctx. A secret address is told by its scheme alone, others by scheme, host and port. No
// header is added to the request: who is called does not learn of the trace.
//
// That is why it is not otelhttp's: which tells the whole URL and the words of errors, and has the trace go along.
func Request(ctx context.Context, method string, to *url.URL, secret bool) Span {
	if !trace.SpanContextFromContext(ctx).IsSampled() { // before anything is worked out
		return Span{}
	}
	if method == "" {
		method = http.MethodGet
	}
	attributes := []attribute.KeyValue{semconv.HTTPRequestMethodKey.String(method), semconv.URLFull(shown(to, secret))}
	if !secret {
		attributes = append(attributes, server(to.Hostname()), semconv.ServerPort(portOf(to)))
	}
	_, span := start(ctx, method, trace.SpanKindClient, attributes...)
	return span
}

// Answered ends the span of a request that was answered, with what has become of the body; nil is for all being well.
func (s Span) Answered(status int, err error) {
	if s.span == nil {
		return
	}
	s.span.SetAttributes(semconv.HTTPResponseStatusCode(status))
	switch {
	case status >= http.StatusBadRequest:
		s.failAs(strconv.Itoa(status))
	case err != nil:
		s.failAs(typeOf(err))
	}
	s.span.End()
}

// Unanswered ends the span of a request that has got no answer.
func (s Span) Unanswered(err error) {
	if s.span == nil {
		return
	}
	s.failAs(typeOf(err))
	s.span.End()
}

// typeOf is the type of a failure of package outbound, which are few.
func typeOf(err error) string {
	if known := failure.Classify(err); known.Type != "" {
		return known.Type
	}
	return string(failure.Classify(err).Category)
}

// shown is what is told of an address: without user info, path and query.
func shown(to *url.URL, secret bool) string {
	if secret {
		return to.Scheme + "://" + hidden
	}
	told := url.URL{Scheme: to.Scheme, Host: to.Host}
	if to.Path != "" && to.Path != "/" || to.RawQuery != "" {
		told.Path = "/" + hidden
	}
	return told.String()
}

func server(host string) attribute.KeyValue { return semconv.ServerAddress(host) }

func portOf(to *url.URL) int {
	if port, err := strconv.Atoi(to.Port()); err == nil {
		return port
	}
	if to.Scheme == "http" {
		return 80
	}
	return 443
}
