// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feeditem

import (
	"context"
	"errors"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
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
