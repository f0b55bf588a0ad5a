// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package batches

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/apiclock"
	"github.com/feed-operator/feed-operator/internal/backoff"
	"github.com/feed-operator/feed-operator/internal/batch"
	"github.com/feed-operator/feed-operator/internal/destination"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/posting"
	"github.com/feed-operator/feed-operator/internal/queue"
	"github.com/feed-operator/feed-operator/internal/record"
	"github.com/feed-operator/feed-operator/internal/schedule"
	"github.com/feed-operator/feed-operator/internal/telemetry"
	"github.com/feed-operator/feed-operator/internal/tracing"
)

// request makes the request that is announced, again where it has failed in a way that may pass in seconds (R3.3). The outcome is nil where it was
// too late for one.
func (b *Batcher) request(ctx context.Context, namespace string, of *v1alpha1.Batch, body, key string, line *posting.Line, began time.Duration) *batch.Outcome {
	outcome := &batch.Outcome{NotAfter: of.NotAfter}
	var waited time.Duration
	for calls := 1; ; calls++ {
		remaining := b.left(of, line, began)
		if remaining <= 0 {
			if calls == 1 {
				line.Ticket.Cancel()
				return nil
			}
			return outcome
		}
		calling, cancel := context.WithTimeout(context.WithoutCancel(ctx), remaining)
		calling, span := tracing.Delivery(calling, line.Destination)
		receipt, err := line.Publisher.DeliverSafely(calling, key, destination.Post{Text: body})
		span.Fail(err)
		span.Duplicate(receipt.Duplicate)
		span.End()
		cancel()
		again := b.Services.CallEnded(line.Ticket, line.Revision, v1alpha1.StageDeliver, 0, posting.AsFailure(err))
		switch {
		case err == nil:
			outcome.Arrived, outcome.Duplicate, outcome.Failure, outcome.Uncertain = true, receipt.Duplicate, nil, false
			return outcome
		case again:
			outcome.Again, outcome.Failure, outcome.Uncertain = true, nil, false
			return outcome
		}
		known := failure.Classify(err)
		uncertain := !destination.Certain(err)
		outcome.Failure = failure.Record(err, v1alpha1.StageDeliver, line.Destination, b.Clock.Now())
		outcome.RetryAfter, outcome.Uncertain = known.RetryAfter, uncertain
		wait, may := b.InPlace.Wait(v1alpha1.StageDeliver, known, calls, waited, of.Key)
		if !may || uncertain && !repeats(line) || ctx.Err() != nil || wait+line.Timeout/2 > b.left(of, line, began) {
			return outcome
		}
		if waited += wait; !b.ticketAgain(ctx, of, line, wait) || !line.Unchanged(ctx, b.Client, b.Services, namespace) {
			return outcome
		}
		if uncertain {
			outcome.Repeated++
		}
	}
}

// left is how much is left of the time in which a request that is announced may be made: by the API server's clock, and by the time that has passed on
// this machine.
func (b *Batcher) left(of *v1alpha1.Batch, line *posting.Line, began time.Duration) time.Duration {
	return min(of.NotAfter.Sub(b.Clock.Now()), began+line.Timeout+time.Second-apiclock.PassedBy(b.Clock))
}

// ticketAgain waits, and takes another ticket for a request that is made again at once.
func (b *Batcher) ticketAgain(ctx context.Context, of *v1alpha1.Batch, line *posting.Line, wait time.Duration) bool {
	turn := b.Schedule.Enter("again/batch/" + of.Key)
	defer turn.Leave()
	select {
	case <-b.Clock.After(wait):
	case <-ctx.Done():
		return false
	}
	taken, free := turn.Try(schedule.Rank{Class: queue.ClassOthers, Name: of.Key}, queue.Only(line.Resource))
	if !free {
		return false
	}
	turn.Detach(taken[0])
	line.Ticket = taken[0]
	return true
}

// settle writes down what a request has come to, whatever happened to the destination meanwhile; while the API server takes nothing, again and
// again: what has arrived is not sent again for that. Items is how many were in the request.
// Where the destination was deleted meanwhile, it is written on the items alone, and the
// destination that it returns is nil.
func (b *Batcher) settle(ctx context.Context, live *v1alpha1.FeedDestination, key string, outcome batch.Outcome,
	line *posting.Line, items int,
) (*v1alpha1.FeedDestination, error) {
	now, policy, may := b.Clock.Now(), backoff.Of(live), repeats(line)
	known := live.DeepCopy()
	for {
		writing, cancel := record.Context(ctx)
		belongs := false
		err := record.Write[v1alpha1.FeedDestination](writing, b.Client, b.Live, live, func(d *v1alpha1.FeedDestination) bool {
			of := batchOf(d, key)
			belongs = of != nil && batch.Settle(of, outcome, policy, may, now)
			return belongs
		})
		cancel()
		if apierrors.IsNotFound(err) { // or another one has its name
			batch.Settle(batchOf(known, key), outcome, policy, may, now)
			b.report(ctx, known, key, outcome, items)
			return nil, b.handOutLast(ctx, known, line)
		}
		if err == nil {
			b.report(ctx, live, key, outcome, items)
			return live, nil
		}
		ctrl.LoggerFrom(ctx).Error(err, "Failed to update status with a batch", "destination", live.Name)
		select {
		case <-b.Clock.After(posting.AfterError):
		case <-ctx.Done():
			return nil, err
		}
	}
}

// report logs what a request with so many items came to.
func (b *Batcher) report(ctx context.Context, d *v1alpha1.FeedDestination, key string, outcome batch.Outcome, items int) {
	log := ctrl.LoggerFrom(ctx).WithValues("destination", d.Name, "batch", key, "items", items)
	if trace := tracing.ID(ctx); trace != "" {
		log = log.WithValues(telemetry.KeyTrace, trace)
	}
	switch of := batchOf(d, key); {
	case outcome.Arrived && outcome.Duplicate:
		log.Info("Duplicate data detected: the receiver had the batch already", "severity", "warning")
	case outcome.Arrived:
		log.Info("Batch sent")
	case outcome.Failure != nil && of != nil && of.NextRetryTime != nil:
		log.Info("Batch failed, will retry", "error", outcome.Failure.Message, "nextRetryTime", of.NextRetryTime.Time)
	case outcome.Failure != nil:
		log.Info("Batch refused", "severity", "warning", "error", outcome.Failure.Message)
	}
}
