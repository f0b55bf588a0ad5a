// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feeditem

import (
	"context"

	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/itemcache"
	"github.com/feed-operator/feed-operator/internal/queue"
	"github.com/feed-operator/feed-operator/internal/retry"
)

// SetupWithManager registers the controller of items. It looks at an item when it appears, when
// its retry annotation changes, when its source changes, and when its turn comes; not at its own
// writes, but for those of failures of which a retry was requested before the cache heard of them, and of items that wait by an older form.
func (r *Reconciler) SetupWithManager(manager ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(manager).
		For(&v1alpha1.FeedItem{}, builder.WithPredicates(queue.AnnotationChanged(v1alpha1.AnnotationRetry), predicate.NewPredicateFuncs(itemcache.Unfinished))).
		Watches(&v1alpha1.FeedItem{}, r.itemsFailedBefore()).
		Watches(&v1alpha1.FeedItem{}, r.itemsBelieved()).
		Watches(&v1alpha1.FeedSource{}, handler.EnqueueRequestsFromMapFunc(r.openItemsOf),
			builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&v1alpha1.FeedSource{}, handler.EnqueueRequestsFromMapFunc(r.failedItemsOf), builder.WithPredicates(retry.AskedNow)).
		Watches(&v1alpha1.AIProvider{}, handler.EnqueueRequestsFromMapFunc(r.failedItemsOf), builder.WithPredicates(retry.AskedNow)).
		Watches(&v1alpha1.FeedDestination{}, handler.EnqueueRequestsFromMapFunc(r.failedItemsOf), builder.WithPredicates(retry.AskedNow)).
		WatchesRawSource(&r.Waker.Items).
		WithOptions(r.Waker.Options(queue.WorkersFor(queue.LimitOf(r.Workers)))).
		Complete(queue.UntilStopped(r))
}

// itemsBelieved queues items that wait by what the cache had of them before.
func (r *Reconciler) itemsBelieved() handler.EventHandler {
	look := func(object client.Object, to workqueue.TypedRateLimitingInterface[reconcile.Request]) {
		if name := client.ObjectKeyFromObject(object); r.Deliveries.Believed.Changed(name) {
			to.Add(reconcile.Request{NamespacedName: name})
		}
	}
	return handler.Funcs{
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, to workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			look(e.ObjectNew, to)
		},
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, to workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			look(e.Object, to)
		},
	}
}

// openItemsOf names the items of a source whose spec has changed, but for those that rest.
func (r *Reconciler) openItemsOf(ctx context.Context, object client.Object) []reconcile.Request {
	source, ok := object.(*v1alpha1.FeedSource)
	if !ok {
		return nil
	}
	items, err := itemcache.UnfinishedOf(ctx, r.Client, source.Namespace, string(source.UID))
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to list the items of a changed source", "source", source.Name)
		return nil
	}
	return requestsOf(items)
}

func requestsOf(items []v1alpha1.FeedItem) []reconcile.Request {
	requests := make([]reconcile.Request, 0, len(items))
	for i := range items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&items[i])})
	}
	return requests
}
