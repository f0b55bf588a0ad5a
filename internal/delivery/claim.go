// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"context"
	"time"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/apiclock"
	"github.com/feed-operator/feed-operator/internal/destination"
	"github.com/feed-operator/feed-operator/internal/itemcache"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
	"github.com/feed-operator/feed-operator/internal/record"
	"github.com/feed-operator/feed-operator/internal/retry"
	"github.com/feed-operator/feed-operator/internal/tracing"
)

// runDelivery works on one delivery: it looks for a post that may have been published already, claims
// one that is to be made, and makes it. It returns the item as it is then; nil where somebody else
// works on the delivery.
func (e *Engine) runDelivery(ctx context.Context, item *v1alpha1.FeedItem, source *v1alpha1.FeedSource, p *post) (*v1alpha1.FeedItem, error) {
	p.retryRequests = retry.RequestsFor(ctx, e.Client, item)
	view := withRetryRequests(item, p.retryRequests, e.Clock.Now())
	began, freed := *lifecycle.RowOf(item, p.Destination), *lifecycle.RowOf(view, p.Destination)
	if p.decided == nil && lifecycle.MustLookUp(&freed) {
		p.decided = e.find(ctx, view, source, p, &freed)
	}
	if ctx.Err() != nil {
		return nil, nil // the manager is stopping: no new claim
	}
	var unfit error
	if p.Publisher != nil {
		var err error
		if p.memory, err = e.Posted.At(ctx, p.Target); err != nil {
			return nil, err // nothing is posted before it is known what was
		}
		if p.decided == nil && p.doubt != nil {
			if p.decided = e.resolveDoubt(ctx, view, source, p, freed); p.decided == nil {
				return nil, nil // the manager is stopping
			}
		}
		e.remember(ctx, item, p, p.decided)
		p.doubtResolved(false)
		p.publication, unfit = p.compose(e.Names, item, source)
	}
	decidedAt := e.Clock.Now() // the same however often it is written
	wants := p.mayPost(ctx, e, item, source)
	if p.illustrate(ctx, e, view, wants, unfit, decidedAt) {
		if ctx.Err() != nil {
			return nil, nil
		}
		wants = p.mayPost(ctx, e, item, source)
	}
	source = wants
	before := item.DeepCopy()
	claimed, lost := false, false
	p.claimed = apiclock.PassedBy(e.Clock)
	var history []v1alpha1.HistoryEntry
	writing, cancel := record.Context(ctx) // a stop that comes now would leave an intent without a call
	defer cancel()
	err := e.Results.RecordItem(writing, p.source, item, record.TriesInPlace, func(live *v1alpha1.FeedItem) bool {
		claimed, lost = false, false
		if row := lifecycle.RowOf(live, p.Destination); live.UID != before.UID || row == nil || !sameState(row, &began) && !sameState(row, &freed) {
			lost = true // somebody else has gone on with it, or it was taken and only the answer to that was lost
			return false
		}
		history = live.Status.History
		p.retryRequests.Apply(live, e.Clock.Now())
		claimed = e.claimPost(live, source, p, unfit, decidedAt)
		return true
	})
	if err != nil || lost {
		e.noteTaken(before, item, p, p.decided, decidedAt)
		return nil, err
	}
	p.endHold(item)
	e.Images.written(item, p)
	p.doubtResolved(true)
	e.Observed.ForgetEnded(item)
	e.streamDelivery(history, item, p, p.decided, tracing.ID(ctx))
	if before.Status.Phase != item.Status.Phase || lifecycle.DeadLetter(&before.Status, item) {
		e.Results.EmitEvents(before, item)
	}
	if !claimed {
		return item, nil
	}
	return e.publish(ctx, item, p)
}

// mayPost is Engine.mayPost for a destination that has to be as it was when the work began: else what is decided is written, and it is
// posted where the destination posts now, if it does.
func (p *post) mayPost(ctx context.Context, e *Engine, item *v1alpha1.FeedItem, known *v1alpha1.FeedSource) *v1alpha1.FeedSource {
	source := e.mayPost(ctx, item, known)
	if !p.Unchanged(ctx, e.Client, e.Services, item.Namespace) {
		return nil
	}
	return source
}

// mayPost reads again, right before a post is claimed, whether the source of an item wants posts: what came before may
// have taken minutes, and somebody may have stopped it meanwhile. It returns the source as it is now; nil: there is to be no post.
func (e *Engine) mayPost(ctx context.Context, item *v1alpha1.FeedItem, known *v1alpha1.FeedSource) *v1alpha1.FeedSource {
	source, err := itemcache.SourceOf(ctx, e.Client, item)
	if err != nil || source == nil || source.Spec.Suspend {
		return nil
	}
	if source.Generation < known.Generation { // the cache is behind what is known already
		return known
	}
	return source
}

// claimPost writes on an item what is decided about a delivery and, if it is to be posted now, the
// intent; it reports whether that is so. Without a source nothing is posted now.
func (e *Engine) claimPost(item *v1alpha1.FeedItem, source *v1alpha1.FeedSource, p *post, unfit error, decidedAt time.Time) bool {
	now := e.Clock.Now()
	row := lifecycle.RowOf(item, p.Destination)
	settle := func(outcome lifecycle.DeliveryOutcome, at time.Time) bool {
		outcome.Destination, outcome.Token = p.Destination, lifecycle.Token(item)
		outcome.RetryRequests = p.retryRequests
		if row.State == v1alpha1.DeliveryIntent {
			outcome.NotAfter = row.NotAfter
		}
		return lifecycle.SettleDelivery(item, outcome, p.Policy, at)
	}
	if p.decided != nil && !settle(*p.decided, decidedAt) {
		return false
	}
	if at, open := lifecycle.Due(row, now); !open || at.After(now) {
		return false // it has ended, or is not to be posted yet
	}
	if row.Image == nil { // also where nothing is announced now: it is not uploaded again
		row.Image = p.image
	}
	switch {
	case source == nil:
		return false
	case !source.Delivers(p.Destination):
		settle(lifecycle.DeliveryOutcome{Dropped: true}, now)
	case unfit != nil && lifecycle.MustLookUp(row):
		settle(lifecycle.DeliveryOutcome{Unverifiable: true}, now)
	case unfit != nil:
		settle(p.failed(unfit, e.Clock.Now()), now)
	case p.notUploaded != nil:
		settle(*p.notUploaded, now)
	default:
		before, mine := p.hold(item, source, now)
		if before != nil {
			settle(p.alreadyPosted(*before), now)
		}
		if !mine {
			return false
		}
		if !p.Images { // they were turned off since it was uploaded
			row.Image = nil
		}
		lifecycle.Intend(item, p.Destination, destination.TextHash(p.publication), p.Timeout, now)
		return true
	}
	return false
}

// sameState reports whether a delivery still stands where the work on it began.
func sameState(row, began *v1alpha1.Delivery) bool {
	return row.State == began.State && row.FailedAttempts == began.FailedAttempts &&
		row.NotAfter.Equal(began.NotAfter) && row.Key == began.Key
}
