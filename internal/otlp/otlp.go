// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

const (
	// flushTimeout is how long the end of the operator waits for the last spans.
	flushTimeout = 5 * time.Second
	// maxValue bounds the values of attributes, in bytes, unless the environment says otherwise.
	maxValue = 1024
)

// Config is what the operator was started with.
type Config struct {
	// Endpoint is the base URL of the collector, such as http://collector:4318: spans go to /v1/traces below it. Empty is what the environment
	// says, which is nowhere if it says nothing.
	Endpoint string
	// Version of the operator, and the pod that it runs in, if it does.
	Version, PodNamespace, PodName string
	// Mask masks what must not get out, in every text.
	Mask func(string) string
	Log  logr.Logger
	// ShareBy is the attribute by whose values the spans that wait share the room for them; empty has none of them share. A span within another one gets
	// it from that.
	ShareBy attribute.Key
}

// Sender sends spans. Nil sends none.
type Sender struct {
	provider *sdktrace.TracerProvider
	log      logr.Logger
	patience time.Duration // with the last spans
}

// Start begins to send spans; nil where nobody has named a collector. It asks nobody whether there is one. An error says what in the configuration, or
// in the environment, cannot be used.
func Start(ctx context.Context, config Config) (*Sender, error) {
	if on, err := config.named(); err != nil || !on {
		return nil, err
	}
	if err := checkEnvironment(); err != nil {
		return nil, err
	}
	var options []otlptracehttp.Option
	if config.Endpoint != "" {
		options = append(options, otlptracehttp.WithEndpointURL(config.tracesURL()))
	}
	exporter, err := otlptracehttp.New(ctx, options...)
	if err != nil {
		return nil, fmt.Errorf("traces cannot be sent as the OTEL_EXPORTER_OTLP_ variables of the environment say: %w", err)
	}
	described, err := config.describe(ctx)
	if err != nil {
		return nil, err
	}
	limits := sdktrace.NewSpanLimits()
	if limits.AttributeValueLengthLimit < 0 {
		limits.AttributeValueLengthLimit = maxValue
	}
	waiting := &fair{by: config.ShareBy, room: queueSize(), waiting: map[string]int{}}
	waiting.SpanProcessor = sdktrace.NewBatchSpanProcessor(
		&discreet{next: exporter, mask: config.Mask, log: config.Log, left: waiting.leave}, sdktrace.WithMaxQueueSize(waiting.room),
	)
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithSpanProcessor(waiting), sdktrace.WithResource(described), sdktrace.WithRawSpanLimits(limits),
	)
	return &Sender{provider, config.Log, flushTimeout}, nil
}

// Provider is where the spans come from that are sent.
func (s *Sender) Provider() trace.TracerProvider { return s.provider }

// Flush sends what is left and ends the sending, in five seconds at most.
func (s *Sender) Flush(ctx context.Context) {
	if s == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, s.patience)
	defer cancel()
	if err := s.provider.Shutdown(ctx); err != nil {
		s.log.Info("Last traces not sent", "severity", "warning", "error", shortened(err))
	}
}

// LogTo has the libraries of OpenTelemetry log as the operator does: they would write to its standard error otherwise, without a mask.
func LogTo(log logr.Logger) {
	otel.SetLogger(log)
	told := &seldom{}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		if told.may(time.Now()) {
			log.Info("Traces are not made or sent as they should be", "severity", "warning", "error", shortened(err))
		}
	}))
}

// tracesURL is where spans are sent.
func (c Config) tracesURL() string {
	base, _ := url.Parse(c.Endpoint) // named has looked at it
	return base.JoinPath("v1", "traces").String()
}

// describe says who sends. What the environment says wins.
func (c Config) describe(ctx context.Context) (*resource.Resource, error) {
	attributes := []attribute.KeyValue{semconv.ServiceName("feed-operator"), semconv.ServiceVersion(c.Version)}
	if c.PodName != "" {
		attributes = append(attributes, semconv.ServiceInstanceID(c.PodNamespace+"/"+c.PodName),
			semconv.K8SNamespaceName(c.PodNamespace), semconv.K8SPodName(c.PodName))
	}
	described, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithAttributes(attributes...), resource.WithFromEnv())
	switch {
	case errors.Is(err, resource.ErrSchemaURLConflict):
	case err != nil:
		return nil, errors.New("OTEL_RESOURCE_ATTRIBUTES cannot be read: it must look like deployment.environment.name=test,team=news")
	}
	return described, nil
}
