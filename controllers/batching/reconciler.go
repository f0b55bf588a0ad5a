// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package batching is the controller of batches: it has the items of a FeedDestination sent several at a time, where its spec asks for that, and
// goes on with batches that were begun.
//
// What is done is in internal/batches; it only says when to look.
package batching

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/batches"
	"github.com/feed-operator/feed-operator/internal/itemcache"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
	"github.com/feed-operator/feed-operator/internal/queue"
	"github.com/feed-operator/feed-operator/internal/retry"
	"github.com/feed-operator/feed-operator/internal/schedule"
)

// Reconciler works on the batches of destinations.
type Reconciler struct {
	// Client reads the cache.
	Client   client.Reader
	Schedule *schedule.Schedule
	Waker    *queue.Waker
	Batches  *batches.Batcher
}

// SetupWithManager registers the controller. It looks at a destination when its spec changes, when a retry of it is noted, when an item waits to be
// sent there, and when a request is due.
//
// That an item waits is heard of the cache, which is what says then how many do. Whoever has written it may know of it before the cache does, and a
// look at that moment would find nothing, nor a time to look again.
func (r *Reconciler) SetupWithManager(manager ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(manager).
		Named("batches").
		For(&v1alpha1.FeedDestination{}, builder.WithPredicates(predicate.Or(
			predicate.GenerationChangedPredicate{}, retry.AskedNow))).
		Watches(&v1alpha1.FeedItem{}, r.itemsThatWait()).
		WatchesRawSource(&r.Waker.Batches).
		WithOptions(r.Waker.Options(queue.WorkersFor(queue.LimitOfLooks))).
		Complete(queue.UntilStopped(r))
}

// Reconcile does what is next for the batches of a destination.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	turn := r.Schedule.Enter(queue.Key(queue.BatchKey, request.NamespacedName))
	defer turn.Leave()
	return r.Batches.Work(ctx, turn, request.NamespacedName)
}

type destinationQueue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// itemsThatWait queues the destinations that an item begins to wait for, as far as they want their items in batches.
func (r *Reconciler) itemsThatWait() handler.EventHandler {
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, to destinationQueue) {
			r.enqueue(ctx, nil, itemcache.AsItem(e.Object), to)
		},
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, to destinationQueue) {
			r.enqueue(ctx, itemcache.AsItem(e.ObjectOld), itemcache.AsItem(e.ObjectNew), to)
		},
	}
}

func (r *Reconciler) enqueue(ctx context.Context, before, after *v1alpha1.FeedItem, to destinationQueue) {
	if after == nil {
		return
	}
	for i := range after.Status.Deliveries {
		row := &after.Status.Deliveries[i]
		if !isQueued(row) || before != nil && isQueued(lifecycle.RowOf(before, row.Destination)) {
			continue
		}
		var described v1alpha1.FeedDestination
		name := types.NamespacedName{Namespace: after.Namespace, Name: row.Destination}
		if err := r.Client.Get(ctx, name, &described); err == nil && described.Batch() != nil {
			queue.Push(to, reconcile.Request{NamespacedName: name}, 0, 0)
		}
	}
}

func isQueued(row *v1alpha1.Delivery) bool { return row != nil && row.State == v1alpha1.DeliveryQueued }
