// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
	"github.com/feed-operator/feed-operator/internal/queue"
	"github.com/feed-operator/feed-operator/internal/record"
	"github.com/feed-operator/feed-operator/internal/retry"
	"github.com/feed-operator/feed-operator/internal/schedule"
)

// WaitForBatches has an item of the cache wait for batches, where by that form of it this is all that is next, and reports whether it is. The item is not read
// for that: who makes a batch reads what it takes. Else all would be read at once that wait for a destination when it is opened, and each once more when its
// result is written. Where the cache is behind, the change that it hears of brings the item back.
func (e *Engine) WaitForBatches(ctx context.Context, turn *schedule.Turn, item *v1alpha1.FeedItem, source *v1alpha1.FeedSource) (waits bool, err error) {
	e.Believed.Forget(item)
	for i := range item.Status.Deliveries {
		if row := &item.Status.Deliveries[i]; !row.Ended() && row.State != v1alpha1.DeliveryQueued {
			return false, nil
		}
	}
	view := withRetryRequests(item, retry.RequestsFor(ctx, e.Client, item), e.Clock.Now())
	due, err := e.duePosts(ctx, item, view, source)
	defer func() { cancelUnused(due) }()
	if err != nil || len(due) == 0 || e.otherDeliveries(view).RequeueAfter > 0 {
		return false, err
	}
	for _, p := range due {
		if waits, err = p.onlyWaits(ctx, e, item, source, lifecycle.RowOf(view, p.Destination)); err != nil || !waits {
			return false, err
		}
	}
	if !e.Believed.Believe(ctx, e.Client, item) {
		return false, nil
	}
	for _, p := range due {
		p.waitForBatch(turn, e, item)
	}
	return true, nil
}

// leavingRecheckInterval is when an item is looked at again that is asked for while its batch before is still there.
const leavingRecheckInterval = time.Minute

// onlyWaits reports whether there is nothing to be done for a delivery but to wait for a batch.
func (p *post) onlyWaits(ctx context.Context, e *Engine, item *v1alpha1.FeedItem, source *v1alpha1.FeedSource, row *v1alpha1.Delivery) (bool, error) {
	switch {
	case p.InBatch(item.UID): // which may have ended by now
		return true, nil
	case p.Batch == nil, !dueByItself(item, p.Destination, e.Clock.Now()): // what is requested is to be written
		return false, nil
	}
	if err := e.decide(ctx, p, item, source, row); err != nil {
		return false, err
	}
	return p.Refused == nil && p.decided == nil && p.heldBy == "" && p.waitsForBatch(row) && len(p.closedFor(e.Services)) == 0, nil
}

// waitsForBatch reports whether a delivery is made together with others. One that was announced by itself is finished by itself.
func (p *post) waitsForBatch(row *v1alpha1.Delivery) bool {
	return p.Batch != nil && p.doubt == nil && row.State == v1alpha1.DeliveryQueued
}

// waitForBatch has an item wait for a batch to be sent; and for a change of the destination, which may be to send each by itself, or be deleted with its
// batches.
func (p *post) waitForBatch(turn *schedule.Turn, e *Engine, item *v1alpha1.FeedItem) {
	key := types.NamespacedName{Namespace: item.Namespace, Name: p.Destination}
	if now := e.Clock.Now(); !dueByItself(item, p.Destination, now) { // it is asked for again, and its batch before is still there
		e.Results.WakeAt(item, now.Add(leavingRecheckInterval))
	}
	e.Waker.BatchLater(key, 0)
	turn.Acquire(deliveryRank(item), schedule.ChangeOf(schedule.Destination(key)))
}

// makeDue writes on an item what a request for a retry makes due: who makes a batch takes what is due by itself.
func makeDue(ctx context.Context, e *Engine, item *v1alpha1.FeedItem, requests lifecycle.RetryRequests) (ctrl.Result, error) {
	err := record.Claim(ctx, e.Client, item, func(live *v1alpha1.FeedItem) bool { return requests.Apply(live, e.Clock.Now()) })
	return queue.RequeueAt(e.Clock.Now(), e.Clock.Now()), client.IgnoreNotFound(err)
}
