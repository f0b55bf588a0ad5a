// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/derive"
	"github.com/feed-operator/feed-operator/internal/destination"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/itemcache"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
	"github.com/feed-operator/feed-operator/internal/posting"
	"github.com/feed-operator/feed-operator/internal/postmemory"
	"github.com/feed-operator/feed-operator/internal/tracing"
)

// post is one delivery of an item that is to be worked on now, with what that takes.
type post struct {
	*posting.Line
	source *v1alpha1.FeedSource
	// memory is what was posted where it posts.
	memory *postmemory.Memory
	// heldBy is the item that posts the same entry there now, or may have posted it.
	heldBy string
	// doubt is set where an item that is gone may have posted the entry.
	doubt *postmemory.Reservation
	// holds is the item whose entry is kept for this post.
	holds types.UID
	// claimed is what time had passed, by the machine's own clock, when the intent was about to be written.
	claimed time.Duration
	// publication is what is posted, made when there is a ticket.
	publication destination.Post
	// image is what has become of the entry's image, before that is written; notUploaded is set where it could not be
	// uploaded for a reason that keeps the post from being made, too.
	image       *v1alpha1.DeliveryImage
	notUploaded *lifecycle.DeliveryOutcome
	// imageMayCome is set where it could not be uploaded for a reason that may pass.
	imageMayCome bool
	// calls of this intent that have failed, and how long was waited between them.
	calls  int
	waited time.Duration
	// repeated is how many of them may have arrived all the same.
	repeated int32
	// retryRequests that are known when the work on it begins.
	retryRequests lifecycle.RetryRequests
	// decided is set when it is known without a call what comes of the delivery.
	decided *lifecycle.DeliveryOutcome
}

// repeats reports whether a call that may have arrived is made again with the same key, however long ago it was.
func (p *post) repeats() bool {
	repeater, is := p.Publisher.Destination.(destination.Repeater)
	return is && repeater.Repeats()
}

// traced begins the trace of an attempt at the post, where that needs a call and is not part of the attempt that has made the summary.
func (p *post) traced(ctx context.Context, traces *tracing.Tracer, item *v1alpha1.FeedItem) (context.Context, tracing.Span) {
	if p.Ticket == nil || tracing.Within(ctx) {
		return ctx, tracing.Span{}
	}
	return traces.Attempt(ctx, item)
}

// markIdle lets the entry rest that is kept for the post.
func (p *post) markIdle() {
	if p.holds != "" {
		p.memory.MarkIdle(p.holds)
	}
}

// cancelUnused returns what posts have, but for what goes on with them.
func cancelUnused(posts []*post) {
	for _, p := range posts {
		p.GiveBack()
		p.markIdle()
	}
}

// postTo finds what it takes to post an item to a destination.
func (e *Engine) postTo(ctx context.Context, source *v1alpha1.FeedSource, name string) (*post, error) {
	to, err := posting.To(ctx, e.Client, e.Services, types.NamespacedName{Namespace: source.Namespace, Name: name})
	if err != nil {
		return nil, err
	}
	return &post{Line: to, source: source}, nil
}

// compose makes the text of a post.
func (p *post) compose(names *itemcache.FeedNames, item *v1alpha1.FeedItem, source *v1alpha1.FeedSource) (destination.Post, error) {
	material := derive.Material(item, source)
	if material.FeedTitle == "" {
		material.FeedTitle = names.Of(source)
	}
	if row := lifecycle.RowOf(item, p.Destination); row != nil {
		material.Key = row.Key
	} else {
		material.Key = lifecycle.DeliveryKey(item, p.Destination)
	}
	return p.Publisher.Compose(material, p.Publisher.Limits())
}

// failed is the outcome of a delivery that has failed now.
func (p *post) failed(err error, now time.Time) lifecycle.DeliveryOutcome {
	known := failure.Classify(err)
	outcome := lifecycle.DeliveryOutcome{
		Destination: p.Destination,
		Failure:     failure.Record(err, v1alpha1.StageDeliver, p.Destination, now),
		RetryAfter:  known.RetryAfter,
	}
	if known.Category == v1alpha1.CategoryAuth {
		outcome.Failure.Time = lifecycle.FailedAfter(p.Restored, now)
	}
	return outcome
}
