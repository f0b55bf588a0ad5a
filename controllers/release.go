// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/believable"
	"github.com/feed-operator/feed-operator/internal/derive"
	"github.com/feed-operator/feed-operator/internal/itemcache"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
)

// releasedNow lets through what a person has asked to have retried just now, or what was cured.
var releasedNow = predicate.Funcs{
	CreateFunc: func(event.CreateEvent) bool { return false },
	DeleteFunc: func(event.DeleteEvent) bool { return false },
	UpdateFunc: func(e event.UpdateEvent) bool {
		return !releaseOf(e.ObjectOld).Equal(releaseOf(e.ObjectNew))
	},
	GenericFunc: func(event.GenericEvent) bool { return false },
}

// releaseOf is when what had failed was last released, for whatever reason.
func releaseOf(object client.Object) time.Time {
	switch parent := object.(type) {
	case *v1alpha1.FeedSource:
		return believable.TimeOf(parent.Status.ReleasedTime)
	case serviceObject:
		forced, cured := believable.TimeOf(parent.Service().ForcedTime), believable.TimeOf(parent.Service().ReleasedTime)
		if cured.After(forced) {
			return cured
		}
		return forced
	}
	return time.Time{}
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

// releasesOf are those that may concern an item, or an attempt at it that has failed at providers.
func releasesOf(ctx context.Context, reader client.Reader, item *v1alpha1.FeedItem, failures ...v1alpha1.ProviderFailure) lifecycle.Releases {
	known := lifecycle.Releases{Providers: map[string]time.Time{}, Destinations: map[string]time.Time{}}
	if source, err := itemcache.SourceOf(ctx, reader, item); err == nil && source != nil {
		known.Source = believable.TimeOf(source.Status.ReleasedTime)
	}
	forced := func(service serviceObject, name string) time.Time {
		return forcedTime(ctx, reader, service, item.Namespace, name)
	}
	if item.Status.Summary == nil {
		for _, failed := range append(failures, item.Status.ProviderFailures...) {
			known.Providers[failed.Name] = forced(&v1alpha1.AIProvider{}, failed.Name)
		}
	}
	for i := range item.Status.Deliveries {
		name := item.Status.Deliveries[i].Destination
		known.Destinations[name] = forced(&v1alpha1.FeedDestination{}, name)
	}
	return known
}

// released is what is to be done with an item that has no step of its own now: what a person wants
// to have retried. It stays as it is while every provider that it could ask refuses its credentials.
func (r *FeedItemReconciler) released(ctx context.Context, item *v1alpha1.FeedItem, step lifecycle.Step) lifecycle.Step {
	if lifecycle.LastFailure(item).IsZero() {
		return step
	}
	next := releasesOf(ctx, r.Client, item).Next(item, step, r.Clock.Now())
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
		if open.HasFailed(ref.Name) && forcedTime(ctx, r.Client, &v1alpha1.AIProvider{}, source.Namespace, ref.Name).After(open.since) {
			return true
		}
	}
	return false
}

// forcedTime is when somebody last asked for a retry of what has failed at a service.
func forcedTime(ctx context.Context, reader client.Reader, service serviceObject, namespace, name string) time.Time {
	if err := reader.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, service); err != nil {
		return time.Time{} // not there, so nobody has asked
	}
	return believable.TimeOf(service.Service().ForcedTime)
}

// curedBy returns what says when credentials that were refused have been replaced last.
func curedBy(ctx context.Context, reader client.Reader, namespace string) func(v1alpha1.Stage, string) time.Time {
	return func(stage v1alpha1.Stage, name string) time.Time {
		var service serviceObject = &v1alpha1.AIProvider{}
		if stage == v1alpha1.StageDeliver {
			service = &v1alpha1.FeedDestination{}
		}
		if err := reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, service); err != nil {
			return time.Time{} // not there, so not cured
		}
		return believable.TimeOf(service.Service().ReleasedTime)
	}
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
