// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package otlp_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/feed-operator/feed-operator/internal/otlp"
	"github.com/feed-operator/feed-operator/internal/otlptest"
)

// lines is a log.
type lines struct {
	mu  sync.Mutex
	all []string
}

func (l *lines) logger() logr.Logger {
	return funcr.New(func(_, args string) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.all = append(l.all, args)
	}, funcr.Options{})
}

func (l *lines) said() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.all)
}

func mask(text string) string { return strings.ReplaceAll(text, "SECRET", "***") }

func started(t *testing.T, endpoint string, log *lines) *otlp.Sender {
	t.Helper()
	sender, err := otlp.Start(t.Context(), otlp.Config{Endpoint: endpoint, Version: "v1", Mask: mask, Log: log.logger()})
	if err != nil || sender == nil {
		t.Fatalf("%v, %v", sender, err)
	}
	return sender
}

// span makes one, and ends it.
func span(t *testing.T, sender *otlp.Sender, name string, attributes ...attribute.KeyValue) {
	t.Helper()
	_, made := sender.Provider().Tracer("test").Start(t.Context(), name, trace.WithAttributes(attributes...))
	made.AddEvent("SECRET event", trace.WithAttributes(attributes...))
	made.End()
}

// R5.6: no known secret leaves, wherever it stands, and no text without end.
func TestSpansAreMaskedAndBounded(t *testing.T) {
	t.Parallel()
	collector, log := otlptest.New(t), &lines{}
	sender := started(t, collector.URL+"/", log)
	span(t, sender, "a SECRET name", attribute.String("of", "SECRET"), attribute.String("long", strings.Repeat("x", 100_000)), attribute.Int("n", 7))
	sender.Flush(t.Context())
	spans := collector.Spans()
	if len(spans) != 1 || spans[0].Name != "a *** name" || spans[0].Attributes["of"] != "***" || spans[0].Attributes["n"] != "7" {
		t.Errorf("spans %+v", spans)
	}
	if length := len(spans[0].Attributes["long"]); length != 1024 {
		t.Errorf("a value of %d bytes", length)
	}
	if strings.Contains(collector.Raw(), "SECRET") {
		t.Error("the secret was sent")
	}
	if spans[0].Resource["service.name"] != "feed-operator" || spans[0].Resource["service.version"] != "v1" {
		t.Errorf("sent by %v", spans[0].Resource)
	}
	if said := log.said(); len(said) > 0 {
		t.Errorf("log: %v", said)
	}
}

// R5.5, R5.6: a collector that refuses makes one line of the log, however often and whatever it says.
func TestACollectorThatRefusesDoesNotFloodTheLog(t *testing.T) {
	t.Parallel()
	collector, log := otlptest.New(t), &lines{}
	collector.Answers(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, strings.Repeat("no, no\n", 10_000), http.StatusBadRequest)
	})
	sender := started(t, collector.URL, log)
	for n := range 4 * 512 { // so many are sent at once
		span(t, sender, fmt.Sprint(n))
	}
	sender.Flush(t.Context())
	said := log.said()
	if collector.Requests() < 3 || len(said) != 1 || len(said[0]) > 600 || !strings.Contains(said[0], "Traces not sent") || !strings.Contains(said[0], "warning") {
		t.Errorf("after %d requests: %d lines, %.700q", collector.Requests(), len(said), said)
	}
}

// R6.2: the end of the operator waits for the last spans, but not for a collector that hangs.
func TestTheEndDoesNotWaitForACollectorThatHangs(t *testing.T) {
	t.Parallel()
	collector, log, over := otlptest.New(t), &lines{}, make(chan struct{})
	t.Cleanup(func() { close(over) })
	collector.Answers(func(http.ResponseWriter, *http.Request) { <-over })
	sender := started(t, collector.URL, log)
	span(t, sender, "last")
	sender.WaitFor(200 * time.Millisecond)
	sender.Flush(t.Context()) // or the test never ends
	if said := log.said(); len(said) != 1 || !strings.Contains(said[0], "Last traces not sent") {
		t.Errorf("log: %v", said)
	}
}

