// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/geminitest"
	"github.com/feed-operator/feed-operator/internal/mastodontest"
	"github.com/feed-operator/feed-operator/internal/otlp"
	"github.com/feed-operator/feed-operator/internal/otlptest"
	"github.com/feed-operator/feed-operator/internal/tracing"
	"github.com/feed-operator/feed-operator/internal/webhooktest"
)

// traced has a world send traces to a collector, without a mask: what must not be in them is not to be put there.
func traced(t *testing.T, collector *otlptest.Collector) (change func(*world), sender *otlp.Sender) {
	t.Helper()
	log := zap.New(zap.WriteTo(t.Output()))
	sender, err := otlp.Start(t.Context(), otlp.Config{
		Endpoint: collector.URL, Version: "test", PodNamespace: "feeds", PodName: "pod-1", Mask: func(text string) string { return text }, Log: log,
		ShareBy: tracing.KeyNamespace,
	})
	if err != nil {
		t.Fatal(err)
	}
	return func(w *world) { w.tracer = tracing.New(sender.Provider()) }, sender
}

// tree is what the spans of a trace say, each below the one that it belongs to.
func tree(spans []otlptest.Span, trace string, attributes ...string) []string {
	var lines []string
	var below func(parent, indent string)
	below = func(parent, indent string) {
		for _, span := range spans {
			if span.Trace != trace || span.Parent != parent {
				continue
			}
			line := indent + span.Name + " (" + strings.ToLower(strings.TrimPrefix(span.Kind, "SPAN_KIND_")) + ")"
			for _, key := range append(attributes, "error.type") {
				if value, set := span.Attributes[key]; set {
					line += " " + value
				}
			}
			lines = append(lines, line)
			below(span.ID, indent+"  ")
		}
	}
	below("", "")
	return lines
}

// tracesOf are the traces that there are, in order.
func tracesOf(spans []otlptest.Span) (ids []string) {
	for _, span := range spans {
		if !slices.Contains(ids, span.Trace) {
			ids = append(ids, span.Trace)
		}
	}
	return ids
}

// R5.5, R5.6: each attempt at an item is a trace, with its page, each call of a provider and of a destination, and their requests. The next one is
// linked to it. What is in them has names, hosts, numbers and words of the conventions, and no text, key, path or query.
func TestAttemptsAreTraced(t *testing.T) {
	t.Parallel()
	collector, log := otlptest.New(t), &logged{}
	withTraces, sender := traced(t, collector)
	w := newWorld(t, withTraces, func(w *world) { w.log = zap.New(zap.WriteTo(log)) })
	first, second := w.gemini("first"), w.gemini("second")
	w.untilProvider("first", isReady)
	w.untilProvider("second", isReady)
	social := w.mastodon()
	w.openDestination("social", social.URL)
	first.Next(geminitest.Internal(), geminitest.Internal())
	second.Next(geminitest.Internal())
	posts := 0
	social.OnPost(func(p *mastodontest.Pending) bool {
		if posts++; posts > 1 {
			return false
		}
		p.Answer(http.StatusTooManyRequests, "application/json", `{"error":"slow down, whoever you are"}`)
		return true
	})
	web := feedtest.New(t)
	web.List(web.Entries("news", 1)...)
	w.source("news", web.FeedURL(), summarizedBy("first", "second"), postsTo("social"), func(s *v1alpha1.FeedSource) {
		s.Spec.Article = &v1alpha1.ArticlePolicy{Source: v1alpha1.ArticleSourcePage}
	})
	item := w.untilEnded("news", 1)[0]
	w.stop()
	sender.Flush(t.Context())

	spans := collector.Spans()
	traces := tracesOf(spans)
	if len(traces) != 3 {
		t.Fatalf("%d traces: %+v", len(traces), spans)
	}
	for i, want := range [][]string{
		{
			"attempt (internal) API",
			"  article (internal) 127.0.0.1",
			"    GET (client) 127.0.0.1 200",
			"  generate_content gemini-2.5-flash (client) first API",
			"    POST (client) 127.0.0.1 500 500",
			"  generate_content gemini-2.5-flash (client) second API",
			"    POST (client) 127.0.0.1 500 500",
		},
		{
			"attempt (internal)",
			"  article (internal) 127.0.0.1",
			"    GET (client) 127.0.0.1 200",
			"  generate_content gemini-2.5-flash (client) first API",
			"    POST (client) 127.0.0.1 500 500",
			"  generate_content gemini-2.5-flash (client) second",
			"    POST (client) 127.0.0.1 200",
			"  deliver (internal) social RateLimit",
			"    POST (client) 127.0.0.1 429 429",
		},
		{
			"attempt (internal)",
			"  deliver (internal) social",
			"    POST (client) 127.0.0.1 200",
		},
	} {
		got := tree(spans, traces[i], "feed_operator.provider.name", "feed_operator.destination.name", "server.address", "http.response.status_code")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("trace %d (-want +got):\n%s", i+1, diff)
		}
	}
	for _, span := range spans {
		switch {
		case span.Parent == "":
			for key, want := range map[string]string{
				"feed_operator.namespace": w.namespace, "feed_operator.item.name": item.Name, "feed_operator.item.uid": string(item.UID),
				"feed_operator.source.name": "news",
			} {
				if span.Attributes[key] != want {
					t.Errorf("%s of an attempt is %q, want %q", key, span.Attributes[key], want)
				}
			}
			if at := slices.Index(traces, span.Trace); at > 0 && !slices.Equal(span.Links, traces[at-1:at]) {
				t.Errorf("trace %d is linked to %v, want that before it", at+1, span.Links)
			}
		case span.Name == "GET" && span.Attributes["url.full"] != web.URL+"/REDACTED":
			t.Errorf("the URL of the page is %q", span.Attributes["url.full"])
		case strings.HasPrefix(span.Name, "generate_content"):
			if span.Attributes["gen_ai.provider.name"] != "gcp.gemini" || span.Attributes["gen_ai.operation.name"] != "generate_content" ||
				span.Attributes["gen_ai.request.model"] != "gemini-2.5-flash" || span.Attributes["feed_operator.stage"] != "summarize" {
				t.Errorf("a call of a model: %v", span.Attributes)
			}
		}
		if span.Events > 0 || span.StatusText != "" || span.Resource["service.name"] != "feed-operator" || span.Resource["k8s.pod.name"] != "pod-1" {
			t.Errorf("span %+v", span)
		}
	}
	nowhere(t, collector.Raw(), apiKey, accessToken, item.Spec.Title, item.Status.Summary.Text, item.Spec.URL, "whoever you are", "internal error")

	var told []string
	for text := range strings.Lines(log.text()) {
		var line struct {
			Type    string
			TraceID string `json:"trace_id"`
		}
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatal(err)
		}
		if line.TraceID != "" && !slices.Contains(told, line.TraceID) {
			told = append(told, line.TraceID)
		}
		if of := line.Type == "stage.ended" || line.Type == "stage.started" || line.Type == "call.failed"; of != (line.TraceID != "") {
			t.Errorf("a line of the type %q has the trace %q", line.Type, line.TraceID)
		}
	}
	if diff := cmp.Diff(traces, told); diff != "" {
		t.Errorf("traces in the log (-sent +log):\n%s", diff)
	}
}

