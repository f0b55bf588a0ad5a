// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tracing_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"k8s.io/apimachinery/pkg/types"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/tracing"
)

func anItem(name string) *v1alpha1.FeedItem {
	item := &v1alpha1.FeedItem{}
	item.Namespace, item.Name, item.UID = "news", name, types.UID(name+"-uid")
	item.Spec.SourceRef.Name = "press"
	return item
}

// recorded is what one span says that a test has made within an attempt.
func recorded(t *testing.T, do func(ctx context.Context)) map[string]string {
	t.Helper()
	exporter := tracetest.NewInMemoryExporter()
	tracer := tracing.New(sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter)))
	ctx, attempt := tracer.Attempt(t.Context(), anItem("one"))
	do(ctx)
	attempt.End()
	spans := exporter.GetSpans()
	if len(spans) != 2 {
		t.Fatalf("%d spans, want that of the attempt and one more", len(spans))
	}
	said := map[string]string{"": spans[0].Name}
	for _, attribute := range spans[0].Attributes {
		said[string(attribute.Key)] = attribute.Value.String()
	}
	if spans[0].Status.Description != "" || len(spans[0].Events) > 0 {
		t.Errorf("it has words: %q, %v", spans[0].Status.Description, spans[0].Events)
	}
	return said
}

// R5.6: of an address that is called there is the scheme, the host and the port; of one that is a secret, the scheme.
func TestAddressesAreToldWithoutWhatMayBeSecret(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		address string
		secret  bool
		want    map[string]string
	}{
		"user, path and query": {"https://me:pw@example.org/private/TOKEN/feed?key=KEY#part", false, map[string]string{
			"url.full": "https://example.org/REDACTED", "server.address": "example.org", "server.port": "443",
		}},
		"a query alone": {"http://example.org?key=KEY", false, map[string]string{
			"url.full": "http://example.org/REDACTED", "server.address": "example.org", "server.port": "80",
		}},
		"a port": {"http://[2001:db8::1]:8080/", false, map[string]string{
			"url.full": "http://[2001:db8::1]:8080", "server.address": "2001:db8::1", "server.port": "8080",
		}},
		"a secret": {"https://TOKEN.example.org/TOKEN", true, map[string]string{"url.full": "https://REDACTED"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address, err := url.Parse(test.address)
			if err != nil {
				t.Fatal(err)
			}
			got := recorded(t, func(ctx context.Context) { tracing.Request(ctx, "POST", address, test.secret).Answered(204, nil) })
			test.want[""], test.want["http.request.method"], test.want["http.response.status_code"] = "POST", "POST", "204"
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("span (-want +got):\n%s", diff)
			}
		})
	}
}

// R5.6: what an error says is not told, only what it is.
func TestErrorsAreToldByTheirKind(t *testing.T) {
	t.Parallel()
	words := failure.New(v1alpha1.CategoryAuth, failure.TypeCredentials, "The article says: SECRET")
	for name, test := range map[string]struct {
		do   func(ctx context.Context)
		want string
	}{
		"a call": {func(ctx context.Context) {
			_, span := tracing.Delivery(ctx, "social")
			span.Fail(words)
			span.End()
		}, "Auth"},
		"a call that was cut off": {func(ctx context.Context) {
			_, span := tracing.Delivery(ctx, "social")
			span.Fail(fmt.Errorf("post SECRET: %w", context.Canceled))
			span.End()
		}, "Cancelled"},
		"an error of anybody": {func(ctx context.Context) {
			_, span := tracing.Article(ctx, "example.org")
			span.Fail(errors.New("SECRET"))
			span.End()
		}, "Unknown"},
		"a request":        {func(ctx context.Context) { tracing.Request(ctx, "", &url.URL{}, true).Unanswered(words) }, "Credentials"},
		"an answer":        {func(ctx context.Context) { tracing.Request(ctx, "", &url.URL{}, true).Answered(503, words) }, "503"},
		"a broken success": {func(ctx context.Context) { tracing.Request(ctx, "", &url.URL{}, true).Answered(200, words) }, "Credentials"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := recorded(t, test.do)
			if got["error.type"] != test.want || strings.Contains(fmt.Sprint(got), "SECRET") {
				t.Errorf("span %v, want the type %s", got, test.want)
			}
		})
	}
}

