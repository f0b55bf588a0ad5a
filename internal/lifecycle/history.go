// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"math"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
)

// historyLength is how many entries an item keeps of its history.
const historyLength = 10

// Added returns the entries of a history that were added to an earlier one, the newest last.
func Added(before, after []v1alpha1.HistoryEntry) []v1alpha1.HistoryEntry {
	for added := max(len(after)-len(before), 0); added < len(after); added++ {
		kept := after[:len(after)-added]
		if len(kept) <= len(before) && equality.Semantic.DeepEqual(kept, before[len(before)-len(kept):]) {
			return after[len(kept):]
		}
	}
	return after
}

// enter adds an entry to the history of an item, and drops the oldest where there are too many.
func enter(status *v1alpha1.FeedItemStatus, entry v1alpha1.HistoryEntry) {
	drop := max(len(status.History)-(historyLength-1), 0)
	status.History = append(slices.Clone(status.History[drop:]), entry)
}

// enterAttempt enters what an attempt at a summary has come to, which has been written into the rest
// of the status already. Retry says which retry it was.
func enterAttempt(status *v1alpha1.FeedItemStatus, outcome Outcome, retry int32, now time.Time) {
	entry := v1alpha1.HistoryEntry{Time: metav1.NewTime(now), Retry: retry, Duration: durationSince(outcome.Began, now), Status: endOf(status)}
	verdict := outcome.Verdict
	if verdict.Passed() {
		judged := entry
		judged.Stage, judged.Status, judged.Object = v1alpha1.StageScreen, v1alpha1.HistorySuccess, verdict.Provider
		enter(status, judged)
		if outcome.Failure == nil && outcome.Summary == nil {
			return // the summary is another provider's
		}
	}
	switch failed := outcome.Failure; {
	case failed != nil:
		entry.Stage, entry.Object, entry.Category = failed.Stage, failed.Object, failed.Category
		if failed.Stage == v1alpha1.StageScreen && verdict.Passed() { // what failed is the summary after it
			entry.Stage = v1alpha1.StageSummarize
		}
	case outcome.Skipped == v1alpha1.ReasonAlreadyPosted:
		entry.Stage = v1alpha1.StageDeliver
	case outcome.Skipped != v1alpha1.ReasonNone:
		entry.Stage = v1alpha1.StageArticle
	case outcome.Summary != nil:
		entry.Stage, entry.Status, entry.Object = v1alpha1.StageSummarize, v1alpha1.HistorySuccess, outcome.Summary.Provider
	default:
		entry.Stage = v1alpha1.StageScreen
		if verdict != nil {
			entry.Object = verdict.Provider
		}
		if status.Failure != nil { // the page was not complete; one that is not worth a summary is no failure
			entry.Category = status.Failure.Category
		}
	}
	enter(status, entry)
}

// endOf returns how an attempt ended by where it has left the item.
func endOf(status *v1alpha1.FeedItemStatus) v1alpha1.HistoryStatus {
	switch status.Phase {
	case v1alpha1.PhaseFailed:
		return v1alpha1.HistoryFailed
	case v1alpha1.PhaseProcessed:
		return v1alpha1.HistorySuccess
	case v1alpha1.PhaseUnprocessed, v1alpha1.PhaseDeferred, v1alpha1.PhasePending:
	}
	return v1alpha1.HistoryRetrying
}

// enterDelivery enters what an attempt at a delivery has come to, by how its row was before. What was
// no attempt, and leaves the delivery open, is no entry: that it is known now that nothing was
// published, or that it is not wanted any more.
func enterDelivery(status *v1alpha1.FeedItemStatus, before, row *v1alpha1.Delivery, outcome DeliveryOutcome, now time.Time) {
	entry := v1alpha1.HistoryEntry{
		Time: metav1.NewTime(now), Stage: v1alpha1.StageDeliver, Object: row.Destination, Duration: durationSince(outcome.Began, now),
	}
	switch {
	case row.State == v1alpha1.DeliveryDone:
		entry.Status, entry.Retry = v1alpha1.HistorySuccess, row.FailedAttempts
	case row.State == v1alpha1.DeliveryDead:
		entry.Status, entry.Retry = v1alpha1.HistoryFailed, retries(row)
	case row.FailedAttempts > before.FailedAttempts:
		entry.Status, entry.Retry = v1alpha1.HistoryRetrying, retries(row)
	default:
		return
	}
	if row.Failure != nil {
		entry.Category = row.Failure.Category
	}
	enter(status, entry)
}

// enterNotification enters what an attempt to tell of a failure has come to.
func enterNotification(status *v1alpha1.FeedItemStatus, row *v1alpha1.Notification, began, now time.Time) {
	entry := v1alpha1.HistoryEntry{
		Time: metav1.NewTime(now), Stage: v1alpha1.StageNotify, Object: row.Destination, Duration: durationSince(began, now),
		Status: v1alpha1.HistoryRetrying, Retry: max(row.FailedAttempts-1, 0),
	}
	switch row.State {
	case v1alpha1.NotificationDone:
		entry.Status, entry.Retry = v1alpha1.HistorySuccess, row.FailedAttempts
	case v1alpha1.NotificationFailed:
		entry.Status = v1alpha1.HistoryFailed
	case v1alpha1.NotificationQueued:
	}
	if row.Failure != nil {
		entry.Category = row.Failure.Category
	}
	enter(status, entry)
}

// nextRetry returns which retry an attempt is that has begun: 0 is the first attempt.
func nextRetry(status *v1alpha1.FeedItemStatus) int32 {
	switch {
	case status.FirstFailureTime == nil:
		return 0
	case status.RetryCount == math.MaxInt32:
		return math.MaxInt32
	}
	return status.RetryCount + 1
}

// durationSince is how long an attempt took, nil where nobody has seen it begin.
func durationSince(began, now time.Time) *metav1.Duration {
	if began.IsZero() {
		return nil
	}
	return &metav1.Duration{Duration: max(now.Sub(began), 0).Round(time.Millisecond)}
}
