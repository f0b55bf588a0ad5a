// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/destination"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
	"github.com/feed-operator/feed-operator/internal/schedule"
	"github.com/feed-operator/feed-operator/internal/telemetry"
)

// classNotices come after all deliveries.
const classNotices = classOthers + 1

// notify works on the notifications of an item that are due. Each goes on by itself, so that no worker
// waits for it; one whose destination is missing or unavailable waits in its line, which is no attempt.
func (r *FeedItemReconciler) notify(ctx context.Context, turn *schedule.Turn, item *v1alpha1.FeedItem, source *v1alpha1.FeedSource) (ctrl.Result, error) {
	now := r.Clock.Now()
	var next time.Time
	for _, row := range item.DeepCopy().Status.Notifications {
		at, open := lifecycle.NotificationDue(&row, now)
		if !open || r.underWay.has(item, noticeUnderWay(row.Destination)) {
			continue
		}
		if at.After(now) {
			next = earliest(next, at)
			continue
		}
		begun, err := r.beginNotification(ctx, turn, item, source, row)
		if err != nil {
			return ctrl.Result{}, err
		}
		if !begun.IsZero() {
			next = earliest(next, begun)
		}
	}
	return lookAgain(now, next), nil
}

// beginNotification sends a notification, where its destination is free and may get it. It returns when
// to look again; zero: somebody else sees to that.
func (r *FeedItemReconciler) beginNotification(ctx context.Context, turn *schedule.Turn, item *v1alpha1.FeedItem, source *v1alpha1.FeedSource,
	row v1alpha1.Notification,
) (again time.Time, err error) {
	now := r.Clock.Now()
	outcome := lifecycle.NotificationOutcome{Destination: row.Destination, Key: row.Key, FailedAttempts: row.FailedAttempts}
	if !source.Notifies(row.Destination) {
		outcome.Unwanted = true
		return now, r.recordNotification(ctx, item, outcome)
	}
	var described v1alpha1.FeedDestination
	err = r.Client.Get(ctx, client.ObjectKey{Namespace: item.Namespace, Name: row.Destination}, &described)
	if client.IgnoreNotFound(err) != nil {
		return time.Time{}, err
	}
	if !described.Confidential() {
		refused := failure.New(v1alpha1.CategoryValidation, failure.TypeUnsupported, notConfidential(row.Destination))
		outcome.Failure = failure.Record(refused, v1alpha1.StageNotify, row.Destination, now)
		return now, r.recordNotification(ctx, item, outcome)
	}
	p, err := r.postTo(ctx, source, row.Destination)
	if err != nil {
		return time.Time{}, err
	}
	defer p.giveBack()
	rank := schedule.Rank{Class: classNotices, Time: lifecycle.CheckedAt(item, now), Name: item.Namespace + "/" + item.Name, Owner: itemOwner(item)}
	taken, granted := turn.AcquireAll(rank, toPost(p.resource)...)
	if !granted {
		return time.Time{}, nil
	}
	p.has(turn, taken, granted)
	if p.to == nil { // it was opened or closed just now
		return now.Add(time.Second), nil
	}
	if !r.underWay.begin(item, noticeUnderWay(row.Destination)) {
		return time.Time{}, nil
	}
	apart, handed := item.DeepCopy(), p.handOver(turn)
	r.Background.run(func() { r.notifyApart(ctx, apart, handed, visibilityOf(&described), outcome) })
	return time.Time{}, nil
}

