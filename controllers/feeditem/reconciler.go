// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feeditem

import (
	"context"

	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/attempt"
	"github.com/feed-operator/feed-operator/internal/backoff"
	"github.com/feed-operator/feed-operator/internal/crdcheck"
	"github.com/feed-operator/feed-operator/internal/delivery"
	"github.com/feed-operator/feed-operator/internal/itemcache"
	"github.com/feed-operator/feed-operator/internal/itemwrites"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
	"github.com/feed-operator/feed-operator/internal/notices"
	"github.com/feed-operator/feed-operator/internal/queue"
	"github.com/feed-operator/feed-operator/internal/record"
	"github.com/feed-operator/feed-operator/internal/results"
	"github.com/feed-operator/feed-operator/internal/retry"
	"github.com/feed-operator/feed-operator/internal/schedule"
	"github.com/feed-operator/feed-operator/internal/telemetry"
)

// Reconciler works on items until they are processed or have failed for good: it finds the first thing that is missing, and
// has it done.
type Reconciler struct {
	Clock clock.WithDelayedExecution
	// Client reads from the cache and writes.
	Client client.Client
	// Live reads from the API server.
	Live client.Reader
	// Fresh is shared with the controller of sources, which makes the items.
	Fresh *itemcache.Fresh
	// Writes knows what has become of what Client has written.
	Writes   *itemwrites.Writes
	Recorder events.EventRecorder
	Stream   telemetry.Stream
	Schedule *schedule.Schedule
	Waker    *queue.Waker
	// Recordable knows whether what comes of the work can be written down.
	Recordable *crdcheck.Checker
	// Notifier sends the notifications of items that have failed for good.
	Notifier *notices.Notifier
	// Workers is how many items of one source are worked on at the same time at most (queue.LimitOf).
	Workers int

	Results    *results.Results
	Attempts   *attempt.Engine
	Deliveries *delivery.Engine
}

// +kubebuilder:rbac:groups=feeds.feed-operator.io,resources=feeditems,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups=feeds.feed-operator.io,resources=feeditems/status,verbs=patch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create

// Reconcile looks at what is recorded of an item, and does the first thing that is missing.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	select {
	case <-r.Schedule.Opened(): // who goes first is known then
	case <-ctx.Done():
		return ctrl.Result{}, nil
	}
	turn := r.Schedule.Enter(queue.Key(queue.ItemKey, request.NamespacedName))
	defer turn.Leave()

	// The cache says whether there may be something to do; what is done follows from a live read, or from the item as it was made just now.
	var cached v1alpha1.FeedItem
	if err := r.Client.Get(ctx, request.NamespacedName, &cached); err != nil {
		if gone := client.IgnoreNotFound(err) == nil; gone {
			r.Results.Kept.Drop(request.NamespacedName)
			r.Results.TakeUnread(request.NamespacedName)
			r.Writes.Forget(ctx, request.NamespacedName)
		}
		r.Attempts.Open.Drop(request.NamespacedName)
		r.Deliveries.Observed.Drop(request.NamespacedName)
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	result, err := r.reconcileCached(ctx, turn, &cached)
	if err != nil && r.Writes.Held(cached.Namespace) { // it is tried again when it is its turn
		ctrl.LoggerFrom(ctx).V(1).Info("Postponed while the API server refuses writes", "error", err.Error())
		r.Writes.Tried(&cached)
		r.Writes.Wait(turn, &cached)
		return ctrl.Result{}, nil
	}
	return result, err
}

