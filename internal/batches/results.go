// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package batches

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/batch"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
	"github.com/feed-operator/feed-operator/internal/posting"
	"github.com/feed-operator/feed-operator/internal/record"
)

// writersAtOnce is how many items are written at once of one batch.
const writersAtOnce = 8

// handOut writes on each item of the batches of a destination what is known of it. That a result is on its item already changes nothing there. One that is
// not taken is written again later, and holds up nothing else. While the API server takes nothing, one result at a time finds out whether that is over, and
// the others wait for that: a database that is full is not asked a hundred times every few seconds. Read are items as they were read a moment ago: one that
// has changed since, or that has to be written once more, is read anew.
func (b *Batcher) handOut(ctx context.Context, d *v1alpha1.FeedDestination, line *posting.Line, read map[types.UID]*v1alpha1.FeedItem) error {
	var failed []error
	var mu sync.Mutex
	var writers sync.WaitGroup
	slots := make(chan struct{}, writersAtOnce)
	for _, next := range b.dueResults(d) {
		tries := record.TriesInPlace
		if b.Writes.Held(d.Namespace) {
			writers.Wait()
			if err := errors.Join(failed...); err != nil && b.Writes.Held(d.Namespace) {
				b.holdResults(d)
				break
			}
			tries = 1
		}
		slots <- struct{}{}
		writers.Go(func() {
			defer func() { <-slots }()
			err := b.handOne(ctx, types.NamespacedName{Namespace: d.Namespace, Name: next.item}, next.key.item, read[next.key.item], next.outcome, line, tries)
			b.written(d, next.key, err == nil)
			if err == nil { // it may be there by a write of which the answer was lost
				b.Writes.Forget(ctx, types.NamespacedName{Namespace: d.Namespace, Name: next.item})
			}
			mu.Lock()
			defer mu.Unlock()
			failed = append(failed, err)
		})
	}
	writers.Wait()
	err := errors.Join(failed...)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to update status with the results of a batch", "destination", d.Name)
	}
	return err
}

// memberResult is what is to be written on an item.
type memberResult struct {
	key     memberKey
	item    string
	outcome lifecycle.DeliveryOutcome
}

// dueResults are the results that are to be written now: those first that were not refused yet, and then what was refused longest ago. Otherwise one that
// is always refused would be all that is ever tried while the others wait for it.
func (b *Batcher) dueResults(d *v1alpha1.FeedDestination) []memberResult {
	var due []memberResult
	for i := range d.Status.Batches {
		of := &d.Status.Batches[i]
		for j := range of.Members {
			member := &of.Members[j]
			key := memberKey{of.Key, member.UID}
			if outcome, known := batch.OutcomeOf(of, member, d.Name); known && b.isDue(d, key) {
				due = append(due, memberResult{key, member.Item, outcome})
			}
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	refused := b.knownOf(d).refused
	slices.SortStableFunc(due, func(a, c memberResult) int { return cmp.Compare(refused[a.key], refused[c.key]) })
	return due
}

// handOutLast does the same for a destination that is not there any more: nothing but the items will know of it, so it is tried until it is written.
func (b *Batcher) handOutLast(ctx context.Context, d *v1alpha1.FeedDestination, line *posting.Line) error {
	defer b.forgetUID(d)
	for {
		err := b.handOut(ctx, d, line, nil)
		if err == nil {
			return nil
		}
		select {
		case <-b.Clock.After(posting.AfterError):
		case <-ctx.Done():
			return err
		}
	}
}

// handOne writes on an item what has become of it in a batch. Of one that is gone it is remembered.
func (b *Batcher) handOne(ctx context.Context, name types.NamespacedName, uid types.UID, read *v1alpha1.FeedItem, outcome lifecycle.DeliveryOutcome,
	line *posting.Line, tries int,
) error {
	ctx, cancel := record.Context(ctx)
	defer cancel()
	if read != nil {
		return b.Items.Record(ctx, read, line, outcome, tries)
	}
	item := &v1alpha1.FeedItem{}
	err := b.Live.Get(ctx, name, item)
	switch {
	case client.IgnoreNotFound(err) != nil:
		return err
	case err != nil || item.UID != uid:
		return b.Items.RecordGone(ctx, uid, line, outcome)
	}
	return b.Items.Record(ctx, item, line, outcome, tries)
}

// forgetEnded removes from the batches of a destination that are finished the members whose results are on their items, batches that have none left, and
// what was kept to be sent of them. A member whose result is not taken stays until it is.
func (b *Batcher) forgetEnded(ctx context.Context, d *v1alpha1.FeedDestination) error {
	if !b.hasEnded(d) {
		return nil
	}
	writing, cancel := record.Context(ctx)
	defer cancel()
	kept, err := b.keptFor(writing, d) // before the write: whoever has kept one of these without announcing it is too late then
	if err != nil {
		return err
	}
	var gone []memberKey
	removed := false // by any of the writes: it may be there by one of which the answer was lost
	err = record.Write[v1alpha1.FeedDestination](writing, b.Client, b.Live, d, func(d *v1alpha1.FeedDestination) bool {
		gone = nil
		for i := range d.Status.Batches {
			of := &d.Status.Batches[i]
			if batch.Open(of) {
				continue
			}
			of.Members = slices.DeleteFunc(of.Members, func(member v1alpha1.BatchMember) bool {
				key := memberKey{of.Key, member.UID}
				ended := b.isHanded(d, key)
				if ended {
					gone = append(gone, key)
				}
				return ended
			})
		}
		before := len(d.Status.Batches)
		d.Status.Batches = slices.DeleteFunc(d.Status.Batches, func(of v1alpha1.Batch) bool { return !batch.Open(&of) && len(of.Members) == 0 })
		changed := len(gone) > 0 || len(d.Status.Batches) < before
		removed = removed || changed
		return changed
	})
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	for _, key := range gone {
		b.removed(d, key)
	}
	if !removed {
		return nil
	}
	return b.removeKept(writing, d, kept)
}

// hasEnded reports whether anything of the batches of a destination is to be removed.
func (b *Batcher) hasEnded(d *v1alpha1.FeedDestination) bool {
	return slices.ContainsFunc(d.Status.Batches, func(of v1alpha1.Batch) bool {
		return !batch.Open(&of) && (len(of.Members) == 0 || slices.ContainsFunc(of.Members, func(member v1alpha1.BatchMember) bool {
			return b.isHanded(d, memberKey{of.Key, member.UID})
		}))
	})
}
