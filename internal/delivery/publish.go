// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"context"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/apiclock"
	"github.com/feed-operator/feed-operator/internal/conditions"
	"github.com/feed-operator/feed-operator/internal/destination"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
	"github.com/feed-operator/feed-operator/internal/posting"
	"github.com/feed-operator/feed-operator/internal/queue"
	"github.com/feed-operator/feed-operator/internal/retry"
	"github.com/feed-operator/feed-operator/internal/telemetry"
	"github.com/feed-operator/feed-operator/internal/tracing"
)

// publish makes a post whose intent is written on the item, and returns the item with its result; nil
// where the result does not belong on it any more. A stop of the manager does not end a call. One that has failed in a way that may
// pass in seconds is made again once a while has passed (R3.3): the intent that is on the item covers all these calls.
func (e *Engine) publish(ctx context.Context, item *v1alpha1.FeedItem, p *post) (*v1alpha1.FeedItem, error) {
	e.Observed.Observe(item, e.Clock)
	outcome, wait := e.call(ctx, item, p)
	if outcome == nil {
		return item, nil
	}
	for wait > 0 && e.mayCallAgain(ctx, item, p, wait) {
		if outcome.Uncertain {
			p.repeated++
		}
		last, next := e.call(ctx, item, p)
		if last == nil {
			break
		}
		outcome, wait = last, next
	}
	return e.recordDelivery(ctx, item, p, *outcome)
}

// mayCallAgain waits, and then takes another ticket for a post that is still wanted; also for a
// destination that is busy, as long as the waits of the attempt allow that.
func (e *Engine) mayCallAgain(ctx context.Context, item *v1alpha1.FeedItem, p *post, wait time.Duration) bool {
	turn := e.Schedule.Enter("again/" + string(item.UID) + "/" + p.Destination)
	defer turn.Leave()
	for {
		select {
		case <-e.Clock.After(wait):
		case <-ctx.Done(): // what has failed is written down before the operator ends
			return false
		}
		if !e.stillWanted(ctx, item, p) || !e.timeForCall(item, p, 0) || e.Writes.Held(item.Namespace) {
			return false
		}
		if taken, free := turn.Try(deliveryRank(item), queue.Only(p.Resource)); free { // it has its place all the time
			turn.Detach(taken[0])
			p.Ticket = taken[0]
			return true
		}
		free, known, _ := e.Schedule.Wait(p.Resource)
		wait = free.Sub(e.Clock.Now())
		if p.waited += wait; !known || wait <= 0 || p.waited > e.InPlace.MaxWait {
			return false
		}
	}
}

// stillWanted reports whether a post is to be made as it was when its intent was written.
func (e *Engine) stillWanted(ctx context.Context, item *v1alpha1.FeedItem, p *post) bool {
	var now v1alpha1.FeedItem
	if err := e.Client.Get(ctx, client.ObjectKeyFromObject(item), &now); err != nil || now.UID != item.UID || !now.DeletionTimestamp.IsZero() {
		return false
	}
	if source := e.mayPost(ctx, item, p.source); source == nil || !source.Delivers(p.Destination) {
		return false
	}
	return p.Unchanged(ctx, e.Client, e.Services, item.Namespace)
}

// timeForCall reports whether after a wait half of the destination's timeout is left of the intent: a call
// that is cut off by its end turns a failure that is certain into one that nobody knows the end of.
func (e *Engine) timeForCall(item *v1alpha1.FeedItem, p *post, wait time.Duration) bool {
	return wait+p.Timeout/2 <= p.remaining(lifecycle.RowOf(item, p.Destination), e.Clock)
}

// remaining is how much of an intent is left: by the API server's clock, and, where that was set back, by the time that has passed here since
// before the intent was written. A process that was frozen meanwhile finds none.
func (p *post) remaining(row *v1alpha1.Delivery, clock interface{ Now() time.Time }) time.Duration {
	const rounding = time.Second // of the time that is written
	return min(row.NotAfter.Sub(clock.Now()), p.claimed+p.Timeout+rounding-apiclock.PassedBy(clock))
}

