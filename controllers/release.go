// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"slices"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/derive"
	"github.com/feed-operator/feed-operator/internal/itemcache"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
	"github.com/feed-operator/feed-operator/internal/retry"
)

// releasedNow lets through what a person has asked to have retried just now, or what was cured.
var releasedNow = predicate.Funcs{
	CreateFunc: func(event.CreateEvent) bool { return false },
	DeleteFunc: func(event.DeleteEvent) bool { return false },
	UpdateFunc: func(e event.UpdateEvent) bool {
		return !retry.LastReleased(e.ObjectOld).Equal(retry.LastReleased(e.ObjectNew))
	},
	GenericFunc: func(event.GenericEvent) bool { return false },
}

// failedItemsOf names the items that have failed at a service, or of a source.
func (r *FeedItemReconciler) failedItemsOf(ctx context.Context, object client.Object) []reconcile.Request {
	items, err := itemcache.FailedOf(ctx, r.Client, object)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Items to be retried could not be listed", "of", object.GetName())
		return nil
	}
	requests := make([]reconcile.Request, 0, len(items))
	for i := range items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&items[i])})
	}
	if _, isProvider := object.(*v1alpha1.AIProvider); isProvider {
		for _, name := range r.open.failedAt(client.ObjectKeyFromObject(object)) {
			requests = append(requests, reconcile.Request{NamespacedName: name})
		}
	}
	return requests
}

// released is what is to be done with an item that has no step of its own now: what a person wants
// to have retried. It stays as it is while every provider that it could ask refuses its credentials.
func (r *FeedItemReconciler) released(ctx context.Context, item *v1alpha1.FeedItem, step lifecycle.Step) lifecycle.Step {
	if lifecycle.LastFailure(item).IsZero() {
		return step
	}
	next := retry.ReleasesOf(ctx, r.Client, item).Next(item, step, r.Clock.Now())
	if next.Action != lifecycle.Summarize {
		return next
	}
	source, err := itemcache.SourceOf(ctx, r.Client, item)
	if err != nil || source == nil {
		return step
	}
	chain, err := r.chainOf(ctx, item, source)
	if err != nil {
		return step
	}
	_, refused := r.allRefused(item, able(chain, derive.ToBeScreened(item, source)))
	if refused && !r.open.begun(item) { // else a call was made, and is to be written down
		return step
	}
	return next
}

// retriedSince says that somebody has asked for a retry of what has failed at a provider, since an
// attempt began that has failed there and goes on with the next one.
func (r *FeedItemReconciler) retriedSince(ctx context.Context, source *v1alpha1.FeedSource, open *openAttempt) bool {
	for _, ref := range slices.Concat(source.Spec.Providers, source.Judges()) {
		if open.HasFailed(ref.Name) && retry.ForcedTime(ctx, r.Client, &v1alpha1.AIProvider{}, source.Namespace, ref.Name).After(open.since) {
			return true
		}
	}
	return false
}

// freed is an item as it is with what is released, to decide by. What is written is worked out on
// the item as it is.
func (r *FeedItemReconciler) freed(item *v1alpha1.FeedItem, known lifecycle.Releases) *v1alpha1.FeedItem {
	view := item.DeepCopy()
	if !known.Release(view, r.Clock.Now()) {
		return item
	}
	return view
}

// dueByItself says that a delivery is due whether or not it is released.
func (r *FeedItemReconciler) dueByItself(item *v1alpha1.FeedItem, destination string) bool {
	now := r.Clock.Now()
	at, open := lifecycle.Due(lifecycle.RowOf(item, destination), now)
	return open && !at.After(now)
}
