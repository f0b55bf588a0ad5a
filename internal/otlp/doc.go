// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package otlp sends spans to a collector, by OTLP (https://opentelemetry.io/docs/specs/otlp/) over HTTP with protobuf. That is lighter than gRPC:
// there is no connection to be held, and a proxy needs to know nothing of it.
//
// A collector that is away, slow or full is nobody's business but its own: what does not fit the queue is dropped, and the log has a line
// every ten minutes at most.
//
// It knows the SDK of OpenTelemetry and the environment that it is set by. It must never know what the spans are of.
package otlp
