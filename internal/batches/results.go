// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package batches

import (
	"context"
	"errors"
	"maps"
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

// batchID names a batch of a destination.
type batchID struct {
	destination types.NamespacedName
	uid         types.UID
	key         string
}

func idOf(d *v1alpha1.FeedDestination, of *v1alpha1.Batch) batchID {
	return batchID{client.ObjectKeyFromObject(d), d.UID, of.Key}
}

// result names what has become of an item in a batch. An item may be in batches of several destinations at a time.
type result struct {
	batchID

	item types.UID
}

func resultOf(d *v1alpha1.FeedDestination, of *v1alpha1.Batch, member *v1alpha1.BatchMember) result {
	return result{idOf(d, of), member.UID}
}

// hasResults reports whether a batch is finished, or has results that are not on their items as far as this process knows.
func (b *Batcher) hasResults(d *v1alpha1.FeedDestination, of *v1alpha1.Batch) bool {
	return !batch.Open(of) || slices.ContainsFunc(of.Members, func(member v1alpha1.BatchMember) bool {
		return member.State != v1alpha1.BatchMemberOpen && !b.isHanded(resultOf(d, of, &member))
	})
}

// handOut writes on each item of the batches of a destination what is known of it. That a result is on its item already changes nothing there.
func (b *Batcher) handOut(ctx context.Context, d *v1alpha1.FeedDestination, line *posting.Line) error {
	var failed []error
	var mu sync.Mutex
	var writers sync.WaitGroup
	slots := make(chan struct{}, writersAtOnce)
	for i := range d.Status.Batches {
		of := &d.Status.Batches[i]
		for j := range of.Members {
			member := &of.Members[j]
			outcome, known := batch.OutcomeOf(of, member, d.Name)
			this := resultOf(d, of, member)
			if !known || b.isHanded(this) {
				continue
			}
			slots <- struct{}{}
			writers.Go(func() {
				defer func() { <-slots }()
				if err := b.handOne(ctx, types.NamespacedName{Namespace: d.Namespace, Name: member.Item}, member.UID, outcome, line); err != nil {
					mu.Lock()
					failed = append(failed, err)
					mu.Unlock()
					return
				}
				b.setHanded(this, true)
			})
		}
	}
	writers.Wait()
	return errors.Join(failed...)
}

// handOutLast does the same for a destination that is not there any more: nothing but the items will know of it, so it is tried until it is written.
func (b *Batcher) handOutLast(ctx context.Context, d *v1alpha1.FeedDestination, line *posting.Line) error {
	for {
		err := b.handOut(ctx, d, line)
		if err == nil {
			b.batchesGone(func(id batchID) bool { return id.uid == d.UID })
			return nil
		}
		ctrl.LoggerFrom(ctx).Error(err, "Failed to update status with the results of a batch", "destination", d.Name)
		select {
		case <-b.Clock.After(posting.AfterError):
		case <-ctx.Done():
			return err
		}
	}
}

// handOne writes on an item what has become of it in a batch. One that is gone needs none.
func (b *Batcher) handOne(ctx context.Context, name types.NamespacedName, uid types.UID, outcome lifecycle.DeliveryOutcome, line *posting.Line) error {
	ctx, cancel := record.Context(ctx)
	defer cancel()
	item := &v1alpha1.FeedItem{}
	if err := b.Live.Get(ctx, name, item); err != nil || item.UID != uid {
		return client.IgnoreNotFound(err)
	}
	return b.Items.Record(ctx, item, line, outcome)
}

// forgetEnded removes the batches of a destination that are finished, and what was sent of them.
func (b *Batcher) forgetEnded(ctx context.Context, d *v1alpha1.FeedDestination) error {
	var ended []v1alpha1.Batch
	for i := range d.Status.Batches {
		if !b.hasOpen(d, &d.Status.Batches[i]) {
			ended = append(ended, *d.Status.Batches[i].DeepCopy())
		}
	}
	if len(ended) == 0 {
		return nil
	}
	writing, cancel := record.Context(ctx)
	defer cancel()
	err := record.Write[v1alpha1.FeedDestination](writing, b.Client, b.Live, d, func(d *v1alpha1.FeedDestination) bool {
		d.Status.Batches = slices.DeleteFunc(d.Status.Batches, func(of v1alpha1.Batch) bool {
			return slices.ContainsFunc(ended, func(other v1alpha1.Batch) bool { return other.Key == of.Key })
		})
		return true
	})
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	for i := range ended {
		for j := range ended[i].Members {
			b.setHanded(resultOf(d, &ended[i], &ended[i].Members[j]), false)
		}
		if err := b.forget(writing, d, ended[i].Key); err != nil {
			return err
		}
	}
	return nil
}

// hasOpen reports whether anything of a batch is still to be sent, or to be written on its items.
func (b *Batcher) hasOpen(d *v1alpha1.FeedDestination, of *v1alpha1.Batch) bool {
	return batch.Open(of) || slices.ContainsFunc(of.Members, func(member v1alpha1.BatchMember) bool {
		return !b.isHanded(resultOf(d, of, &member))
	})
}

func (b *Batcher) isHanded(this result) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.handed[this]
}

func (b *Batcher) setHanded(this result, handed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !handed {
		delete(b.handed, this)
		return
	}
	if b.handed == nil {
		b.handed = map[result]bool{}
	}
	b.handed[this] = true
}

// destinationGone forgets what this process knows of the batches of a destination that is not there any more.
func (b *Batcher) destinationGone(name types.NamespacedName) {
	b.batchesGone(func(id batchID) bool { return id.destination == name })
}

func (b *Batcher) batchesGone(are func(batchID) bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	maps.DeleteFunc(b.seen, func(id batchID, _ announcement) bool { return are(id) })
	maps.DeleteFunc(b.handed, func(this result, _ bool) bool { return are(this.batchID) })
}
