// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feeditem

import (
	"context"
	"fmt"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/believable"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
	"github.com/feed-operator/feed-operator/internal/queue"
	"github.com/feed-operator/feed-operator/internal/record"
	"github.com/feed-operator/feed-operator/internal/results"
	"github.com/feed-operator/feed-operator/internal/retry"
	"github.com/feed-operator/feed-operator/internal/schedule"
)

// resultsFull is what an item waits for while no more results of its namespace can be kept, and what can be done.
const resultsFull = "other items of this namespace: the API server refuses their status updates, while it accepts others. " +
	"Results are kept in memory, and no more work starts until they are accepted. Most likely a webhook or a policy refuses FeedItems; see the operator's log"

// mayBegin reports whether to begin what costs money or what others can see: not while nothing could be written of what comes of it
// (R3.14). Who finds that out does so by writing on the item that it has waited. Else it reports when to look again.
func (r *Reconciler) mayBegin(ctx context.Context, item *v1alpha1.FeedItem) (may bool, otherwise ctrl.Result, err error) {
	now := r.Clock.Now()
	if r.Results.Kept.Full(item.Namespace) {
		if err := r.Results.MarkWaitingFor(ctx, item, []string{resultsFull}); err != nil {
			return false, otherwise, err
		}
		return false, queue.RequeueAt(now, now.Add(results.FullRecheckInterval)), nil
	}
	since, held := r.Writes.HeldSince(item.Namespace)
	if !held {
		return true, otherwise, nil
	}
	waited := fmt.Sprintf("Waited for the API server, which refused writes since %s and accepts them again at %s; queued",
		since.UTC().Format(time.RFC3339), now.UTC().Format(time.RFC3339))
	known := retry.RequestsFor(ctx, r.Client, item)
	err = record.Claim(ctx, r.Client, item, func(item *v1alpha1.FeedItem) bool {
		if !item.Terminal() {
			return lifecycle.Hold(item, waited, now)
		}
		return known.Apply(item, now) || lifecycle.DueNow(item, now)
	})
	if err != nil || !r.Writes.Held(item.Namespace) {
		return err == nil, otherwise, err
	}
	return false, queue.RequeueAt(now, now.Add(time.Second)), nil // nothing was to be written, so nothing is known
}

// writeKept writes what is kept of an item, when it is its turn to find out whether that is taken. Nothing else is done with the item
// before that.
func (r *Reconciler) writeKept(ctx context.Context, turn *schedule.Turn, item *v1alpha1.FeedItem, notBefore time.Time) (ctrl.Result, error) {
	now := r.Clock.Now()
	if notBefore.After(now) && believable.Coming(notBefore, now, 2*results.LongestResultWait) && !r.Writes.Held(item.Namespace) {
		return ctrl.Result{}, nil // it is woken then
	}
	if _, granted := r.mayWork(turn, item); !granted {
		return ctrl.Result{}, nil
	}
	err := r.Results.WriteAllKept(ctx, client.ObjectKeyFromObject(item))
	if err != nil && !r.Writes.Held(item.Namespace) {
		ctrl.LoggerFrom(ctx).Error(err, "Result still refused while other items are accepted, kept in memory")
		r.Results.TryLater(item)
		return ctrl.Result{}, nil
	}
	return queue.RequeueAt(now, now), err
}
