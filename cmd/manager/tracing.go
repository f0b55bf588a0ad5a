// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"os"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/feed-operator/feed-operator/internal/otlp"
	"github.com/feed-operator/feed-operator/internal/redact"
	"github.com/feed-operator/feed-operator/internal/tracing"
)

// startTracing begins to send traces, if somebody has named a collector. Traces are for those who run the operator, as its log is, and all that is
// known to be secret is masked in both.
func startTracing(ctx context.Context, flags *flags) (*otlp.Sender, error) {
	for _, secret := range otlp.Secrets() {
		redact.Remember("", secret)
	}
	log := ctrl.Log.WithName("traces")
	otlp.LogTo(log)
	return otlp.Start(ctx, otlp.Config{
		Endpoint: flags.otlpEndpoint, Version: version, PodNamespace: os.Getenv("POD_NAMESPACE"), PodName: os.Getenv("POD_NAME"),
		Mask: redact.Log, Log: log, ShareBy: tracing.KeyNamespace,
	})
}

// tracerOf makes the spans that are sent; nil where none are.
func tracerOf(traces *otlp.Sender) *tracing.Tracer {
	if traces == nil {
		return nil
	}
	return tracing.New(traces.Provider())
}
