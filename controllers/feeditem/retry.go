// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feeditem

import (
	"context"
	"errors"

	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/itemcache"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
	"github.com/feed-operator/feed-operator/internal/retry"
)

// failedItemsOf names the items that have failed at a service, or of a source; and those of earlier attempts that were given up for the
// credentials that a service refuses.
func (r *Reconciler) failedItemsOf(ctx context.Context, object client.Object) []reconcile.Request {
	items, err := itemcache.FailedOf(ctx, r.Client, object)
	givenUp, refusedErr := itemcache.RefusedBy(ctx, r.Client, itemcache.ServiceOf(object))
	if err := errors.Join(err, refusedErr); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to list the items to retry", "of", object.GetName())
		return nil
	}
	requests := requestsOf(append(items, givenUp...))
	if _, isProvider := object.(*v1alpha1.AIProvider); isProvider {
		for _, name := range r.Attempts.Open.FailedAt(client.ObjectKeyFromObject(object)) {
			requests = append(requests, reconcile.Request{NamespacedName: name})
		}
	}
	return requests
}

// itemsFailedBefore looks at an item of which the cache has just heard that it has failed, where a retry of that was requested meanwhile: those that
// had failed were looked for then, and it was not among them.
func (r *Reconciler) itemsFailedBefore() handler.EventHandler {
	return handler.Funcs{UpdateFunc: func(ctx context.Context, e event.UpdateEvent, to workqueue.TypedRateLimitingInterface[reconcile.Request]) {
		if item := itemcache.AsItem(e.ObjectNew); item != nil && r.retryRequested(ctx, item) {
			to.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(item)})
		}
	}}
}

// retryRequested reports whether an item has failed before somebody asked for a retry of that, or replaced the credentials that were refused.
func (r *Reconciler) retryRequested(ctx context.Context, item *v1alpha1.FeedItem) bool {
	if lifecycle.Revived(item, retry.RestoredBy(ctx, r.Client, item.Namespace)) {
		return true
	}
	if lifecycle.LastFailure(item).IsZero() {
		return false
	}
	requests := retry.RequestsFor(ctx, r.Client, item)
	for i := range item.Status.Deliveries {
		if requests.CoversDelivery(&item.Status.Deliveries[i]) {
			return true
		}
	}
	return requests.Covers(item)
}

// nextWithRetryRequests is what is to be done with an item that has no step of its own now: what a person wants
// to have retried. It stays as it is while every provider that it could ask refuses its credentials.
func (r *Reconciler) nextWithRetryRequests(ctx context.Context, item *v1alpha1.FeedItem, step lifecycle.Step) lifecycle.Step {
	if lifecycle.LastFailure(item).IsZero() {
		return step
	}
	next := retry.RequestsFor(ctx, r.Client, item).Next(item, step, r.Clock.Now())
	if next.Action != lifecycle.Summarize {
		return next
	}
	source, err := itemcache.SourceOf(ctx, r.Client, item)
	if err != nil || source == nil {
		return step
	}
	refused, err := r.Attempts.AllRefuse(ctx, item, source)
	if err != nil || refused && !r.Attempts.Open.Begun(item) { // else a call was made, and is to be written down
		return step
	}
	return next
}