// R5.5: traces are off unless somebody names a collector, by the flag or by the environment of OpenTelemetry.
func TestTracesAreOffUnlessACollectorIsNamed(t *testing.T) {
	collector := otlptest.New(t)
	for name, test := range map[string]struct {
		environment map[string]string
		endpoint    string
		want        bool
	}{
		"nobody":                      {nil, "", false},
		"the flag":                    {nil, collector.URL, true},
		"the environment":             {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": collector.URL}, "", true},
		"the environment, for traces": {map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": collector.URL + "/v1/traces"}, "", true},
		"off by the environment":      {map[string]string{"OTEL_SDK_DISABLED": "true"}, collector.URL, false},
		"none by the environment":     {map[string]string{"OTEL_TRACES_EXPORTER": "none"}, collector.URL, false},
		"sampled never":               {map[string]string{"OTEL_TRACES_SAMPLER": "traceidratio", "OTEL_TRACES_SAMPLER_ARG": "0"}, collector.URL, false},
	} {
		t.Run(name, func(t *testing.T) {
			for key, value := range test.environment {
				t.Setenv(key, value)
			}
			t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "api-key=what%20I%20am%20known%20by")
			before := len(collector.Spans())
			sender, err := otlp.Start(t.Context(), otlp.Config{Endpoint: test.endpoint, Mask: mask, Log: logr.Discard()})
			if err != nil {
				t.Fatal(err)
			}
			if sender != nil {
				span(t, sender, "one")
			}
			sender.Flush(t.Context())
			if sent := len(collector.Spans()) > before; sent != test.want {
				t.Errorf("sent: %t, want %t", sent, test.want)
			}
			if headers := collector.Headers(); test.want && headers[len(headers)-1].Get("Api-Key") != "what I am known by" {
				t.Errorf("headers %v", headers[len(headers)-1])
			}
			if secrets := otlp.Secrets(); !slices.Contains(secrets, "what I am known by") {
				t.Errorf("secrets %q", secrets)
			}
		})
	}
}

// R5.5: what cannot be used is told at the start, with what to do, and without a password that is in it.
func TestWhatCannotBeUsedIsTold(t *testing.T) {
	for want, test := range map[string]struct{ name, value, endpoint string }{
		"--otlp-endpoint must be a full http:// or https:// URL":           {"", "", "collector:4318"},
		"--otlp-endpoint must have no user, query or fragment":             {"", "", "http://me:hunter2@collector"},
		"OTEL_EXPORTER_OTLP_ENDPOINT must be a full http:// or https://":   {"OTEL_EXPORTER_OTLP_ENDPOINT", "://hunter2", ""},
		"OTEL_EXPORTER_OTLP_PROTOCOL must be http/protobuf":                {"OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", "http://collector"},
		"OTEL_TRACES_SAMPLER must be one of always_on, always_off":         {"OTEL_TRACES_SAMPLER", "sometimes", "http://collector"},
		"OTEL_RESOURCE_ATTRIBUTES cannot be read: it must look like deplo": {"OTEL_RESOURCE_ATTRIBUTES", "what", "http://collector"},
	} {
		t.Run(want, func(t *testing.T) {
			if test.name != "" {
				t.Setenv(test.name, test.value)
			}
			_, err := otlp.Start(t.Context(), otlp.Config{Endpoint: test.endpoint, Mask: mask, Log: logr.Discard()})
			if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("error %v, want %q", err, want)
			}
		})
	}
	t.Run("the share of attempts", func(t *testing.T) {
		t.Setenv("OTEL_TRACES_SAMPLER", "parentbased_traceidratio")
		for _, value := range []string{"2", "-1", "half", "NaN"} {
			t.Setenv("OTEL_TRACES_SAMPLER_ARG", value)
			_, err := otlp.Start(t.Context(), otlp.Config{Endpoint: "http://collector", Mask: mask, Log: logr.Discard()})
			if err == nil || !strings.HasPrefix(err.Error(), "OTEL_TRACES_SAMPLER_ARG must be the share") {
				t.Errorf("%s: error %v", value, err)
			}
		}
	})
}
