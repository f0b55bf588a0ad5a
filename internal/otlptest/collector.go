// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package otlptest gives tests a collector that takes traces by OTLP over HTTP, and does on cue what collectors do on bad days.
//
// It reads what is sent with the messages that OpenTelemetry publishes for that (go.opentelemetry.io/proto/otlp), as the exporter writes it with. The
// receiver of the collector itself would bring many more modules along, for the same bytes.
package otlptest

import (
	"compress/gzip"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	traces "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Span is one that has arrived.
type Span struct {
	Name, Kind          string
	Trace, ID, Parent   string
	Attributes          map[string]string
	Resource            map[string]string
	Links               []string // the traces that it is linked to
	Failed              bool
	StatusText          string
	Events              int
	StartNano, EndNanos uint64
}

// Collector is a server at a loopback address.
type Collector struct {
	URL string

	mu       sync.Mutex
	answer   http.HandlerFunc
	spans    []Span
	raw      []byte
	requests int
	headers  []http.Header
}

// New starts a collector, which ends with the test.
func New(t *testing.T) *Collector {
	t.Helper()
	c := &Collector{}
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	c.URL = server.URL
	return c
}

// Answers has requests answered by something else, which keeps nothing; nil: they are taken.
func (c *Collector) Answers(by http.HandlerFunc) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answer = by
}

// ServeHTTP implements http.Handler.
func (c *Collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	c.requests++
	c.headers = append(c.headers, r.Header.Clone())
	answer := c.answer
	c.mu.Unlock()
	if answer != nil {
		answer(w, r)
		return
	}
	if err := c.take(r); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
}

func (c *Collector) take(r *http.Request) error {
	if r.Method != http.MethodPost || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/x-protobuf" {
		return fmt.Errorf("%s %s of %s", r.Method, r.URL.Path, r.Header.Get("Content-Type"))
	}
	var body io.Reader = r.Body
	if r.Header.Get("Content-Encoding") == "gzip" {
		unpacked, err := gzip.NewReader(r.Body)
		if err != nil {
			return err
		}
		body = unpacked
	}
	text, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	var request collector.ExportTraceServiceRequest
	if err := proto.Unmarshal(text, &request); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.raw = append(c.raw, text...)
	for _, from := range request.GetResourceSpans() {
		resource := plain(from.GetResource().GetAttributes())
		for _, scope := range from.GetScopeSpans() {
			for _, sent := range scope.GetSpans() {
				c.spans = append(c.spans, spanOf(sent, resource))
			}
		}
	}
	return nil
}

func spanOf(sent *traces.Span, resource map[string]string) Span {
	links := make([]string, 0, len(sent.GetLinks()))
	for _, link := range sent.GetLinks() {
		links = append(links, hex.EncodeToString(link.GetTraceId()))
	}
	return Span{
		Name: sent.GetName(), Kind: sent.GetKind().String(), Trace: hex.EncodeToString(sent.GetTraceId()), ID: hex.EncodeToString(sent.GetSpanId()),
		Parent: hex.EncodeToString(sent.GetParentSpanId()), Attributes: plain(sent.GetAttributes()), Resource: resource, Links: links,
		Failed: sent.GetStatus().GetCode() == traces.Status_STATUS_CODE_ERROR, StatusText: sent.GetStatus().GetMessage(), Events: len(sent.GetEvents()),
		StartNano: sent.GetStartTimeUnixNano(), EndNanos: sent.GetEndTimeUnixNano(),
	}
}

// plain are attributes as texts.
func plain(attributes []*common.KeyValue) map[string]string {
	texts := map[string]string{}
	for _, attribute := range attributes {
		switch value := attribute.GetValue().GetValue().(type) {
		case *common.AnyValue_StringValue:
			texts[attribute.GetKey()] = value.StringValue
		case *common.AnyValue_IntValue:
			texts[attribute.GetKey()] = fmt.Sprint(value.IntValue)
		case *common.AnyValue_BoolValue:
			texts[attribute.GetKey()] = fmt.Sprint(value.BoolValue)
		default:
			texts[attribute.GetKey()] = attribute.GetValue().String()
		}
	}
	return texts
}

// Spans are those that have arrived, by when they began.
func (c *Collector) Spans() []Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	spans := slices.Clone(c.spans)
	slices.SortStableFunc(spans, func(x, y Span) int {
		switch {
		case x.StartNano < y.StartNano:
			return -1
		case x.StartNano > y.StartNano:
			return 1
		}
		return 0
	})
	return spans
}

// Raw is all that has been taken, as it was sent.
func (c *Collector) Raw() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return string(c.raw)
}

// Requests is how many there were, and Headers what they had.
func (c *Collector) Requests() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.requests
}

// Headers are those of all requests.
func (c *Collector) Headers() []http.Header {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.headers)
}
