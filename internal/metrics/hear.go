// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"strconv"
	"time"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/eventstream"
	"github.com/feed-operator/feed-operator/internal/telemetry"
)

// Hear counts what the stream reports of an item. SourceOf, which is asked for one line of several, returns the item's source as the cache knows it; nil
// where it does not.
func (m *Metrics) Hear(item *v1alpha1.FeedItem, sourceOf func() *v1alpha1.FeedSource, entry eventstream.Entry) {
	switch entry.Type {
	case telemetry.TypeItemCreated:
		m.itemsCreated.Inc()
	case telemetry.TypeItemEnded:
		m.itemEnded(item, sourceOf, entry)
	case telemetry.TypeStageEnded:
		m.stageEnded(item, entry)
	case telemetry.TypeCallFailed:
		if stageOf(entry) == v1alpha1.StageDeliver {
			m.deliveryFailed(entry)
		}
	}
}

func stageOf(entry eventstream.Entry) v1alpha1.Stage {
	stage, _ := entry.Fields["stage"].(string)
	return v1alpha1.Stage(stage)
}

func (m *Metrics) itemEnded(item *v1alpha1.FeedItem, sourceOf func() *v1alpha1.FeedSource, entry eventstream.Entry) {
	result := endSummarized
	switch {
	case item.Status.Phase == v1alpha1.PhaseFailed:
		result = endFailed
	case item.Status.Summary == nil:
		result = endSkipped
	}
	m.itemsEnded.WithLabelValues(result, strconv.FormatBool(wasRetried(item))).Inc()
	m.itemRetries.Observe(float64(item.Status.RetryCount))
	if result != endSummarized {
		return
	}
	if published, source := item.Published().Time, sourceOf(); source != nil && !published.Before(source.CreationTimestamp.Time) {
		m.endToEnd.WithLabelValues(intervalOf(source)).Observe(max(entry.Time.Sub(published), 0).Seconds())
	}
}

// wasRetried reports whether an attempt at an item had failed before it ended, at its summary or at a delivery.
func wasRetried(item *v1alpha1.FeedItem) bool {
	if item.Status.RetryCount > 0 {
		return true
	}
	for i := range item.Status.Deliveries {
		if item.Status.Deliveries[i].FailedAttempts > 0 {
			return true
		}
	}
	return false
}

func (m *Metrics) stageEnded(item *v1alpha1.FeedItem, entry eventstream.Entry) {
	stage := stageOf(entry)
	m.stages.WithLabelValues(string(stage), string(entry.Status)).Inc()
	if took, measured := entry.Fields["durationMs"].(int64); measured {
		m.stageSeconds.WithLabelValues(string(stage)).Observe((time.Duration(took) * time.Millisecond).Seconds())
	}
	retry, _ := entry.Fields["retry"].(eventstream.Retry)
	if next, err := time.Parse(time.RFC3339, retry.NextTime); err == nil {
		m.retryDelay.WithLabelValues(string(stage)).Observe(max(next.Sub(entry.Time), 0).Seconds())
	}
	if _, fell := entry.Fields["fallbackFrom"]; fell && stage == v1alpha1.StageSummarize {
		m.fallbacks.Inc()
	}
	if stage == v1alpha1.StageDeliver {
		m.delivered(item, entry, retry)
	}
}

func (m *Metrics) delivered(item *v1alpha1.FeedItem, entry eventstream.Entry, retry eventstream.Retry) {
	result := deliverySent
	_, found := entry.Fields["found"]
	switch {
	case entry.Status == v1alpha1.EventStatus(v1alpha1.HistoryRetrying):
		result = deliverySpooled
	case entry.Status == v1alpha1.EventStatus(v1alpha1.HistoryFailed):
		result = deliveryDead
	case found:
		result = deliveryFound
	case isDuplicate(item, entry):
		result = deliveryDuplicate
	case retry.Count > 0:
		result = deliveryResent
	}
	m.deliveries.WithLabelValues(result).Inc()
	if result == deliverySpooled || result == deliveryDead {
		m.deliveryFailed(entry)
	}
}

func (m *Metrics) deliveryFailed(entry eventstream.Entry) {
	if failed, known := entry.Fields["error"].(eventstream.Error); known {
		m.deliveryFailures.WithLabelValues(string(failed.Category)).Inc()
	}
}

// isDuplicate reports whether the receiver had what was delivered already.
func isDuplicate(item *v1alpha1.FeedItem, entry eventstream.Entry) bool {
	for i := range item.Status.Deliveries {
		if row := &item.Status.Deliveries[i]; row.Destination == entry.Fields["object"] {
			return row.Duplicate
		}
	}
	return false
}

// ProviderCalled counts a call of a provider that has ended.
func (m *Metrics) ProviderCalled(provider string, stage v1alpha1.Stage, took time.Duration, tokens int64) {
	m.providerCalls.WithLabelValues(provider, string(stage)).Inc()
	m.providerSeconds.WithLabelValues(provider).Observe(max(took, 0).Seconds())
	m.providerTokens.WithLabelValues(provider).Add(float64(max(tokens, 0)))
}

// ProviderFailed counts that a call of a provider has failed, beside the call itself.
func (m *Metrics) ProviderFailed(provider string, category v1alpha1.Category) {
	m.providerErrors.WithLabelValues(provider, string(category)).Inc()
}

// FeedRead counts a poll that has read a feed with so many entries.
func (m *Metrics) FeedRead(entries int) {
	m.polls.WithLabelValues(pollChanged).Inc()
	m.entriesFetched.Add(float64(entries))
}

// FeedUnchanged counts a poll of a feed that is as it was.
func (m *Metrics) FeedUnchanged() { m.polls.WithLabelValues(pollUnchanged).Inc() }

// PollFailed counts a poll that has failed.
func (m *Metrics) PollFailed(category v1alpha1.Category) {
	m.polls.WithLabelValues(pollFailed).Inc()
	m.pollFailures.WithLabelValues(string(category)).Inc()
}