// nowhere checks that some texts are not part of another one, and not a part of theirs that would tell them.
func nowhere(t *testing.T, in string, texts ...string) {
	t.Helper()
	if in == "" {
		t.Error("nothing was sent")
	}
	for _, text := range texts {
		for _, part := range []string{text, text[:min(len(text), 24)], text[max(0, len(text)-24):]} {
			if part == "" || strings.Contains(in, part) {
				t.Errorf("%q is in what was sent", part)
			}
		}
	}
}

// R5.6, R4.3: a request with several items is a trace that is linked to those of its items. The URL of a webhook that is a secret is not in it, by
// no part.
func TestABatchIsTracedAndItsAddressIsNot(t *testing.T) {
	t.Parallel()
	collector := otlptest.New(t)
	withTraces, sender := traced(t, collector)
	server := webhooktest.New(webhooktest.Options{})
	t.Cleanup(server.Close)
	w := newWorld(t, withTraces)
	secret := strings.Replace(server.URL, "127.0.0.1", "localhost", 1) + "/services/T0RECOGNISABLE/pathSecret0123456789?sign=querySecret0123456789"
	w.secretOf("hook", map[string]string{"url": secret})
	w.webhookTo("hook", "", withSecret("hook"), func(described *v1alpha1.FeedDestination) {
		described.Spec.Webhook.URLFrom = &v1alpha1.WebhookURLFrom{}
		inBatches(3, 30*time.Second)(described)
	})
	web := feedtest.New(t)
	web.List(web.Entries("news", 3)...)
	w.source("news", web.FeedURL(), postsTo("hook"))
	items := w.untilEnded("news", 3)
	w.stop()
	sender.Flush(t.Context())

	spans := collector.Spans()
	var attempts, links []string
	for _, span := range spans {
		switch {
		case span.Name == "attempt":
			attempts = append(attempts, span.Trace)
		case span.Name == "batch":
			links = append(links, span.Links...)
			got := tree(spans, span.Trace, "feed_operator.batch.items", "feed_operator.destination.name", "url.full", "http.response.status_code")
			if diff := cmp.Diff([]string{
				"batch (internal) 3 hook", "  deliver (internal) hook", "    POST (client) http://REDACTED 200",
			}, got); diff != "" {
				t.Errorf("the trace of a batch (-want +got):\n%s", diff)
			}
		}
	}
	slices.Sort(attempts)
	slices.Sort(links)
	if len(attempts) != len(items) || !slices.Equal(attempts, links) {
		t.Errorf("the batch is linked to %v, want %v", links, attempts)
	}
	nowhere(t, collector.Raw(), "T0RECOGNISABLE", "pathSecret0123456789", "querySecret0123456789", "localhost", items[0].Status.Summary.Text)
}

// R3.13: a collector that hangs holds up no item.
func TestACollectorThatHangsHoldsUpNothing(t *testing.T) {
	t.Parallel()
	collector, over := otlptest.New(t), make(chan struct{})
	collector.Answers(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-over:
		case <-r.Context().Done():
		}
	})
	withTraces, sender := traced(t, collector)
	w := newWorld(t, withTraces)
	web := feedtest.New(t)
	web.List(web.Entries("news", 5)...)
	w.source("news", web.FeedURL())
	w.untilItems("news", allProcessed(5))
	close(over)
	sender.Flush(t.Context())
}
