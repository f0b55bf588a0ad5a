// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

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
)

const (
	// retentionInterval is how often a source's finished items are looked through at least, for
	// those that were not finished at the last look.
	retentionInterval = time.Hour
	// deletionsAtOnce bounds the deletions of one look, so that no source holds up the others.
	deletionsAtOnce = 200
)

// RetentionReconciler removes finished items once they are older than their source keeps them.
// What was ever seen outlives them in the source's FeedMemory.
type RetentionReconciler struct {
	Clock  clock.PassiveClock
	Client client.Client
}

// Reconcile removes what has become too old, and comes back when the next item does.
func (r *RetentionReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var source v1alpha1.FeedSource
	if err := r.Client.Get(ctx, request.NamespacedName, &source); err != nil || !source.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	items, err := itemsOf(ctx, r.Client, &source)
	if err != nil {
		return ctrl.Result{}, err
	}
	now := r.Clock.Now()
	expired, next := expire(&source, items, now)
	for _, item := range expired[:min(len(expired), deletionsAtOnce)] {
		err := r.Client.Delete(ctx, &v1alpha1.FeedItem{ObjectMeta: item.ObjectMeta},
			client.Preconditions{UID: &item.UID, ResourceVersion: &item.ResourceVersion})
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return ctrl.Result{}, err
		}
	}
	if len(expired) > 0 {
		ctrl.LoggerFrom(ctx).Info("Finished items removed", "count", min(len(expired), deletionsAtOnce))
	}
	if len(expired) > deletionsAtOnce {
		next = now
	}
	later := min(retentionInterval, source.KeepFor(v1alpha1.PhaseProcessed), source.KeepFor(v1alpha1.PhaseFailed))
	return lookAgain(now, earliest(next, now.Add(later))), nil
}

// expire returns the finished items that are too old, and when the next one will be.
func expire(source *v1alpha1.FeedSource, items []v1alpha1.FeedItem, now time.Time) (expired []*v1alpha1.FeedItem, next time.Time) {
	var finished []*v1alpha1.FeedItem
	for i := range items {
		if items[i].Terminal() {
			finished = append(finished, &items[i])
		}
	}
	slices.SortFunc(finished, func(a, b *v1alpha1.FeedItem) int {
		return cmp.Or(b.Published().Compare(a.Published().Time), cmp.Compare(a.Name, b.Name))
	})
	for _, item := range finished[min(len(finished), source.KeepLast()):] {
		end := item.LastCheck().Add(source.KeepFor(item.Status.Phase))
		if end.After(now) {
			next = earliest(next, end)
			continue
		}
		expired = append(expired, item)
	}
	return expired, next
}

// SetupWithManager registers the controller.
func (r *RetentionReconciler) SetupWithManager(manager ctrl.Manager) error {
	deleted := predicate.Funcs{DeleteFunc: func(event.DeleteEvent) bool { return false }}
	return ctrl.NewControllerManagedBy(manager).
		Named("retention").
		For(&v1alpha1.FeedSource{}, builder.WithPredicates(predicate.GenerationChangedPredicate{}, deleted)).
		Complete(r)
}