// call makes one call with the ticket of the post, and says after which wait it is to be made again;
// 0 is for never. The outcome is nil where it was too late for a call.
func (e *Engine) call(ctx context.Context, item *v1alpha1.FeedItem, p *post) (*lifecycle.DeliveryOutcome, time.Duration) {
	row := lifecycle.RowOf(item, p.Destination)
	if !lifecycle.Announced(row) { // whatever has become of the intent: without it there is no call
		p.Ticket.Cancel()
		return nil, 0
	}
	notAfter := row.NotAfter.DeepCopy()
	remaining := p.remaining(row, e.Clock)
	if remaining <= 0 { // this process was stopped for so long that another may be at it
		p.Ticket.Cancel()
		ctrl.LoggerFrom(ctx).Info("Post not made: its deadline has passed", "destination", p.Destination)
		return nil, 0
	}
	attempt := telemetry.Attempt{Began: e.Clock.Now(), Trace: tracing.ID(ctx)}
	e.Stream.StageStarted(item, attempt, v1alpha1.StageDeliver, p.Destination, attempt.Began)
	calling, cancel := context.WithTimeout(context.WithoutCancel(ctx), remaining)
	defer cancel()
	publication := p.publication
	if row.Image != nil { // as it is announced, so that whoever makes the call again sends the same
		publication.ImageID = row.Image.ID
	}
	calling, span := tracing.Delivery(calling, p.Destination)
	receipt, err := p.Publisher.DeliverSafely(calling, row.Key, publication)
	span.Fail(err)
	span.Duplicate(receipt.Duplicate)
	span.End()
	again := e.Services.CallEnded(p.Ticket, p.Revision, v1alpha1.StageDeliver, 0, posting.AsFailure(err))

	outcome := &lifecycle.DeliveryOutcome{Destination: p.Destination}
	var wait time.Duration
	switch {
	case err == nil:
		outcome.Posted, outcome.ID, outcome.URL = true, conditions.Cut(receipt.ID, 128), conditions.Cut(receipt.URL, 2048)
		outcome.Duplicate = receipt.Duplicate
	case publication.ImageID != "" && p.repeated == 0 && destination.MayBlameImage(err):
		p.imageRefused(ctx, outcome, err, e.Clock.Now())
		e.Stream.CallFailed(item, attempt, v1alpha1.StageDeliver, p.Destination, failure.Classify(err), e.Clock.Now())
	case again:
		outcome.Again = true
		e.Stream.CallFailed(item, attempt, v1alpha1.StageDeliver, p.Destination, failure.Classify(err), e.Clock.Now())
	default:
		*outcome = p.failed(err, e.Clock.Now())
		uncertain := !destination.Certain(err)
		if (!uncertain || p.repeats()) && ctx.Err() == nil {
			wait = e.waitInPlace(item, p, failure.Classify(err))
		}
		outcome.Uncertain = uncertain || p.repeated > 0
		outcome.ImageAgain = p.imageMayCome // the server was away for both
		if wait > 0 {
			e.Stream.CallFailed(item, attempt, v1alpha1.StageDeliver, p.Destination, failure.Classify(err), e.Clock.Now())
		}
	}
	outcome.NotAfter, outcome.Token, outcome.Began = notAfter, lifecycle.Token(item), attempt.Began
	outcome.Repeated = p.repeated
	return outcome, wait
}

// waitInPlace is how long to wait before a failed call is made again within its intent, 0 where it is
// not.
func (e *Engine) waitInPlace(item *v1alpha1.FeedItem, p *post, failed *failure.Error) time.Duration {
	p.calls++
	wait, again := e.InPlace.Wait(v1alpha1.StageDeliver, failed, p.calls, p.waited, string(item.UID)+"/"+p.Destination)
	if !again || !e.timeForCall(item, p, wait) {
		return 0
	}
	p.waited += wait
	return wait
}

// recordDelivery writes down what a delivery has come to, whatever happened to the item meanwhile. Where the API server does not
// take it, it is kept: then there is neither an item nor an error.
func (e *Engine) recordDelivery(ctx context.Context, item *v1alpha1.FeedItem, p *post,
	outcome lifecycle.DeliveryOutcome,
) (*v1alpha1.FeedItem, error) {
	e.remember(ctx, item, p, &outcome)
	outcome.RetryRequests = retry.RequestsFor(context.WithoutCancel(ctx), e.Client, item) // those that came during the call too: it counts for them
	return e.Results.WriteResult(ctx, item, &deliveryResult{
		engine: e, post: p, before: item.DeepCopy(), outcome: outcome, at: e.Clock.Now(), trace: tracing.ID(ctx),
	})
}