// reconcileCached is Reconcile for an item of which the cached form is known.
func (r *Reconciler) reconcileCached(ctx context.Context, turn *schedule.Turn, cached *v1alpha1.FeedItem) (ctrl.Result, error) {
	name := client.ObjectKeyFromObject(cached)
	r.Deliveries.Observed.Observe(cached, r.Clock)
	if notBefore, kept := r.Results.Kept.Has(name); kept {
		return r.writeKept(ctx, turn, cached, notBefore)
	}
	step := r.next(ctx, cached)
	if step.Action == lifecycle.Rest {
		r.Attempts.Open.Drop(name)
	}
	unread := r.Results.TakeUnread(name)
	if done, result := r.Results.NothingToDo(cached, step); done && !unread {
		r.Writes.Forget(ctx, name) // what waits for it to find out whether writes are taken again would wait for good
		r.Deliveries.QueueForDestination(turn, cached)
		return result, nil
	}
	if r.Recordable.Why(crdcheck.KindItem, crdcheck.KindMemory) != "" { // its source says why, and it comes back when that is over
		r.Writes.Forget(ctx, name)
		return ctrl.Result{}, nil
	}
	source, err := itemcache.SourceOf(ctx, r.Client, cached)
	if err != nil {
		return ctrl.Result{}, err
	}
	if source == nil || source.Spec.Suspend { // a change of the source brings its items back
		r.Writes.Forget(ctx, name)
		return ctrl.Result{}, nil
	}
	found, granted := r.mayWork(turn, cached)
	if !granted {
		return ctrl.Result{}, nil // parked: woken when it is the turn of its source
	}
	if step.Action == lifecycle.Deliver && !unread {
		if waits, err := r.waitForBatches(ctx, turn, cached, source); err != nil || waits {
			return ctrl.Result{}, err
		}
	}
	item := r.Fresh.Take(ctx, cached, r.Clock.Now())
	if item == nil {
		item = &v1alpha1.FeedItem{}
		if err := r.Live.Get(ctx, name, item); err != nil {
			return ctrl.Result{}, client.IgnoreNotFound(err)
		}
	}
	return r.reconcileLive(ctx, turn, found, item, source)
}

// waitForBatches has an item wait for batches, where by the cache that is all that is next of it, and reports whether it is.
func (r *Reconciler) waitForBatches(ctx context.Context, turn *schedule.Turn, cached *v1alpha1.FeedItem, source *v1alpha1.FeedSource) (bool, error) {
	if r.Writes.Held(cached.Namespace) {
		return false, nil
	}
	return r.Deliveries.WaitForBatches(ctx, turn, cached, source)
}

// reconcileLive does the first thing that is missing on a live item, whose turn it is.
func (r *Reconciler) reconcileLive(ctx context.Context, turn *schedule.Turn, try itemwrites.Probe, item *v1alpha1.FeedItem,
	source *v1alpha1.FeedSource,
) (ctrl.Result, error) {
	step := r.next(ctx, item)
	if done, result := r.Results.NothingToDo(item, step); done {
		r.Writes.Forget(ctx, client.ObjectKeyFromObject(item))
		return result, nil
	}
	if step.Action == lifecycle.Reset {
		if forced(item) { // what was changed before that counts for it, though the cache may not have heard of the change
			live, err := itemcache.SourceOf(ctx, r.Live, item)
			if err != nil || live == nil || live.Spec.Suspend {
				return ctrl.Result{}, err
			}
			source = live
		}
		if err := r.reset(ctx, item, source); err != nil {
			return ctrl.Result{}, err
		}
		step = r.next(ctx, item)
	}
	switch step.Action {
	case lifecycle.Acknowledge:
		return ctrl.Result{}, r.acknowledge(ctx, item)
	case lifecycle.Finish:
		return ctrl.Result{}, r.finish(ctx, item, source)
	case lifecycle.Summarize, lifecycle.Deliver, lifecycle.SendNotifications:
		if may, otherwise, err := r.mayBegin(ctx, item); err != nil || !may {
			return otherwise, err
		}
		try.End() // what is begun now may take minutes
		return r.begin(ctx, turn, item, source, step.Action)
	case lifecycle.Rest, lifecycle.Wait, lifecycle.Reset:
	}
	_, result := r.Results.NothingToDo(item, step)
	return result, nil
}

