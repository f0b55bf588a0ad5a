// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package retention

import (
	"cmp"
	"context"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/apiclock"
	"github.com/feed-operator/feed-operator/internal/believable"
	"github.com/feed-operator/feed-operator/internal/feedmemory"
	"github.com/feed-operator/feed-operator/internal/itemcache"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
	"github.com/feed-operator/feed-operator/internal/queue"
	"github.com/feed-operator/feed-operator/internal/retry"
	"github.com/feed-operator/feed-operator/internal/schedule"
	"github.com/feed-operator/feed-operator/internal/seen"
)

const (
	// retentionInterval is how often a source's finished items are looked through at least, for
	// those that were not finished at the last look.
	retentionInterval = time.Hour
	// unrememberedFor is how long an item is kept at least, after it has ended, whose entry is not remembered.
	unrememberedFor = 7 * 24 * time.Hour
	// deletionsAtOnce bounds the deletions of one look, so that no source holds up the others.
	deletionsAtOnce = 200
)

// Reconciler removes finished items once they are older than their source keeps them, or more than it
// keeps. What was ever seen outlives them in the source's FeedMemory.
type Reconciler struct {
	Clock  clock.PassiveClock
	Client client.Client
	// Live reads from the API server.
	Live     client.Reader
	Schedule *schedule.Schedule
	Waker    *queue.Waker
}

// Reconcile removes what has become too old or too much, and comes back when the next item is too old.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	turn := r.Schedule.Enter(queue.Key(queue.RetentionKey, request.NamespacedName))
	defer turn.Leave()

	var source v1alpha1.FeedSource
	if err := r.Client.Get(ctx, request.NamespacedName, &source); err != nil || !source.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	items, err := itemcache.OfSource(ctx, r.Client, &source)
	if err != nil {
		return ctrl.Result{}, err
	}
	now := r.Clock.Now()
	if apart := apiclock.Apart(r.Clock); apart > apiclock.MostApart {
		ctrl.LoggerFrom(ctx).Info("Retention paused: the clocks of the API server and of this machine differ too much", "apart", apart)
		return queue.RequeueAt(now, now.Add(apiclock.ApartAgain)), nil
	}
	outlived, next := expire(&source, items, now)
	if len(outlived) > 0 && !mayRemove(turn, &source) {
		return ctrl.Result{}, nil // parked: woken when it is the turn of its namespace
	}
	if outlived, err = r.unwanted(ctx, &source, outlived, now); err != nil {
		return ctrl.Result{}, err
	}
	if outlived, err = r.remembered(ctx, &source, outlived, now); err != nil {
		return ctrl.Result{}, err
	}
	for _, item := range outlived[:min(len(outlived), deletionsAtOnce)] {
		err := r.Client.Delete(ctx, &v1alpha1.FeedItem{ObjectMeta: item.ObjectMeta},
			client.Preconditions{UID: &item.UID, ResourceVersion: &item.ResourceVersion})
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return ctrl.Result{}, err
		}
	}
	if len(outlived) > 0 {
		ctrl.LoggerFrom(ctx).Info("Finished items removed", "count", min(len(outlived), deletionsAtOnce))
	}
	if len(outlived) > deletionsAtOnce {
		next = now
	}
	later := min(retentionInterval, source.KeepFor(v1alpha1.PhaseProcessed), source.KeepFor(v1alpha1.PhaseFailed))
	return queue.RequeueAt(now, queue.Earliest(next, now.Add(later))), nil
}

// mayRemove takes a place for what the API server is asked, which it may not answer for one namespace: that holds up no other.
func mayRemove(turn *schedule.Turn, source *v1alpha1.FeedSource) bool {
	_, granted := turn.Acquire(schedule.Rank{Name: source.Namespace + "/" + source.Name, Owner: schedule.Owner{Tenant: source.Namespace}}, queue.RetentionPlaces)
	return granted
}

