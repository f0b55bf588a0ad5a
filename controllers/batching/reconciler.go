// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package batching is the controller of batches: it has the items of a FeedDestination sent several at a time, where its spec asks for that, and
// goes on with batches that were begun.
//
// What is done is in internal/batches; it only says when to look.
package batching

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/batches"
	"github.com/feed-operator/feed-operator/internal/queue"
	"github.com/feed-operator/feed-operator/internal/retry"
	"github.com/feed-operator/feed-operator/internal/schedule"
)

// Reconciler works on the batches of destinations.
type Reconciler struct {
	Schedule *schedule.Schedule
	Waker    *queue.Waker
	Batches  *batches.Batcher
}

// workers is how many destinations are looked at at once: the requests themselves are made apart from that.
const workers = 8

// SetupWithManager registers the controller. It looks at a destination when its spec changes, when a retry of it is noted, when an item waits to be
// sent there, and when a request is due.
func (r *Reconciler) SetupWithManager(manager ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(manager).
		Named("batches").
		For(&v1alpha1.FeedDestination{}, builder.WithPredicates(predicate.Or(
			predicate.GenerationChangedPredicate{}, retry.AskedNow))).
		WatchesRawSource(&r.Waker.Batches).
		WithOptions(r.Waker.Options(workers)).
		Complete(r)
}

// Reconcile does what is next for the batches of a destination.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	turn := r.Schedule.Enter(queue.Key(queue.BatchKey, request.NamespacedName))
	defer turn.Leave()
	return r.Batches.Work(ctx, turn, request.NamespacedName)
}
