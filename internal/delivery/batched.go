// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/destination"
	"github.com/feed-operator/feed-operator/internal/itemcache"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
	"github.com/feed-operator/feed-operator/internal/posting"
	"github.com/feed-operator/feed-operator/internal/retry"
	"github.com/feed-operator/feed-operator/internal/tracing"
)

// Batched is what those who send several items at a time need of the engine: what is sent of an item, and that its result is written as that
// of any delivery.
type Batched struct{ *Engine }

// Prepared is an item that is about to be sent together with others.
type Prepared struct {
	// Body is what is sent of it, and Key its idempotency key.
	Body, Key string
	// Batches is in how many batches it was before.
	Batches int32
	post    *post
}

// Release gives up the item's entry, which was held for it: it is not sent.
func (p *Prepared) Release() { p.post.memory.CancelReservation(p.post.holds) }

// Prepare makes what is sent of a live item by a way to its destination, and holds its entry for it. It returns nil for one that goes another way,
// which is seen to: it was posted before, is posted as another item, is not wanted any more, or cannot be sent at all.
func (b Batched) Prepare(ctx context.Context, item *v1alpha1.FeedItem, line *posting.Line) (*Prepared, error) {
	source, err := itemcache.SourceOf(ctx, b.Client, item)
	if err != nil || source == nil || source.Spec.Suspend {
		return nil, err
	}
	p := batchedPost(line, source)
	if p.memory, err = b.Posted.At(ctx, line.Target); err != nil {
		return nil, err
	}
	name := client.ObjectKeyFromObject(item)
	before, heldBy, err := b.postedBefore(ctx, p, item, source)
	switch {
	case err != nil:
		return nil, err
	case !source.Delivers(line.Destination), before != nil, heldBy != "", p.doubt != nil:
		b.Waker.ItemLater(name, 0)
		return nil, nil
	}
	if p.publication, err = p.compose(b.Names, item, source); err != nil {
		failed := p.failed(err, b.Clock.Now())
		failed.Token, failed.RetryRequests = lifecycle.Token(item), retry.RequestsFor(ctx, b.Client, item)
		_, err = b.Results.WriteResult(ctx, item, b.result(ctx, p, item, failed))
		return nil, client.IgnoreNotFound(err)
	}
	if _, mine := p.hold(item, source, b.Clock.Now()); !mine {
		b.Waker.ItemLater(name, heldRecheckInterval)
		return nil, nil
	}
	body, row := p.publication.Text, lifecycle.RowOf(item, line.Destination)
	p.publication = destination.Post{} // many items wait for each other, and each body is held once
	return &Prepared{Body: body, Key: row.Key, Batches: row.Batches, post: p}, nil
}

// Record writes on an item, as it was read a moment ago, what has become of it at a destination, with so many tries at most, and remembers it there. What is
// on the item already changes nothing.
func (b Batched) Record(ctx context.Context, item *v1alpha1.FeedItem, line *posting.Line, outcome lifecycle.DeliveryOutcome, tries int) error {
	row := lifecycle.RowOf(item, line.Destination)
	if row == nil || row.Ended() {
		return b.Free(ctx, item.UID, line)
	}
	source, err := itemcache.SourceOf(ctx, b.Client, item)
	if err != nil {
		return err
	}
	if source == nil { // it is being deleted, and its items with it
		source = &v1alpha1.FeedSource{}
		source.Namespace, source.Name = item.Namespace, item.Spec.SourceRef.Name
	}
	p := batchedPost(line, source)
	p.holds = item.UID
	if p.memory, err = b.Posted.At(ctx, line.Target); err != nil {
		return err
	}
	b.remember(ctx, item, p, &outcome)
	outcome.Token = lifecycle.Token(item)
	outcome.RetryRequests = retry.ServedBy(ctx, b.Client, item, &outcome)
	switch _, err := b.result(ctx, p, item, outcome).Write(ctx, item, tries); {
	case apierrors.IsNotFound(err): // since it was read
		return b.RecordGone(ctx, item.UID, line, outcome)
	case err != nil:
		return err
	}
	p.memory.CancelReservation(item.UID)
	b.Waker.ItemLater(client.ObjectKeyFromObject(item), 0)
	return nil
}

// result is what the delivery of an item has come to just now.
func (b Batched) result(ctx context.Context, p *post, item *v1alpha1.FeedItem, outcome lifecycle.DeliveryOutcome) *deliveryResult {
	return &deliveryResult{engine: b.Engine, post: p, before: item.DeepCopy(), outcome: outcome, at: b.Clock.Now(), trace: tracing.ID(ctx)}
}

// RecordGone remembers at a destination what has become of an item that is gone by now. What may have arrived stays in doubt for whoever has the same entry.
func (b Batched) RecordGone(ctx context.Context, item types.UID, line *posting.Line, outcome lifecycle.DeliveryOutcome) error {
	memory, err := b.Posted.At(ctx, line.Target)
	switch {
	case err != nil:
		return err
	case outcome.Posted:
		memory.RememberHeld(ctx, item, outcome.URL)
	case outcome.Unverifiable:
		memory.MarkIdle(item)
	default:
		memory.CancelReservation(item)
	}
	return nil
}

// Free gives up the entry of an item that is not in a batch any more.
func (b Batched) Free(ctx context.Context, item types.UID, line *posting.Line) error {
	memory, err := b.Posted.At(ctx, line.Target)
	if err == nil {
		memory.CancelReservation(item)
	}
	return err
}

// batchedPost is the post of an item that takes the way of the batch that it is in.
func batchedPost(line *posting.Line, source *v1alpha1.FeedSource) *post {
	own := *line
	return &post{Line: &own, source: source}
}
