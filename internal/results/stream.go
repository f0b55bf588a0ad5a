// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package results

import (
	"time"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/backoff"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
	"github.com/feed-operator/feed-operator/internal/telemetry"
)

// streamAttempt reports what an attempt at a summary came to, once that is written, and which posts wait
// for their turn then. History is that of the item before.
func (r *Results) streamAttempt(history []v1alpha1.HistoryEntry, before, after *v1alpha1.FeedItem, source *v1alpha1.FeedSource,
	outcome lifecycle.Outcome, now time.Time, trace string,
) {
	attempt := telemetry.Attempt{Began: outcome.Began, Trace: trace, MaxRetries: backoff.Of(source).MaxRetries}
	for _, failed := range outcome.ProviderFailures {
		attempt.FailedProviders = append(attempt.FailedProviders, failed.Name)
	}
	r.StreamEntries(history, after, attempt, now)
	for i := range after.Status.Deliveries {
		row := &after.Status.Deliveries[i]
		if row.State == v1alpha1.DeliveryQueued && lifecycle.RowOf(before, row.Destination) == nil {
			r.Stream.DeliveryQueued(after, row.Destination, now)
		}
	}
}

// StreamEntries tells the stream what has been added to the history of an item.
func (r *Results) StreamEntries(history []v1alpha1.HistoryEntry, item *v1alpha1.FeedItem, attempt telemetry.Attempt, now time.Time) {
	for _, entry := range lifecycle.Added(history, item.Status.History) {
		r.Stream.StageEnded(item, entry, attempt, now)
	}
}