// R5.5: the calls of models have the names of the conventions, and the built-in summarizer is no model.
func TestCallsOfModelsAreNamedByTheConventions(t *testing.T) {
	t.Parallel()
	for want, spec := range map[string]v1alpha1.AIProviderSpec{
		"generate_content g-1 gcp.gemini": {Gemini: &v1alpha1.GeminiProvider{Model: "g-1"}},
		"chat o-1 openai":                 {OpenAI: &v1alpha1.OpenAIProvider{Model: "o-1"}},
		"chat a-1 anthropic":              {Anthropic: &v1alpha1.AnthropicProvider{Model: "a-1"}},
		"summarize":                       {Extractive: &v1alpha1.ExtractiveProvider{}},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			got := recorded(t, func(ctx context.Context) {
				model := tracing.ModelOf(&v1alpha1.AIProvider{Spec: spec})
				_, span := tracing.ProviderCall(ctx, v1alpha1.StageScreen, "writer", model)
				span.Generated(model, "m-2", 12)
				span.End()
			})
			if name := strings.TrimSpace(got[""] + " " + got["gen_ai.provider.name"]); name != want {
				t.Errorf("it is %q, want %q", name, want)
			}
			answered, told := got["gen_ai.response.model"]
			if told != (spec.Extractive == nil) || told && answered != "m-2" || got["feed_operator.tokens"] != "12" ||
				got["feed_operator.provider.name"] != "writer" || got["feed_operator.stage"] != "screen" {
				t.Errorf("span %v", got)
			}
		})
	}
}

// R1.10: of how many items the last trace is known is bounded.
func TestOnlySoManyTracesAreRemembered(t *testing.T) {
	t.Parallel()
	exporter := tracetest.NewInMemoryExporter()
	tracer := tracing.New(sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter)))
	linksOf := func(name string) int {
		_, span := tracer.Attempt(t.Context(), anItem(name))
		span.End()
		spans := exporter.GetSpans()
		exporter.Reset()
		return len(spans[len(spans)-1].Links)
	}
	linksOf("first")
	if n := linksOf("first"); n != 1 {
		t.Errorf("the second attempt has %d links", n)
	}
	for n := range 5000 {
		linksOf(fmt.Sprint(n))
	}
	if n := linksOf("first"); n != 0 {
		t.Errorf("after 5,000 others it has %d links", n)
	}
}

// R5.5: without traces, and in one that is not recorded, nothing is made and nothing allocated. Not parallel: it counts allocations.
func TestNoTracesCostNothing(t *testing.T) {
	item, address := anItem("one"), &url.URL{Scheme: "https", Host: "example.org"}
	model := tracing.ModelOf(&v1alpha1.AIProvider{Spec: v1alpha1.AIProviderSpec{OpenAI: &v1alpha1.OpenAIProvider{Model: "o-1"}}})
	work := func(ctx context.Context) {
		_, call := tracing.ProviderCall(ctx, v1alpha1.StageSummarize, "writer", model)
		call.Generated(model, "m", 1)
		call.Fail(context.Canceled)
		call.End()
		tracing.Request(ctx, "GET", address, false).Answered(200, nil)
		if tracing.ID(ctx) != "" {
			t.Error("it has the id of a trace")
		}
	}
	var off *tracing.Tracer
	if n := testing.AllocsPerRun(100, func() {
		ctx, span := off.Attempt(t.Context(), item)
		work(span.In(ctx))
		span.End()
	}); n != 0 {
		t.Errorf("without traces it allocates %v times", n)
	}
	unsampled := tracing.New(sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.NeverSample())))
	ctx, _ := unsampled.Attempt(t.Context(), item)
	if n := testing.AllocsPerRun(100, func() { work(ctx) }); n != 0 {
		t.Errorf("in a trace that is not recorded it allocates %v times", n)
	}
}
