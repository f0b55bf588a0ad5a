// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
)

// The gauges of how many there are now.
var (
	items = prometheus.NewDesc("feed_operator_items",
		"FeedItems, by phase.", []string{"phase"}, nil)
	itemsDue = prometheus.NewDesc("feed_operator_items_due",
		"FeedItems that are neither processed nor failed, and wait neither for a time (of a retry, or between two posts) nor for what is suspended.", nil, nil)
	deadLetters = prometheus.NewDesc("feed_operator_dead_letters",
		"FeedItems that have failed for good and wait for a person, by reason.", []string{"reason"}, nil)
	oldestWaiting = prometheus.NewDesc("feed_operator_oldest_waiting_item_age_seconds",
		"Age of the oldest FeedItem that is neither processed nor failed, in seconds since it was created; 0 where there is none.", nil, nil)
	sources = prometheus.NewDesc("feed_operator_sources",
		"FeedSources, by state: Ready, NotReady (the last poll failed), Stale (not read for three intervals and an hour) or Suspended.", []string{"state"}, nil)
	withoutProvider = prometheus.NewDesc("feed_operator_sources_without_provider",
		"FeedSources that name AIProviders, to judge or to write, of which none is ready now. Their items wait.", nil, nil)
	serviceStates = prometheus.NewDesc("feed_operator_services",
		"AIProviders and FeedDestinations, by kind and by availability.", []string{"kind", "state"}, nil)
	failuresInARow = prometheus.NewDesc("feed_operator_service_failures_in_a_row",
		"The most failures in a row that one of the AIProviders or FeedDestinations has now, by kind. Those that are suspended do not count.", []string{"kind"}, nil)
	serverHeld = prometheus.NewDesc("feed_operator_writes_held",
		"1 while the API server refuses all updates of FeedItems, which holds their work; else 0.", nil, nil)
	namespacesHeld = prometheus.NewDesc("feed_operator_writes_held_namespaces",
		"Namespaces in which the API server refuses updates of FeedItems, which holds their work.", nil, nil)
	resultsKept = prometheus.NewDesc("feed_operator_results_kept",
		"FeedItems whose results are kept in memory until the API server accepts them.", nil, nil)
	bytesKept = prometheus.NewDesc("feed_operator_results_kept_bytes",
		"Approximate memory of the results that are kept until the API server accepts them, in bytes.", nil, nil)
	shardHeld = prometheus.NewDesc("feed_operator_shard_held",
		"1 for a shard that this replica works on, else 0. Missing while replicas that were started with another number of shards hold theirs.",
		[]string{"shard", "shards"}, nil)
)

// Metrics counts what happens. The zero value is not usable; New makes one.
type Metrics struct {
	polls          *prometheus.CounterVec
	pollFailures   *prometheus.CounterVec
	entriesFetched prometheus.Counter
	itemsCreated   prometheus.Counter

	stages       *prometheus.CounterVec
	stageSeconds *prometheus.HistogramVec
	retryDelay   *prometheus.HistogramVec
	itemsEnded   *prometheus.CounterVec
	itemRetries  prometheus.Histogram
	endToEnd     *prometheus.HistogramVec

	providerCalls   *prometheus.CounterVec
	providerErrors  *prometheus.CounterVec
	providerTokens  *prometheus.CounterVec
	providerSeconds *prometheus.HistogramVec
	fallbacks       prometheus.Counter

	deliveries       *prometheus.CounterVec
	deliveryFailures *prometheus.CounterVec

	apiWrites      *prometheus.CounterVec
	apiWatchErrors *prometheus.CounterVec
}

// The labels that have the same values everywhere.
const (
	labelStage    = "stage"
	labelResult   = "result"
	labelCategory = "category"
	labelProvider = "provider"
	labelResource = "resource"
)

