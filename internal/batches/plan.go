// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package batches

import (
	"context"
	"time"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/batch"
	"github.com/feed-operator/feed-operator/internal/believable"
)

// plan is what is to be done for the batches of a destination.
type plan struct {
	// at is when the next request is due; zero for none.
	at time.Time
	// batch is which of the batches it is of; -1 is for a new one.
	batch int
	// ended is set if there are results that are to be written on their items, or to be removed.
	ended bool
	// refused is in how long a result is written again that was not taken; zero for none.
	refused time.Duration
	// oldest is when the first of the items that are to be sent was published.
	oldest time.Time
}

// refusedUntil is when a result is written again that was not taken; zero for none.
func (p plan) refusedUntil(now time.Time) time.Time {
	if p.refused == 0 {
		return time.Time{}
	}
	return now.Add(p.refused)
}

// plan finds out what is next: what was tried before goes first.
func (b *Batcher) plan(ctx context.Context, described *v1alpha1.FeedDestination) (plan, error) {
	now := b.Clock.Now()
	next := plan{batch: -1, oldest: now}
	open, left := 0, 0
	for i := range described.Status.Batches {
		of := &described.Status.Batches[i]
		results, refused := b.hasResults(described, of)
		next.ended = next.ended || results
		if refused > 0 && (next.refused == 0 || refused < next.refused) {
			next.refused = refused
		}
		if !batch.Open(of) {
			left += len(of.Members)
			continue
		}
		open++
		at := b.dueAgain(described, of, now)
		if next.at.IsZero() || at.Before(next.at) {
			next.at, next.batch = at, i
			if of.FirstAttemptTime != nil {
				next.oldest = of.FirstAttemptTime.Time
			}
		}
	}
	full := open >= v1alpha1.MaxBatches || len(described.Status.Batches) >= v1alpha1.MaxKeptBatches || left >= v1alpha1.DefaultBatchItems
	if described.Batch() == nil || full || next.batch >= 0 && !next.at.After(now) {
		return next, nil
	}
	waiting, err := b.waiting(ctx, described)
	if err != nil || len(waiting) == 0 {
		return next, err
	}
	if due := dueOf(waiting, described, now); next.at.IsZero() || due.Before(next.at) {
		next.at, next.batch, next.oldest = due, -1, waiting[0].Published().Time
	}
	return next, nil
}

// dueAgain is when the next request of a batch is due that was begun: not while one that was announced may still be under way.
func (b *Batcher) dueAgain(described *v1alpha1.FeedDestination, of *v1alpha1.Batch, now time.Time) time.Time {
	at := batch.Due(of, believable.TimeOf(described.Status.RetryRequested()), now)
	if wait := b.remaining(described, of); wait > 0 && now.Add(wait).After(at) {
		at = now.Add(wait)
	}
	if at.Before(now) {
		return now
	}
	return at
}

// dueOf is when items that wait for each other are sent: at once, if they are enough, or else when the first of them has waited for long enough.
func dueOf(waiting []*v1alpha1.FeedItem, described *v1alpha1.FeedDestination, now time.Time) time.Time {
	if len(waiting) >= described.Batch().Items() {
		return now
	}
	since := now
	for _, item := range waiting {
		if at := waitsSince(item, described.Name, now); at.Before(since) {
			since = at
		}
	}
	if due := since.Add(described.Batch().Wait()); due.After(now) {
		return due
	}
	return now
}
