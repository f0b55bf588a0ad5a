// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package batches

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/batch"
	"github.com/feed-operator/feed-operator/internal/believable"
	"github.com/feed-operator/feed-operator/internal/budget"
	"github.com/feed-operator/feed-operator/internal/delivery"
	"github.com/feed-operator/feed-operator/internal/itemcache"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
	"github.com/feed-operator/feed-operator/internal/posting"
	"github.com/feed-operator/feed-operator/internal/record"
	"github.com/feed-operator/feed-operator/internal/results"
)

// draft is a batch with what is sent of its members.
type draft struct {
	v1alpha1.Batch
	records []json.RawMessage
	// prepared are the members of a new one, for which their entries are held.
	prepared []*delivery.Prepared
	// read are the members of a new one as they were read, without their contents: most are still so when it has been sent.
	read map[types.UID]*v1alpha1.FeedItem
	// weight of them, in bytes.
	weight int64
	// created is where this process has kept it; nil where it was there.
	created *v1alpha1.FeedMemory
	// size of the records, in bytes.
	size int
}

// copies is how often what is sent of a batch is in memory: as records and as a body, and once more each while they are made.
const copies = 4

// waiting are the items that are to be sent to a destination and are in no batch: first those that were tried before, in the order of
// their first attempts; then what was published first. They are of the cache.
func (b *Batcher) waiting(ctx context.Context, d *v1alpha1.FeedDestination) ([]*v1alpha1.FeedItem, error) {
	all, err := itemcache.UnfinishedOf(ctx, b.Client, d.Namespace, itemcache.AnySource)
	if err != nil {
		return nil, err
	}
	var waiting []*v1alpha1.FeedItem
	wanted := map[types.UID]bool{} // by the UID of the source
	for i := range all {
		item := &all[i]
		if !b.waits(item, d) {
			continue
		}
		wants, known := wanted[item.Spec.SourceRef.UID]
		if !known {
			source, err := itemcache.SourceOf(ctx, b.Client, item)
			if err != nil {
				return nil, err
			}
			wants = source != nil && !source.Spec.Suspend
			wanted[item.Spec.SourceRef.UID] = wants
		}
		if wants {
			waiting = append(waiting, item)
		}
	}
	waiting = b.withoutPassed(d, waiting)
	slices.SortFunc(waiting, func(a, c *v1alpha1.FeedItem) int {
		return cmp.Or(firstAttempt(a, d.Name).Compare(firstAttempt(c, d.Name)), a.Published().Compare(c.Published().Time), cmp.Compare(a.Name, c.Name))
	})
	return waiting, nil
}

// waits reports whether an item is to be sent to a destination now, and is in no batch.
func (b *Batcher) waits(item *v1alpha1.FeedItem, d *v1alpha1.FeedDestination) bool {
	row := lifecycle.RowOf(item, d.Name)
	if row == nil || item.Terminal() || item.Status.Summary == nil || !item.DeletionTimestamp.IsZero() {
		return false
	}
	if row.State != v1alpha1.DeliveryQueued || d.HasInBatch(item.UID) {
		return false
	}
	at, open := lifecycle.Due(row, b.Clock.Now())
	return open && !at.After(b.Clock.Now())
}

// firstAttempt is when an item was first tried at a destination; one that was not comes after all that were.
func firstAttempt(item *v1alpha1.FeedItem, destination string) time.Time {
	if row := lifecycle.RowOf(item, destination); row != nil && row.FirstAttemptTime != nil {
		return row.FirstAttemptTime.Time
	}
	const never = 1 << 40 // seconds since 1970
	return time.Unix(never, 0)
}

// waitsSince is since when an item waits for others. One that was tried before does not wait for any, nor does one of which nobody knows since when: its
// times are in the future, because the clock was set back.
func waitsSince(item *v1alpha1.FeedItem, destination string, now time.Time) time.Time {
	since := lifecycle.CheckedAt(item, now)
	if row := lifecycle.RowOf(item, destination); row.FailedAttempts > 0 || !believable.Past(since, now) {
		return time.Time{}
	}
	return since
}

// draftOf is what is sent next of one of the batches of a destination, or a new one where at is -1; nil for nothing. What it takes of the
// memory is taken of the room.
func (b *Batcher) draftOf(ctx context.Context, live *v1alpha1.FeedDestination, line *posting.Line, at int, room *budget.Room) (*draft, error) {
	if at < 0 {
		return b.form(ctx, live, line, room)
	}
	of := live.Status.Batches[at].DeepCopy()
	var kept v1alpha1.FeedMemory
	err := b.Live.Get(ctx, client.ObjectKey{Namespace: live.Namespace, Name: recordsName(live, of.Key)}, &kept)
	if client.IgnoreNotFound(err) != nil {
		return nil, err
	}
	if err == nil && kept.Batch != nil {
		if err := room.Grow(copies * batch.SizeOf(kept.Batch.Data)); err != nil {
			return nil, err
		}
		var records []json.RawMessage
		if records, err = batch.Unpack(kept.Batch.Data); err == nil && len(records) == len(of.Members) && len(batch.Part(of)) > 0 {
			return &draft{Batch: *of, records: records}, nil
		}
	}
	ctrl.LoggerFrom(ctx).Info("The records of a batch are lost", "severity", "warning", "destination", live.Name, "batch", of.Key)
	err = record.Claim(ctx, b.Client, live, func(d *v1alpha1.FeedDestination) bool {
		batch.Lose(batchOf(d, of.Key))
		return true
	})
	if err != nil {
		return nil, err
	}
	for _, member := range of.Members {
		if !live.HasInBatch(member.UID) {
			if err := b.Items.Free(ctx, member.UID, line); err != nil {
				return nil, err
			}
		}
	}
	return nil, nil
}

