// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feedsource

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	ctrlmanager "sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/itemcache"
	"github.com/feed-operator/feed-operator/internal/queue"
)

// SetupWithManager registers the controller of sources. It looks at a source when its spec, its
// poll or its retry annotation changes, when a poll is due, and when its items have changed their phases,
// which it writes down once a minute at most.
func (r *Reconciler) SetupWithManager(manager ctrl.Manager) error {
	changed := predicate.Or(predicate.GenerationChangedPredicate{},
		queue.AnnotationChanged(v1alpha1.AnnotationPoll), queue.AnnotationChanged(v1alpha1.AnnotationRetry))
	if err := manager.Add(ctrlmanager.RunnableFunc(r.writeLast)); err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(manager).
		For(&v1alpha1.FeedSource{}, builder.WithPredicates(changed)).
		Watches(&v1alpha1.FeedItem{}, r.countItems()).
		Watches(&v1alpha1.FeedDestination{}, handler.EnqueueRequestsFromMapFunc(r.sourcesNotifying),
			builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WatchesRawSource(&r.Waker.Sources).
		WithOptions(r.Waker.Options(queue.WorkersFor(queue.LimitOf(r.Workers)))).
		Complete(queue.UntilStopped(r))
}

type sourceQueue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// countItems tallies the items, and queues the source of one whose phase has changed: at once when all of its
// items have settled, and else after a while, so that what changes meanwhile is counted with it.
func (r *Reconciler) countItems() handler.EventHandler {
	const countDelay = 2 * time.Second // the first change shows soon, the rest of the minute together
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, to sourceQueue) {
			item := itemcache.AsItem(e.Object)
			r.tally.Change(nil, item)
			enqueueSource(item, to, countDelay)
		},
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, to sourceQueue) {
			before, after := itemcache.AsItem(e.ObjectOld), itemcache.AsItem(e.ObjectNew)
			if before != nil && after != nil && before.UID != after.UID { // what came between was not heard of
				r.noteGone(ctx, before)
			}
			r.tally.Change(before, after)
			switch {
			case before == nil, after == nil, before.Status.Phase == after.Status.Phase:
			case r.tally.SettledWith(after):
				enqueueSource(after, to, 0)
			default:
				enqueueSource(after, to, countDelay)
			}
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, to sourceQueue) {
			item := itemcache.AsItem(e.Object)
			r.noteGone(ctx, item)
			r.tally.Change(item, nil)
			enqueueSource(item, to, countDelay)
		},
	}
}

// enqueueSource queues the source of an item after a while, behind all else.
func enqueueSource(item *v1alpha1.FeedItem, to sourceQueue, after time.Duration) {
	if item != nil {
		source := types.NamespacedName{Namespace: item.Namespace, Name: item.Spec.SourceRef.Name}
		queue.Push(to, reconcile.Request{NamespacedName: source}, handler.LowPriority, after)
	}
}