// expire returns the finished items that are too old, and after them those that are too many, and when the next one will
// be too old.
func expire(source *v1alpha1.FeedSource, items []v1alpha1.FeedItem, now time.Time) (outlived []*v1alpha1.FeedItem, next time.Time) {
	finished := newestFinished(items)
	kept := finished[:0:0]
	for _, item := range finished[min(len(finished), source.KeepLast()):] {
		end := lifecycle.CheckedAt(item, now).Add(source.KeepFor(item.Status.Phase))
		if end.After(now) {
			next = queue.Earliest(next, end)
			kept = append(kept, item)
			continue
		}
		outlived = append(outlived, item)
	}
	tooMany := max(len(finished)-len(outlived)-source.KeepMost(), 0)
	slices.Reverse(kept) // the oldest first
	slices.SortStableFunc(kept, func(a, b *v1alpha1.FeedItem) int { return cmp.Compare(retentionOrder(a, now), retentionOrder(b, now)) })
	return append(outlived, kept[:min(tooMany, len(kept))]...), next
}

func newestFinished(items []v1alpha1.FeedItem) []*v1alpha1.FeedItem {
	var finished []*v1alpha1.FeedItem
	for i := range items {
		if items[i].Terminal() {
			finished = append(finished, &items[i])
		}
	}
	slices.SortFunc(finished, func(a, b *v1alpha1.FeedItem) int {
		return cmp.Or(b.Published().Compare(a.Published().Time), cmp.Compare(a.Name, b.Name))
	})
	return finished
}

// retentionOrder orders the items of which there are too many; those that are worth least go first. A failed one is there for a
// person to see; and last goes the one of which somebody is still to be told.
func retentionOrder(item *v1alpha1.FeedItem, now time.Time) int {
	switch {
	case lifecycle.Next(item, now).Action == lifecycle.SendNotifications:
		return 2
	case item.Status.Phase == v1alpha1.PhaseFailed:
		return 1
	}
	return 0
}

// unwanted leaves out the items that are to be tried again. Most often nothing on them says so: somebody has asked for that at
// their source, a moment ago perhaps, or at a provider or a destination.
func (r *Reconciler) unwanted(
	ctx context.Context, source *v1alpha1.FeedSource, items []*v1alpha1.FeedItem, now time.Time,
) ([]*v1alpha1.FeedItem, error) {
	if len(items) == 0 {
		return nil, nil
	}
	var live v1alpha1.FeedSource
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(source), &live); err != nil || live.UID != source.UID {
		return nil, client.IgnoreNotFound(err)
	}
	asked := retry.Request{Token: retry.Token(&live), Last: live.Status.LastHandledRetry}
	return slices.DeleteFunc(items, func(item *v1alpha1.FeedItem) bool {
		if asked.IsNew() && item.Status.Phase == v1alpha1.PhaseFailed {
			return true
		}
		releases := retry.RequestsFor(ctx, r.Client, item)
		releases.Source = believable.TimeOf(live.Status.RetryRequested())
		return lifecycle.Revived(item, retry.RestoredBy(ctx, r.Client, item.Namespace)) || releases.Wants(item, now)
	}), nil
}

// remembered leaves out the items whose entries are not in the source's memory: the poll that made them was cut off, and
// once they are gone the next one would make them again. It remembers them; a week is longer than any interval.
func (r *Reconciler) remembered(
	ctx context.Context, source *v1alpha1.FeedSource, items []*v1alpha1.FeedItem, now time.Time,
) ([]*v1alpha1.FeedItem, error) {
	if len(items) == 0 {
		return nil, nil
	}
	memory := &feedmemory.Memory{}
	if err := memory.Load(ctx, r.Live, source); err != nil {
		return nil, err
	}
	names := seen.NamesOf(memory.Book, source.Name, string(source.UID))
	return slices.DeleteFunc(items, func(item *v1alpha1.FeedItem) bool {
		return !names.Remembered(item.Name) && lifecycle.CheckedAt(item, now).Add(unrememberedFor).After(now)
	}), nil
}

// SetupWithManager registers the controller.
func (r *Reconciler) SetupWithManager(manager ctrl.Manager) error {
	deleted := predicate.Funcs{DeleteFunc: func(event.DeleteEvent) bool { return false }}
	return ctrl.NewControllerManagedBy(manager).
		Named("retention").
		For(&v1alpha1.FeedSource{}, builder.WithPredicates(predicate.GenerationChangedPredicate{}, deleted)).
		WatchesRawSource(&r.Waker.Retention).
		WithOptions(r.Waker.Options(queue.WorkersFor(queue.LimitOfRetention))).
		Complete(queue.UntilStopped(r))
}