// begin begins what may call others.
func (r *Reconciler) begin(ctx context.Context, turn *schedule.Turn, item *v1alpha1.FeedItem, source *v1alpha1.FeedSource,
	action lifecycle.Action,
) (ctrl.Result, error) {
	switch {
	case action == lifecycle.Deliver:
		return r.Deliveries.Deliver(ctx, turn, item, source)
	case action == lifecycle.SendNotifications:
		return r.notify(ctx, turn, item, source)
	case item.Terminal(): // its retry was requested, and it may have to wait long for its turn
		if _, err := r.notify(ctx, turn, item, source); err != nil {
			return ctrl.Result{}, err
		}
	}
	return r.Attempts.Summarize(ctx, turn, item, source)
}

// mayWork takes a place for the work on an item; without one the item is parked, and so it is while nothing can be written on it,
// but for the one that is to find out.
func (r *Reconciler) mayWork(turn *schedule.Turn, item *v1alpha1.FeedItem) (try itemwrites.Probe, granted bool) {
	if r.Writes.Held(item.Namespace) {
		var taken []*schedule.Ticket
		if taken, granted = turn.AcquireAll(r.Writes.Rank(item), itemwrites.ProbeNeeds(item)...); granted {
			try = taken[1:]
		}
	} else {
		_, granted = turn.Acquire(attempt.RankOf(item, r.Clock.Now()), queue.ItemPlaces)
	}
	if !granted {
		turn.KeepWaiting()
	}
	return try, granted
}

// next decides what is to be done with an item, also with one that failed for credentials that
// were replaced, and with one that a person wants to have retried with all that failed with it.
func (r *Reconciler) next(ctx context.Context, item *v1alpha1.FeedItem) lifecycle.Step {
	step := lifecycle.Next(item, r.Clock.Now())
	switch step.Action {
	case lifecycle.Rest, lifecycle.Wait, lifecycle.Deliver, lifecycle.SendNotifications:
		if lifecycle.Revived(item, retry.RestoredBy(ctx, r.Client, item.Namespace)) {
			step.Action = lifecycle.Reset
			break
		}
		step = r.nextWithRetryRequests(ctx, item, step)
	case lifecycle.Acknowledge, lifecycle.Reset, lifecycle.Summarize, lifecycle.Finish:
	}
	return step
}

// acknowledge notes a forced retry of an item that is done.
func (r *Reconciler) acknowledge(ctx context.Context, item *v1alpha1.FeedItem) error {
	return record.Claim(ctx, r.Client, item, func(item *v1alpha1.FeedItem) bool {
		item.Status.LastHandledRetry = lifecycle.Token(item)
		return true
	})
}

// forced reports whether a person wants an item to be tried again, and that was not done yet.
func forced(item *v1alpha1.FeedItem) bool {
	return lifecycle.Token(item) != item.Status.LastHandledRetry
}

// reset makes an item due that a person wants to have tried again, and notes the token with it:
// should the attempt that follows be cut off, the item is still due, and the token used up.
func (r *Reconciler) reset(ctx context.Context, item *v1alpha1.FeedItem, source *v1alpha1.FeedSource) error {
	revived, forced := item.Terminal(), forced(item)
	err := record.Claim(ctx, r.Client, item, func(item *v1alpha1.FeedItem) bool {
		lifecycle.RetryNow(item, backoff.Of(source), r.Clock.Now())
		return true
	})
	if err != nil {
		return err
	}
	if revived && forced { // new credentials revive many at once, and their own Event speaks for them
		telemetry.ItemRevived(r.Recorder, item)
	}
	r.Stream.ItemRetried(item, revived, forced, r.Clock.Now())
	return nil
}

// finish ends an item that has everything but does not say so, because an attempt was cut off.
func (r *Reconciler) finish(ctx context.Context, item *v1alpha1.FeedItem, source *v1alpha1.FeedSource) error {
	before := item.DeepCopy()
	err := r.Results.ClaimItem(ctx, source, item, func(item *v1alpha1.FeedItem) bool {
		lifecycle.Complete(item, backoff.Of(source), r.Clock.Now())
		return true
	})
	if err == nil {
		r.Results.EmitEvents(before, item)
		r.Waker.ItemLater(client.ObjectKeyFromObject(item), 0) // it may have to be told of
	}
	return err
}
