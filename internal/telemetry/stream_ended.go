// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/eventstream"
)

// StageEnded reports what an attempt has come to, as it is entered in the history of the item; the rest
// of the item's status says what follows.
func (s Stream) StageEnded(item *v1alpha1.FeedItem, entry v1alpha1.HistoryEntry, attempt Attempt, now time.Time) {
	ended := &line{
		message: messageOf(item, entry, attempt), kind: TypeStageEnded, status: string(entry.Status), at: now,
		parent: attempt.id(item), trace: attempt.Trace, stage: entry.Stage, object: entry.Object, duration: entry.Duration,
		retry: &eventstream.Retry{Count: entry.Retry, Max: attempt.MaxRetries, Retryable: entry.Status == v1alpha1.HistoryRetrying},
	}
	failed, next := item.Status.Failure, item.Status.NextRetryTime
	row := rowOf(item, entry)
	if told := notificationOf(item, entry); told != nil {
		failed, next = told.Failure, told.NextRetryTime
		if entry.Status != v1alpha1.HistorySuccess {
			ended.severity = severityWarning
		}
		if told.URL != "" {
			ended.more = append(ended.more, "url", told.URL)
		}
	} else if row != nil {
		failed, next = row.Failure, row.NextRetryTime
	} else if entry.Status != v1alpha1.HistorySuccess || item.Terminal() {
		ended.reason = item.Status.Reason
	}
	if entry.Status == v1alpha1.HistoryRetrying {
		ended.retry.NextTime = timeText(next)
	}
	if entry.Category != "" {
		ended.failure = &eventstream.Error{Category: entry.Category}
		if failed != nil {
			ended.failure.Message = failed.Message
		}
	}
	switch {
	case entry.Stage == v1alpha1.StageDeliver && entry.Status == v1alpha1.HistoryFailed:
		ended.severity = severityError
	case isDuplicate(row, entry, attempt):
		ended.severity = severityWarning
	}
	if row != nil && row.URL != "" {
		ended.more = append(ended.more, "url", row.URL)
	}
	if row != nil && attempt.Found && entry.Status == v1alpha1.HistorySuccess {
		ended.more = append(ended.more, "found", true)
	}
	if failed := attempt.fallbackFrom(entry); len(failed) > 0 {
		ended.more = append(ended.more, "fallbackFrom", failed)
	}
	s.write(item, ended)
}

// messageOf reports in words what an attempt has come to.
func messageOf(item *v1alpha1.FeedItem, entry v1alpha1.HistoryEntry, attempt Attempt) string {
	switch entry.Stage {
	case v1alpha1.StageDeliver:
		return deliveryMessage(rowOf(item, entry), entry, attempt)
	case v1alpha1.StageScreen:
		switch {
		case entry.Status == v1alpha1.HistorySuccess && item.Status.Screening.Passed():
			return "Article found worth a summary"
		case entry.Status == v1alpha1.HistorySuccess:
			return "Article skipped"
		}
	case v1alpha1.StageArticle:
		if entry.Status == v1alpha1.HistorySuccess {
			return "Article skipped"
		}
	case v1alpha1.StageSummarize:
		if entry.Status != v1alpha1.HistorySuccess {
			break
		}
		switch fell := len(attempt.fallbackFrom(entry)) > 0; {
		case fell && entry.Retry > 0:
			return "Summarized by a fallback after a retry"
		case fell:
			return "Summarized by a fallback"
		case entry.Retry > 0:
			return "Summarized after a retry"
		}
		return "Summarized"
	case v1alpha1.StageNotify:
		return notificationMessage(entry)
	case v1alpha1.StagePoll:
	}
	if entry.Status == v1alpha1.HistoryRetrying {
		return "Attempt failed, will retry"
	}
	return "Attempt failed for good"
}

// deliveryMessage returns what has become of a post.
func deliveryMessage(row *v1alpha1.Delivery, entry v1alpha1.HistoryEntry, attempt Attempt) string {
	switch {
	case entry.Status == v1alpha1.HistorySuccess && attempt.Found:
		return "Post found: an earlier attempt had published it"
	case isDuplicate(row, entry, attempt):
		return "Duplicate data detected: the receiver had it already"
	case entry.Status == v1alpha1.HistorySuccess && entry.Retry > 0:
		return "Post resent"
	case entry.Status == v1alpha1.HistorySuccess:
		return "Post sent"
	case entry.Status == v1alpha1.HistoryFailed:
		return "Post given up"
	case row != nil && row.State == v1alpha1.DeliveryIntent:
		return "Post uncertain, will be looked up"
	}
	return "Post spooled"
}

// isDuplicate reports whether the receiver of what was delivered just now had it already.
func isDuplicate(row *v1alpha1.Delivery, entry v1alpha1.HistoryEntry, attempt Attempt) bool {
	return row != nil && row.Duplicate && entry.Status == v1alpha1.HistorySuccess && !attempt.Found
}

// notificationMessage returns what has become of a notification.
func notificationMessage(entry v1alpha1.HistoryEntry) string {
	switch entry.Status {
	case v1alpha1.HistorySuccess:
		return "Notification sent"
	case v1alpha1.HistoryFailed:
		return "Notification given up"
	case v1alpha1.HistoryRetrying:
	}
	return "Notification failed, will retry"
}

// notificationOf returns the notification that an entry is about, or nil.
func notificationOf(item *v1alpha1.FeedItem, entry v1alpha1.HistoryEntry) *v1alpha1.Notification {
	if entry.Stage != v1alpha1.StageNotify {
		return nil
	}
	for i := range item.Status.Notifications {
		if told := &item.Status.Notifications[i]; told.Destination == entry.Object {
			return told
		}
	}
	return nil
}

// rowOf returns the delivery that an entry is about, or nil.
func rowOf(item *v1alpha1.FeedItem, entry v1alpha1.HistoryEntry) *v1alpha1.Delivery {
	if entry.Stage != v1alpha1.StageDeliver {
		return nil
	}
	for i := range item.Status.Deliveries {
		if row := &item.Status.Deliveries[i]; row.Destination == entry.Object {
			return row
		}
	}
	return nil
}

func timeText(at *metav1.Time) string {
	if at == nil {
		return ""
	}
	return at.UTC().Format(time.RFC3339)
}