// New makes the counters, each with all of its values at 0: what has never happened is not missing, and the first time shows in a rate.
func New() *Metrics {
	m := &Metrics{
		polls: counters("polls_total",
			"Polls of feeds that have ended, by result: changed, unchanged or failed.", labelResult),
		pollFailures: counters("poll_failures_total",
			"Polls of feeds that have failed, by category.", labelCategory),
		entriesFetched: counter("entries_fetched_total",
			"Entries in the feeds that were read, those known already included."),
		itemsCreated: counter("items_created_total",
			"FeedItems created, one for each new entry."),

		stages: counters("stages_total",
			"Attempts at a stage of a FeedItem that have ended, by stage and result: success, retrying or failed (for good).", labelStage, labelResult),
		stageSeconds: histograms("stage_duration_seconds",
			"How long attempts at a stage of a FeedItem took, by stage.", prometheus.ExponentialBuckets(0.05, 2, 14), labelStage),
		retryDelay: histograms("retry_delay_seconds",
			"How long a failed attempt waits until the next one, by stage.", prometheus.ExponentialBuckets(1, 3, 12), labelStage),
		itemsEnded: counters("items_ended_total",
			"FeedItems that have ended, by result (summarized, skipped or failed) and whether an attempt had failed before.", labelResult, "retried"),
		itemRetries: histogram("item_retries",
			"Retries that a FeedItem had used when it ended.", []float64{0, 1, 2, 3, 4, 5, 7, 10, 15, 20}),
		endToEnd: histograms("item_end_to_end_seconds",
			"From the publication of an entry to the end of its FeedItem, by how often the source is polled (15m, 1h, 6h: up to that; longer). "+
				"Entries from before their source was created, and what was skipped, are left out.",
			[]float64{60, 300, 900, 1800, 3600, 7200, 14_400, 28_800, 57_600, 86_400, 172_800, 604_800}, "interval"),

		providerCalls: counters("provider_calls_total",
			"Calls of AI providers, by their type and what they were for: screen or summarize.", labelProvider, labelStage),
		providerErrors: counters("provider_errors_total",
			"Calls of AI providers that have failed, by their type and category.", labelProvider, labelCategory),
		providerTokens: counters("provider_tokens_total",
			"Tokens that AI providers have counted, in and out together, by their type.", labelProvider),
		providerSeconds: histograms("provider_call_duration_seconds",
			"How long calls of AI providers took, by their type.", prometheus.ExponentialBuckets(0.05, 2, 14), labelProvider),
		fallbacks: counter("provider_fallbacks_total",
			"Summaries that were written by another provider than the first, because those before it had failed."),

		deliveries: counters("deliveries_total",
			"Results of attempts at deliveries: sent, resent (after a failure), found (an earlier attempt had published it), duplicate (the receiver had it already), "+
				"spooled (failed, to be resent) or dead (failed for good).", labelResult),
		deliveryFailures: counters("delivery_failures_total",
			"Attempts at deliveries that have failed, by category.", labelCategory),

		apiWrites: counters("api_writes_total",
			"Requests by which the operator writes to the API server, by resource, verb (create, update, patch or delete) and result: "+
				"the class of the HTTP status (2xx, 4xx, 5xx), or error without one.", labelResource, "verb", labelResult),
		apiWatchErrors: counters("api_list_watch_errors_total",
			"Lists and watches that the API server has refused (but for 410) or not answered, by resource. While they fail, gauges are what was known last.",
			labelResource),
	}
	m.fill()
	return m
}

// histogramGrowth is by what factor a bucket of a native histogram is wider than the one before.
const histogramGrowth = 1.1

func options(name, help string) prometheus.Opts {
	return prometheus.Opts{Namespace: "feed_operator", Name: name, Help: help}
}

func counter(name, help string) prometheus.Counter {
	return prometheus.NewCounter(prometheus.CounterOpts(options(name, help)))
}

func counters(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts(options(name, help)), labels)
}

func histogram(name, help string, buckets []float64) prometheus.Histogram {
	return prometheus.NewHistogram(histogramOptions(name, help, buckets))
}

func histograms(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(histogramOptions(name, help, buckets), labels)
}

// histogramOptions are for a histogram that is native where the scraper takes that, and has buckets for the others.
func histogramOptions(name, help string, buckets []float64) prometheus.HistogramOpts {
	return prometheus.HistogramOpts{
		Namespace: "feed_operator", Name: name, Help: help, Buckets: buckets,
		NativeHistogramBucketFactor: histogramGrowth, NativeHistogramMaxBucketNumber: 100, NativeHistogramMinResetDuration: time.Hour,
	}
}

// all are the metrics that are fed by what happens.
func (m *Metrics) all() []prometheus.Collector {
	return []prometheus.Collector{
		m.polls, m.pollFailures, m.entriesFetched, m.itemsCreated, m.stages, m.stageSeconds, m.retryDelay, m.itemsEnded, m.itemRetries, m.endToEnd,
		m.providerCalls, m.providerErrors, m.providerTokens, m.providerSeconds, m.fallbacks, m.deliveries, m.deliveryFailures, m.apiWrites,
		m.apiWatchErrors,
	}
}

// fill makes every value that a label may have.
func (m *Metrics) fill() {
	each(m.polls, []string{pollChanged, pollUnchanged, pollFailed})
	each(m.pollFailures, categories)
	each(m.stages, stages, []string{string(v1alpha1.HistorySuccess), string(v1alpha1.HistoryRetrying), string(v1alpha1.HistoryFailed)})
	each(m.itemsEnded, []string{endSummarized, endSkipped, endFailed}, []string{"false", "true"})
	each(m.providerCalls, ProviderTypes, []string{string(v1alpha1.StageScreen), string(v1alpha1.StageSummarize)})
	each(m.providerErrors, ProviderTypes, categories)
	each(m.providerTokens, ProviderTypes)
	each(m.deliveries, []string{deliverySent, deliveryResent, deliveryFound, deliveryDuplicate, deliverySpooled, deliveryDead})
	each(m.deliveryFailures, categories)
	each(m.apiWatchErrors, resources)
	for _, vector := range []*prometheus.HistogramVec{m.stageSeconds, m.retryDelay} {
		for _, stage := range stages {
			vector.WithLabelValues(stage)
		}
	}
	for _, provider := range ProviderTypes {
		m.providerSeconds.WithLabelValues(provider)
	}
	for _, interval := range intervals {
		m.endToEnd.WithLabelValues(interval.name)
	}
}

// each makes the counters with each combination of values.
func each(vector *prometheus.CounterVec, values ...[]string) {
	combinations := [][]string{{}}
	for _, of := range values {
		var longer [][]string
		for _, begun := range combinations {
			for _, value := range of {
				longer = append(longer, append(append([]string{}, begun...), value))
			}
		}
		combinations = longer
	}
	for _, combination := range combinations {
		vector.WithLabelValues(combination...)
	}
}