// notifyApart sends a notification and writes down what came of it, and has the item looked at again.
func (r *FeedItemReconciler) notifyApart(ctx context.Context, item *v1alpha1.FeedItem, p *post, visibility string, outcome lifecycle.NotificationOutcome) {
	// Not written down is tried again, but not at once: what the API server refuses, it goes on refusing.
	const afterError = 10 * time.Second
	wait := afterError
	log := ctrl.LoggerFrom(ctx).WithValues("destination", p.destination)
	defer func() {
		if value := recover(); value != nil {
			panicked := failure.Panicked(value, debug.Stack())
			log.Error(panicked, "Notification panicked", "stack", panicked.Stack)
		}
		p.giveBack()
		r.underWay.end(item, noticeUnderWay(p.destination))
		r.Waker.itemLater(client.ObjectKeyFromObject(item), wait)
	}()
	if ctx.Err() != nil { // the manager is stopping: no new call
		return
	}
	// What was read of the item may be from before the attempt that has just ended. From here on nobody
	// else is at it.
	var live v1alpha1.FeedItem
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(item), &live); err != nil {
		return
	}
	row := lifecycle.NotificationTo(&live, p.destination)
	if live.UID != item.UID || row == nil || row.State != v1alpha1.NotificationQueued || row.Key != outcome.Key || row.FailedAttempts != outcome.FailedAttempts {
		wait = 0
		return
	}
	if r.Writes.held(item.Namespace) { // it waits for that, as the others do
		wait = 0
		return
	}
	notice, err := r.noticeOf(ctx, item, p.destination)
	if err != nil {
		log.Error(err, "Notification could not be made")
		return
	}
	publication, err := destination.ComposeNotice(notice, visibility, destination.Limits{
		MaxCharacters: int(p.to.server.MaxCharacters), CharactersPerURL: int(p.to.server.CharactersPerURL),
	})
	if err == nil {
		var receipt destination.Receipt
		outcome.Began = r.Clock.Now()
		r.Stream.StageStarted(item, telemetry.Attempt{Began: outcome.Began}, v1alpha1.StageNotify, p.destination, outcome.Began)
		calling, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.timeout)
		defer cancel()
		receipt, err = deliverSafely(calling, p.to, outcome.Key, publication)
		if r.Services.ended(p.ticket, p.revision, v1alpha1.StageNotify, 0, asFailure(err)) {
			wait = time.Second // what it was called with has been replaced
			return
		}
		outcome.Sent, outcome.ID, outcome.URL = err == nil, cut(receipt.ID, 128), cut(receipt.URL, 2048)
	}
	if err != nil {
		known := failure.Classify(err)
		outcome.Failure, outcome.RetryAfter = failure.Record(err, v1alpha1.StageNotify, p.destination, r.Clock.Now()), known.RetryAfter
		outcome.Failure.Retryable = known.Category != v1alpha1.CategoryValidation
	}
	if err := r.recordNotification(ctx, item, outcome); err != nil {
		log.Error(err, "Notification could not be written down")
		return
	}
	wait = 0
}

// recordNotification writes down what a notification has come to, whatever happened to the item
// meanwhile, and logs it. Where the API server does not take it, it is kept.
func (r *FeedItemReconciler) recordNotification(ctx context.Context, item *v1alpha1.FeedItem, outcome lifecycle.NotificationOutcome) error {
	_, err := r.writeResult(ctx, item, &noticeResult{reconciler: r, item: item.DeepCopy(), outcome: outcome, at: r.Clock.Now()})
	return client.IgnoreNotFound(err)
}

func lastErrorOf(item *v1alpha1.FeedItem) string {
	if item.Status.Failure == nil {
		return ""
	}
	return item.Status.Failure.Message
}

// noticeOf is what a destination is told of an item that has failed for good: of the item, or of the
// service whose refused credentials the item speaks for.
func (r *FeedItemReconciler) noticeOf(ctx context.Context, item *v1alpha1.FeedItem, destinationName string) (destination.Notice, error) {
	first := "First attempt: " + lifecycle.FirstAttempt(item).UTC().Format("2006-01-02 15:04:05 UTC")
	notice := destination.Notice{
		Subject: fmt.Sprintf("Failed for good: FeedItem %s/%s", item.Namespace, item.Name),
		Title:   item.Spec.Title,
		Error:   "Last error: " + failure.Mask(lastErrorOf(item)),
		Facts:   fmt.Sprintf("%s; retries: %d", first, item.Status.RetryCount),
		URL:     item.Spec.URL,
		Advice: fmt.Sprintf("To retry: kubectl -n %s annotate feeditem %s %s=$(date +%%s) --overwrite",
			item.Namespace, item.Name, v1alpha1.AnnotationRetry),
	}
	if !forCredentials(item) {
		return notice, nil
	}
	services, err := r.spokenFor(ctx, item, destinationName)
	if err != nil || len(services) == 0 {
		return notice, err
	}
	names := make([]string, 0, len(services))
	for _, service := range services {
		names = append(names, fmt.Sprintf("%s %s/%s", kindOf(service), service.GetNamespace(), service.GetName()))
	}
	return destination.Notice{
		Subject: "Credentials refused: " + strings.Join(names, ", "),
		Error:   notice.Error,
		Facts:   first + ". All items that need them fail until they are changed; you are told once.",
		Advice:  credentialsAdvice(services),
	}, nil
}

func visibilityOf(described *v1alpha1.FeedDestination) string {
	if described.Spec.Mastodon == nil {
		return ""
	}
	return string(described.Spec.Mastodon.Visibility)
}

// noticeUnderWay names a notification among the deliveries that are under way: no object is called so.
func noticeUnderWay(destination string) string { return "notify/" + destination }

// notConfidential says why a destination is not told of failures.
func notConfidential(destination string) string {
	return fmt.Sprintf("FeedDestination %q is told nothing: everybody could read it. "+
		"Set its spec.mastodon.visibility to direct or private, or name another one in spec.notifications of the source", destination)
}
