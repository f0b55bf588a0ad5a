// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/conditions"
	"github.com/feed-operator/feed-operator/internal/destination"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
	"github.com/feed-operator/feed-operator/internal/posting"
	"github.com/feed-operator/feed-operator/internal/queue"
	"github.com/feed-operator/feed-operator/internal/retry"
	"github.com/feed-operator/feed-operator/internal/telemetry"
)

// publish makes a post whose intent is written on the item, and returns the item with its result; nil
// where the result does not belong on it any more, or is still to come. A stop of the manager does
// not end a call. One that has failed in a way that may pass in seconds is made again, apart (R3.3).
func (r *deliveries) publish(ctx context.Context, item *v1alpha1.FeedItem, p *post) (*v1alpha1.FeedItem, error) {
	r.sighted.see(item, r.Clock)
	outcome, wait := r.call(ctx, item, p)
	if outcome == nil {
		return item, nil
	}
	if wait == 0 {
		return r.recordDelivery(ctx, item, p, *outcome)
	}
	again := func(ctx context.Context, item *v1alpha1.FeedItem, p *post) (*v1alpha1.FeedItem, error) {
		return r.publishAgain(ctx, item, p, *outcome, wait)
	}
	if p.apart {
		return again(ctx, item, p)
	}
	if !r.underWay.Begin(item, p.Destination) { // somebody is at it in another way
		return r.recordDelivery(ctx, item, p, *outcome)
	}
	repeated, apart := *p, item.DeepCopy()
	repeated.apart, p.Place, p.holds = true, nil, "" // it keeps the place, also while it waits
	r.Background.Run(func() { r.workApart(ctx, apart, &repeated, again) })
	return nil, nil
}

// publishAgain makes a call again, once a while has passed, until it succeeds or is not to be
// repeated any more. The intent that is on the item covers all these calls.
func (r *deliveries) publishAgain(ctx context.Context, item *v1alpha1.FeedItem, p *post,
	outcome lifecycle.DeliveryOutcome, wait time.Duration,
) (*v1alpha1.FeedItem, error) {
	for wait > 0 && r.mayCallAgain(ctx, item, p, wait) {
		last, next := r.call(ctx, item, p)
		if last == nil {
			break
		}
		outcome, wait = *last, next
	}
	return r.recordDelivery(ctx, item, p, outcome)
}

// mayCallAgain waits, and then takes another ticket for a post that is still wanted; also for a
// destination that is busy, as long as the waits of the attempt allow that.
func (r *deliveries) mayCallAgain(ctx context.Context, item *v1alpha1.FeedItem, p *post, wait time.Duration) bool {
	turn := r.Schedule.Enter("again/" + string(item.UID) + "/" + p.Destination)
	defer turn.Leave()
	for {
		select {
		case <-r.Clock.After(wait):
		case <-ctx.Done(): // what has failed is written down before the operator ends
			return false
		}
		if !r.stillWanted(ctx, item, p) || !r.timeForCall(item, p, 0) || r.Writes.Held(item.Namespace) {
			return false
		}
		if taken, free := turn.Try(deliveryRank(item), queue.Only(p.Resource)); free { // it has its place all the time
			turn.Entrust(taken[0])
			p.Ticket = taken[0]
			return true
		}
		free, known, _ := r.Schedule.Wait(p.Resource)
		wait = free.Sub(r.Clock.Now())
		if p.waited += wait; !known || wait <= 0 || p.waited > r.InPlace.MaxWait {
			return false
		}
	}
}

// stillWanted says that a post is to be made as it was when its intent was written.
func (r *deliveries) stillWanted(ctx context.Context, item *v1alpha1.FeedItem, p *post) bool {
	var now v1alpha1.FeedItem
	if err := r.Client.Get(ctx, client.ObjectKeyFromObject(item), &now); err != nil || now.UID != item.UID || !now.DeletionTimestamp.IsZero() {
		return false
	}
	if source := r.mayPost(ctx, item); source == nil || !source.Delivers(p.Destination) {
		return false
	}
	_, revision, _, _ := r.Services.Standing(p.Resource)
	return revision == p.Revision
}

