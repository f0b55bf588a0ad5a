// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/derive"
	"github.com/feed-operator/feed-operator/internal/destination"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
	"github.com/feed-operator/feed-operator/internal/posted"
	"github.com/feed-operator/feed-operator/internal/postmemory"
)

// heldRecheckInterval is when an item is looked at again whose entry another item posts at this moment.
const heldRecheckInterval = 5 * time.Second

// SkipPosted returns the outcome of an item of which every destination has a post already: then neither the article nor a
// summary is paid for. Soon means that a destination has not been looked at yet since the operator has started.
func (e *Engine) SkipPosted(ctx context.Context, item *v1alpha1.FeedItem, source *v1alpha1.FeedSource) (outcome *lifecycle.Outcome, soon bool, err error) {
	refs := source.Spec.Destinations
	if len(refs) == 0 || len(item.Status.Deliveries) > 0 {
		return nil, false, nil
	}
	var before []lifecycle.AlreadyPosted
	for _, ref := range refs {
		if source.PostsAgain(ref.Name) {
			return nil, false, nil
		}
		p, err := e.postTo(ctx, source, ref.Name)
		if err != nil {
			return nil, false, err
		}
		if _, _, _, seen := e.Services.Lookup(p.Resource); !p.Known {
			return nil, !seen && p.Unavailable == "", nil
		}
		memory, err := e.Posted.At(ctx, p.Target)
		if err != nil {
			return nil, false, err
		}
		post, found, err := memory.Find(ctx, posted.OfItem(item, derive.FeedOf(source)))
		if err != nil || !found {
			return nil, false, err
		}
		before = append(before, lifecycle.AlreadyPosted{Destination: ref.Name, URL: post.URL})
	}
	return &lifecycle.Outcome{
		Token: lifecycle.Token(item), Skipped: v1alpha1.ReasonAlreadyPosted, Destinations: refs, AlreadyPosted: before,
	}, false, nil
}

// postedBefore reports for a delivery that is to be made whether the destination has a post of the entry already, or whether
// another item makes it at this moment, or may have made it: then held says who.
func (e *Engine) postedBefore(ctx context.Context, p *post, item *v1alpha1.FeedItem,
	source *v1alpha1.FeedSource,
) (before *posted.Post, held string, err error) {
	if p.Publisher == nil || source.PostsAgain(p.Destination) {
		return nil, "", nil
	}
	memory, err := e.Posted.At(ctx, p.Target)
	if err != nil {
		return nil, "", err
	}
	identity := posted.OfItem(item, derive.FeedOf(source))
	post, found, err := memory.Find(ctx, identity)
	if err != nil || found {
		return &post, "", err
	}
	holder, other, err := memory.Holder(ctx, identity, item)
	if err != nil || !other {
		return nil, "", err
	}
	if holder.Gone && !holder.Settled.After(e.Clock.Now()) {
		p.doubt = &holder
		return nil, "", nil
	}
	return nil, holder.Item.Name, nil
}

// hold keeps the entry of an item for the post that is about to be claimed. It returns false where there is to be none: another
// item is at it, or has posted it before.
func (p *post) hold(item *v1alpha1.FeedItem, source *v1alpha1.FeedSource, now time.Time) (before *posted.Post, mine bool) {
	if source.PostsAgain(p.Destination) {
		return nil, true
	}

	before, mine = p.memory.Reserve(posted.OfItem(item, derive.FeedOf(source)), item, postmemory.Attempt{
		Since: now, Settled: now.Add(p.Timeout + lifecycle.SettleTime), TextHash: destination.TextHash(p.publication),
	})
	if mine {
		p.holds = item.UID
	}
	return before, mine
}

// resolveDoubt finds out whether an entry was posted by an item that is gone, whose key nobody can use again.
func (e *Engine) resolveDoubt(ctx context.Context, item *v1alpha1.FeedItem, source *v1alpha1.FeedSource, p *post,
	row v1alpha1.Delivery,
) *lifecycle.DeliveryOutcome {
	row.FirstAttemptTime, row.TextHash = &metav1.Time{Time: p.doubt.Since}, p.doubt.TextHash
	outcome := e.find(ctx, item, source, p, &row)
	switch {
	case ctx.Err() != nil:
		return nil
	case outcome == nil:
		outcome = &lifecycle.DeliveryOutcome{Unverifiable: true}
	}
	return outcome
}

// doubtResolved lets others go on with an entry that was in doubt, once it is known how that has ended; where nobody can know, once that is
// written: otherwise it would be posted with the next try.
func (p *post) doubtResolved(written bool) {
	if p.doubt != nil && p.decided != nil && (p.decided.Posted || p.decided.Missing || p.decided.Unverifiable && written) {
		p.memory.CancelReservation(p.doubt.UID)
	}
}

// endHold ends what hold has begun. While nobody knows whether there is a post, the entry stays held.
func (p *post) endHold(written *v1alpha1.FeedItem) {
	if p.holds == "" {
		return
	}
	if row := lifecycle.RowOf(written, p.Destination); row == nil || !lifecycle.MustLookUp(row) {
		p.memory.CancelReservation(p.holds)
		p.holds = ""
	}
}

// remember notes a post that is known to stand, before that is written on its item: it is seen, whatever becomes of the item.
func (e *Engine) remember(ctx context.Context, item *v1alpha1.FeedItem, p *post, outcome *lifecycle.DeliveryOutcome) {
	if outcome == nil || !outcome.Posted || p.memory == nil {
		return
	}
	p.memory.Remember(ctx, item.UID, posted.OfItem(item, derive.FeedOf(p.source)), outcome.URL)
}

// alreadyPosted is the outcome of a delivery that is not made.
func (p *post) alreadyPosted(before posted.Post) lifecycle.DeliveryOutcome {
	return lifecycle.DeliveryOutcome{Destination: p.Destination, AlreadyPosted: true, URL: before.URL}
}

// requeueSoon has an item looked at again soon whose entry is held by another one.
func requeueSoon(result ctrl.Result) ctrl.Result {
	if result.RequeueAfter == 0 || result.RequeueAfter > heldRecheckInterval {
		result.RequeueAfter = heldRecheckInterval
	}
	return result
}

func heldBy(destination, holder string) string {
	return fmt.Sprintf("FeedDestination %q: the same entry may just have been posted there as FeedItem %s", destination, holder)
}
