// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tracing makes the spans of attempts at items, by the semantic conventions of OpenTelemetry for HTTP
// (https://opentelemetry.io/docs/specs/semconv/http/http-spans/) and for generative AI
// (https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans/).
//
// What stands on a span is the name of an object, the host of an address, a number, or a word of a closed set. It must never be
// a text that somebody else wrote: not of a feed, a page or a model, not of a prompt, an answer or an error; nor a path or a query, in which
// webhooks and feeds have their secrets; nor the host of an address that is a secret as a whole.
//
// It knows no collector, and whether there is one: that is package otlp.
package tracing
