// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/mastodontest"
	"github.com/feed-operator/feed-operator/internal/provider"
)

// R5.2: a day with failures shows in the metrics: what was polled, made, summarized by a fallback, sent, spooled and resent, and what there is now.
func TestADayShowsInTheMetrics(t *testing.T) {
	t.Parallel()
	// What answers nonsense has taken tokens all the same.
	broken, steady := &script{answer: func(int, provider.Request) (provider.Response, error) {
		return provider.Response{Tokens: 7}, failure.New(v1alpha1.CategoryValidation, "", "It failed on purpose.")
	}}, &script{}
	registry := prometheus.NewRegistry()
	w := scriptedWorld(t, map[string]*script{"broken": broken, "steady": steady}, func(w *world) { w.metrics = registry })
	server := w.mastodon()
	w.openDestination("press", server.URL)
	var refused atomic.Bool
	server.OnPost(func(p *mastodontest.Pending) bool {
		if refused.Swap(true) {
			return false
		}
		p.Header().Set("Retry-After", "60")
		p.Answer(http.StatusTooManyRequests, "application/json", `{"error":"Too many requests"}`)
		return true
	})
	web := feedtest.New(t)
	web.List(web.Entries("news", 1)...)
	w.source("news", web.FeedURL(), summarizedBy("broken", "steady"), postsTo("press"))
	w.untilItem("news", hasFailed("press", 1))
	w.clock.Step(time.Minute)
	w.itemsInTime("news", allProcessed(1))
	await(t, showsInMetrics(registry, map[string]float64{
		`items{phase="Processed"}`:                                       1,
		`items{phase="Pending"}`:                                         0,
		`sources{state="Ready"}`:                                         1,
		`services{kind="AIProvider",state="Ready"}`:                      2,
		`sources_without_provider`:                                       0,
		`oldest_waiting_item_age_seconds`:                                0,
		`items_created_total`:                                            1,
		`entries_fetched_total`:                                          1,
		`polls_total{result="changed"}`:                                  1,
		`provider_fallbacks_total`:                                       1,
		`provider_calls_total{provider="openai",stage="summarize"}`:      2,
		`provider_errors_total{category="Validation",provider="openai"}`: 1,
		`provider_tokens_total{provider="openai"}`:                       107,
		`stages_total{result="success",stage="summarize"}`:               1,
		`stages_total{result="retrying",stage="deliver"}`:                1,
		`deliveries_total{result="spooled"}`:                             1,
		`deliveries_total{result="resent"}`:                              1,
		`deliveries_total{result="sent"}`:                                0,
		`delivery_failures_total{category="RateLimit"}`:                  1,
		`items_ended_total{result="summarized",retried="true"}`:          1,
		`item_retries`:                                      1,
		`retry_delay_seconds{stage="deliver"}`:              1,
		`stage_duration_seconds{stage="summarize"}`:         1,
		`provider_call_duration_seconds{provider="openai"}`: 2,
	}))
}

// showsInMetrics checks the values of some series, without the operator's prefix; of a histogram, how much it has observed.
func showsInMetrics(registry prometheus.Gatherer, want map[string]float64) func() error {
	return func() error {
		families, err := registry.Gather()
		if err != nil {
			return err
		}
		got := map[string]float64{}
		for _, family := range families {
			for _, metric := range family.GetMetric() {
				got[strings.TrimPrefix(family.GetName(), "feed_operator_")+labelsOf(metric)] =
					metric.GetCounter().GetValue() + metric.GetGauge().GetValue() + float64(metric.GetHistogram().GetSampleCount())
			}
		}
		var wrong []error
		for series, value := range want {
			if found, there := got[series]; !there || found != value {
				wrong = append(wrong, fmt.Errorf("%s is %v (%t), want %v", series, found, there, value))
			}
		}
		return errors.Join(wrong...)
	}
}

// labelsOf are the labels of a series as they are written, by name.
func labelsOf(metric *dto.Metric) string {
	labels := make([]string, 0, len(metric.GetLabel()))
	for _, label := range metric.GetLabel() {
		labels = append(labels, fmt.Sprintf("%s=%q", label.GetName(), label.GetValue()))
	}
	if len(labels) == 0 {
		return ""
	}
	slices.Sort(labels)
	return "{" + strings.Join(labels, ",") + "}"
}
