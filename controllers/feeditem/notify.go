// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feeditem

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/destination"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
	"github.com/feed-operator/feed-operator/internal/notices"
	"github.com/feed-operator/feed-operator/internal/queue"
	"github.com/feed-operator/feed-operator/internal/schedule"
	"github.com/feed-operator/feed-operator/internal/telemetry"
)

// notify works on the notifications of an item that are due.
func (r *Reconciler) notify(ctx context.Context, turn *schedule.Turn, item *v1alpha1.FeedItem, source *v1alpha1.FeedSource) (ctrl.Result, error) {
	now := r.Clock.Now()
	var next time.Time
	for _, row := range item.DeepCopy().Status.Notifications {
		at, open := lifecycle.NotificationDue(&row, now)
		if !open || r.Notifier.Work.UnderWay(item, row.Destination) {
			continue
		}
		if at.After(now) {
			next = queue.Earliest(next, at)
			continue
		}
		if !source.Notifies(row.Destination) {
			unwanted := lifecycle.NotificationOutcome{Destination: row.Destination, Key: row.Key, FailedAttempts: row.FailedAttempts, Unwanted: true}
			if err := r.Results.RecordNotification(ctx, item, unwanted); err != nil {
				return ctrl.Result{}, err
			}
			next = queue.Earliest(next, now)
			continue
		}
		begun, err := r.Notifier.Begin(ctx, turn, r.notification(item, row))
		if err != nil {
			return ctrl.Result{}, err
		}
		next = queue.Earliest(next, begun)
	}
	return queue.RequeueAt(now, next), nil
}

// notification is one of an item, as it is sent.
func (r *Reconciler) notification(item *v1alpha1.FeedItem, row v1alpha1.Notification) *notices.Notification {
	item = item.DeepCopy() // it goes on after the reconcile
	return &notices.Notification{
		Notification: row,
		About:        item,
		Rank: schedule.Rank{
			Class: queue.ClassNotices, Time: lifecycle.CheckedAt(item, r.Clock.Now()), Name: item.Namespace + "/" + item.Name, Owner: queue.ItemOwner(item),
		},
		Text: func(ctx context.Context) (*destination.Notice, error) {
			// What was read of the item may be from before the attempt that has just ended.
			var live v1alpha1.FeedItem
			if err := r.Live.Get(ctx, client.ObjectKeyFromObject(item), &live); err != nil {
				return nil, client.IgnoreNotFound(err)
			}
			if live.UID != item.UID || !notices.StillQueued(lifecycle.NotificationTo(&live, row.Destination), &row) {
				return nil, nil
			}
			return noticeOf(&live), nil
		},
		Began: func(at time.Time) {
			r.Stream.StageStarted(item, telemetry.Attempt{Began: at}, v1alpha1.StageNotify, row.Destination, at)
		},
		Record: func(ctx context.Context, outcome lifecycle.NotificationOutcome) error {
			return r.Results.RecordNotification(ctx, item, outcome)
		},
		RequeueAfter: func(after time.Duration) { r.Waker.ItemLater(client.ObjectKeyFromObject(item), after) },
	}
}

// noticeOf is the notification of an item that has failed for good.
func noticeOf(item *v1alpha1.FeedItem) *destination.Notice {
	first := "First attempt: " + firstAttempt(item).UTC().Format("2006-01-02 15:04:05 UTC")
	return &destination.Notice{
		Subject: fmt.Sprintf("Failed for good: FeedItem %s/%s", item.Namespace, item.Name),
		Title:   item.Spec.Title,
		Error:   failure.Mask(ptr.Deref(item.Status.Failure, v1alpha1.Failure{}).Message),
		Facts:   fmt.Sprintf("%s; retries: %d", first, item.Status.RetryCount),
		URL:     item.Spec.URL,
		Advice: fmt.Sprintf("To retry: kubectl -n %s annotate feeditem %s %s=$(date +%%s) --overwrite",
			item.Namespace, item.Name, v1alpha1.AnnotationRetry),
		Namespace: item.Namespace, Source: item.Spec.SourceRef.Name, Item: item.Name,
	}
}

// firstAttempt returns the time of the first attempt that led to an item's failure, as far as it is
// known: of those that failed, and of the deliveries.
func firstAttempt(item *v1alpha1.FeedItem) time.Time {
	first := item.LastCheck().Time
	earlier := func(at *metav1.Time) {
		if at != nil && at.Time.Before(first) {
			first = at.Time
		}
	}
	earlier(item.Status.FirstFailureTime)
	for i := range item.Status.Deliveries {
		earlier(item.Status.Deliveries[i].FirstAttemptTime)
	}
	return first
}