// timeForCall says that after a wait half of the destination's timeout is left of the intent: a call
// that is cut off by its end turns a failure that is certain into one that nobody knows the end of.
func (r *deliveries) timeForCall(item *v1alpha1.FeedItem, p *post, wait time.Duration) bool {
	notAfter := lifecycle.RowOf(item, p.Destination).NotAfter
	return !r.Clock.Now().Add(wait + p.Timeout/2).After(notAfter.Time)
}

// call makes one call with the ticket of the post, and says after which wait it is to be made again;
// 0 is for never. The outcome is nil where it was too late for a call.
func (r *deliveries) call(ctx context.Context, item *v1alpha1.FeedItem, p *post) (*lifecycle.DeliveryOutcome, time.Duration) {
	row := lifecycle.RowOf(item, p.Destination)
	if !lifecycle.Announced(row) { // whatever has become of the intent: without it there is no call
		p.Ticket.Release()
		return nil, 0
	}
	notAfter := row.NotAfter.DeepCopy()
	remaining := min(notAfter.Sub(r.Clock.Now()), p.Timeout+time.Second) // the intent is of this moment, whatever was done to the clock since
	if remaining <= 0 {                                                  // this process was stopped for so long that another may be at it
		p.Ticket.Release()
		ctrl.LoggerFrom(ctx).Info("Post not made: its time has passed", "destination", p.Destination)
		return nil, 0
	}
	attempt := telemetry.Attempt{Began: r.Clock.Now()}
	r.Stream.StageStarted(item, attempt, v1alpha1.StageDeliver, p.Destination, attempt.Began)
	calling, cancel := context.WithTimeout(context.WithoutCancel(ctx), remaining)
	defer cancel()
	receipt, err := p.Publisher.DeliverSafely(calling, row.Key, p.publication)
	again := r.Services.CallEnded(p.Ticket, p.Revision, v1alpha1.StageDeliver, 0, posting.AsFailure(err))

	outcome := &lifecycle.DeliveryOutcome{Destination: p.Destination}
	var wait time.Duration
	switch {
	case err == nil:
		outcome.Posted, outcome.ID, outcome.URL = true, conditions.Cut(receipt.ID, 128), conditions.Cut(receipt.URL, 2048)
	case again:
		outcome.Again = true
		r.Stream.CallFailed(item, attempt, v1alpha1.StageDeliver, p.Destination, failure.Classify(err), r.Clock.Now())
	default:
		*outcome = r.deliveryFailed(p, err)
		outcome.Uncertain = !destination.Certain(err)
		if !outcome.Uncertain && ctx.Err() == nil {
			wait = r.waitInPlace(item, p, failure.Classify(err))
		}
		if wait > 0 {
			r.Stream.CallFailed(item, attempt, v1alpha1.StageDeliver, p.Destination, failure.Classify(err), r.Clock.Now())
		}
	}
	outcome.NotAfter, outcome.Token, outcome.Began = notAfter, lifecycle.Token(item), attempt.Began
	return outcome, wait
}

// waitInPlace is how long to wait before a failed call is made again within its intent, 0 where it is
// not.
func (r *deliveries) waitInPlace(item *v1alpha1.FeedItem, p *post, failed *failure.Error) time.Duration {
	p.calls++
	wait, again := r.InPlace.Wait(v1alpha1.StageDeliver, failed, p.calls, p.waited, string(item.UID)+"/"+p.Destination)
	if !again || !r.timeForCall(item, p, wait) {
		return 0
	}
	p.waited += wait
	return wait
}

// recordDelivery writes down what a delivery has come to, whatever happened to the item meanwhile. Where the API server does not
// take it, it is kept: then there is neither an item nor an error.
func (r *deliveries) recordDelivery(ctx context.Context, item *v1alpha1.FeedItem, p *post,
	outcome lifecycle.DeliveryOutcome,
) (*v1alpha1.FeedItem, error) {
	r.remember(ctx, item, p, &outcome)
	outcome.Releases = retry.ReleasesOf(context.WithoutCancel(ctx), r.Client, item) // those that came during the call too: it counts for them
	return r.results.writeResult(ctx, item, &deliveryResult{
		engine: r, post: p, before: item.DeepCopy(), outcome: outcome, at: r.Clock.Now(),
	})
}