// form makes a batch of what waits, and keeps what is sent of it; nil where nothing does after all.
func (b *Batcher) form(ctx context.Context, live *v1alpha1.FeedDestination, line *posting.Line, room *budget.Room) (*draft, error) {
	waiting, err := b.waiting(ctx, live)
	if err != nil || live.Batch() == nil {
		return nil, err
	}
	made := &draft{read: map[types.UID]*v1alpha1.FeedItem{}}
	if err := b.fill(ctx, made, waiting, live, line, room); err != nil {
		release(made.prepared)
		return nil, err
	}
	for len(made.Members) > 0 {
		packed, err := batch.Pack(made.records)
		if errors.Is(err, batch.ErrTooLarge) && len(made.Members) > 1 {
			half := len(made.Members) / 2
			release(made.prepared[half:])
			made.Members, made.records, made.prepared = made.Members[:half], made.records[:half], made.prepared[:half]
			continue
		}
		if err == nil {
			made.Batch = batch.New(made.Members)
			err = b.keep(ctx, live, made, packed)
		}
		if err != nil {
			release(made.prepared)
			return nil, err
		}
		return made, nil
	}
	return nil, nil
}

const (
	// readersAtOnce is how many items are read at once for one batch, and so how many of it are in memory as a whole.
	readersAtOnce = 8
	// mostReadAhead is how many batches do that at the same time. Each of the others reads one item after the other: nobody waits for that.
	mostReadAhead = 8
)

// fill adds items to a batch, first come first, until it is full.
func (b *Batcher) fill(ctx context.Context, made *draft, waiting []*v1alpha1.FeedItem, live *v1alpha1.FeedDestination, line *posting.Line,
	room *budget.Room,
) error {
	atOnce := 1
	if b.readAhead.Add(1) <= mostReadAhead {
		atOnce = readersAtOnce
	}
	defer b.readAhead.Add(-1)
	for some := range slices.Chunk(waiting, atOnce) {
		items, err := b.read(ctx, some)
		if err != nil {
			return err
		}
		for i, item := range items {
			if len(made.Members) == live.Batch().Items() {
				return nil
			}
			if item == nil { // it is gone
				continue
			}
			if !b.waits(item, live) {
				b.pass(live, some[i], item)
				continue
			}
			err := b.add(ctx, made, item, line, room)
			if len(made.Members) > 0 && (errors.Is(err, batch.ErrTooLarge) || errors.Is(err, budget.ErrFull)) {
				return nil // the others go in another one
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// read returns what the API server has of items of the cache, in their order; nil for those that are gone.
func (b *Batcher) read(ctx context.Context, cached []*v1alpha1.FeedItem) ([]*v1alpha1.FeedItem, error) {
	items, failed := make([]*v1alpha1.FeedItem, len(cached)), make([]error, len(cached))
	var readers sync.WaitGroup
	for i, known := range cached {
		readers.Go(func() {
			item := &v1alpha1.FeedItem{}
			if err := b.Live.Get(ctx, client.ObjectKeyFromObject(known), item); err != nil {
				failed[i] = client.IgnoreNotFound(err)
			} else if item.UID == known.UID {
				items[i] = item
			}
		})
	}
	readers.Wait()
	return items, errors.Join(failed...)
}

// add adds a live item that waits to a batch, unless it goes another way.
func (b *Batcher) add(ctx context.Context, made *draft, item *v1alpha1.FeedItem, line *posting.Line, room *budget.Room) error {
	prepared, err := b.Items.Prepare(ctx, item, line)
	if err != nil || prepared == nil {
		return err
	}
	sent, err := batch.Record(prepared.Body, prepared.Key)
	if size := made.size + len(sent) + 1; err == nil && len(made.Members) > 0 && size > batch.MaxBytes {
		err = batch.ErrTooLarge
	}
	item.Spec.Content, item.Spec.CompressedContent = "", ""
	weight := results.WeightOf(item)
	if err == nil {
		err = room.Grow(copies*int64(len(sent)) + weight)
	}
	if err != nil {
		prepared.Release()
		return err
	}
	prepared.Body = "" // the record has it
	made.size += len(sent) + 1
	made.Members = append(made.Members, v1alpha1.BatchMember{Item: item.Name, UID: item.UID, Key: prepared.Key, Batches: prepared.Batches})
	made.records, made.prepared = append(made.records, sent), append(made.prepared, prepared)
	made.read[item.UID], made.weight = item, made.weight+weight
	return nil
}

// release gives up items of a batch that are not sent.
func release(prepared []*delivery.Prepared) {
	for _, one := range prepared {
		one.Release()
	}
}

// drop gives up a batch that was not announced. What is kept of it is removed only where the API server has refused the announcement: if somebody else was
// faster, that may be for the same batch; and where no answer came, it may be there.
func (b *Batcher) drop(ctx context.Context, live *v1alpha1.FeedDestination, made *draft, because error) {
	release(made.prepared)
	if made.created == nil || !apierrors.IsForbidden(because) && !apierrors.IsInvalid(because) {
		return
	}
	of := client.Preconditions{UID: &made.created.UID, ResourceVersion: &made.created.ResourceVersion}
	if err := client.IgnoreNotFound(b.Client.Delete(ctx, made.created, of)); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to remove the records of a batch", "destination", live.Name)
	}
}
