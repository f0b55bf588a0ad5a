// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/apiclock"
	"github.com/feed-operator/feed-operator/internal/backoff"
	"github.com/feed-operator/feed-operator/internal/destination"
	"github.com/feed-operator/feed-operator/internal/intents"
	"github.com/feed-operator/feed-operator/internal/itemcache"
	"github.com/feed-operator/feed-operator/internal/itemwrites"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
	"github.com/feed-operator/feed-operator/internal/posting"
	"github.com/feed-operator/feed-operator/internal/postmemory"
	"github.com/feed-operator/feed-operator/internal/queue"
	"github.com/feed-operator/feed-operator/internal/results"
	"github.com/feed-operator/feed-operator/internal/retry"
	"github.com/feed-operator/feed-operator/internal/schedule"
	"github.com/feed-operator/feed-operator/internal/services"
	"github.com/feed-operator/feed-operator/internal/telemetry"
	"github.com/feed-operator/feed-operator/internal/tracing"
)

// Engine makes the posts of items: it looks for those that may be there, writes down that one is to be made, and makes it.
type Engine struct {
	Clock clock.WithDelayedExecution
	// Client reads from the cache and writes.
	Client client.Client
	// Live reads from the API server.
	Live client.Reader
	// Writes knows what has become of what Client has written.
	Writes   *itemwrites.Writes
	Stream   telemetry.Stream
	Tracer   *tracing.Tracer
	Schedule *schedule.Schedule
	Waker    *queue.Waker
	// Names is shared with the controller of sources.
	Names *itemcache.FeedNames
	// Services knows the destinations.
	Services *services.Services
	// Posted knows what was posted to the destinations.
	Posted *postmemory.Memories
	// InPlace is how calls that have failed are repeated within one intent.
	InPlace backoff.InPlace
	// Images are uploaded before their posts are announced.
	Images *Images
	// Work is what is under way.
	Work posting.Work

	Results  *results.Results
	found    foundPosts
	lists    itemLists
	Observed intents.Observed
	// Believed are the items that wait for a batch by what the cache has of them.
	Believed itemcache.Believed
}

// Deliver begins the deliveries of an item that are due, where that is the item's turn, and parks
// the item for the others.
func (e *Engine) Deliver(ctx context.Context, turn *schedule.Turn, item *v1alpha1.FeedItem, source *v1alpha1.FeedSource) (ctrl.Result, error) {
	requests := retry.RequestsFor(ctx, e.Client, item)
	view := withRetryRequests(item, requests, e.Clock.Now())
	due, err := e.duePosts(ctx, item, view, source)
	if err != nil {
		return ctrl.Result{}, err
	}
	defer cancelUnused(due)
	var found looked
	for _, p := range due {
		if changed, err := found.at(ctx, e, turn, item, view, source, p); err != nil {
			return ctrl.Result{}, err
		} else if changed {
			return queue.RequeueAt(e.Clock.Now(), e.Clock.Now().Add(time.Second)), nil
		}
	}
	for _, p := range found.ready {
		e.begin(ctx, turn, item, p, func(ctx context.Context, item *v1alpha1.FeedItem, p *post) (*v1alpha1.FeedItem, error) {
			return e.runDelivery(ctx, item, source, p)
		})
	}
	if found.requested && len(found.ready) == 0 { // else it is written with those
		return makeDue(ctx, e, item, requests)
	}
	again := e.otherDeliveries(view)
	if found.held {
		again = requeueSoon(again)
	}
	if len(found.ready) > 0 || len(found.waitsFor) == 0 {
		return again, nil
	}
	return again, e.Results.MarkWaitingFor(ctx, item, found.waitsFor)
}

// looked is what a look at the deliveries of an item that are due comes to.
type looked struct {
	// ready are those that begin, and waitsFor says what the others wait for, where a person should know.
	ready    []*post
	waitsFor []string
	// held is set where another item may just post the entry, and requested where one that waits for a batch is due by a request alone.
	held, requested bool
}

// at looks at one of the deliveries. It reports whether its destination has been opened or closed just now.
func (l *looked) at(ctx context.Context, e *Engine, turn *schedule.Turn, item, view *v1alpha1.FeedItem, source *v1alpha1.FeedSource, p *post,
) (changed bool, err error) {
	byItself, row := dueByItself(item, p.Destination, e.Clock.Now()), lifecycle.RowOf(view, p.Destination)
	switch {
	case p.InBatch(item.UID): // which goes on with it
		p.waitForBatch(turn, e, item)
		return false, nil
	case p.Refused != nil && !byItself: // it was released
		return false, nil
	}
	if err := e.decide(ctx, p, item, source, row); err != nil {
		return false, err
	}
	switch {
	case p.decided != nil:
		if place, granted := turn.Acquire(deliveryRank(item), queue.ItemPlaces); granted { // it is written apart, and how many are is bounded
			turn.Detach(place)
			p.Place = place
			l.ready = append(l.ready, p)
		}
		return false, nil
	case p.heldBy != "":
		l.held = true
		l.waitsFor = append(l.waitsFor, heldBy(p.Destination, p.heldBy))
		return false, nil
	case p.waitsForBatch(row) && !byItself:
		l.requested = true
		return false, nil
	case p.waitsForBatch(row):
		p.waitForBatch(turn, e, item)
	default:
		taken, granted := turn.AcquireAll(deliveryRank(item), posting.Needs(p.Resource)...)
		p.Assign(turn, taken, granted)
		switch {
		case p.Ticket != nil && p.Publisher != nil:
			l.ready = append(l.ready, p)
		case p.Ticket != nil:
			return true, nil
		}
	}
	l.waitsFor = append(l.waitsFor, p.closedFor(e.Services)...)
	return false, nil
}

// closedFor returns why a destination is not called for long; nothing where it is, or may be soon.
func (p *post) closedFor(known *services.Services) []string {
	why := cmp.Or(p.Unavailable, known.PauseReason(p.Resource))
	if why == "" || p.Ticket != nil {
		return nil
	}
	return []string{fmt.Sprintf("FeedDestination %q: %s", p.Destination, why)}
}

// decide finds out what is known of a delivery without a call.
func (e *Engine) decide(ctx context.Context, p *post, item *v1alpha1.FeedItem, source *v1alpha1.FeedSource, row *v1alpha1.Delivery) error {
	mustLook := lifecycle.MustLookUp(row) && !p.waitsForBatch(row) // which a person has decided about
	if !source.Delivers(p.Destination) {
		if !mustLook || p.Unavailable == services.MissingObject {
			p.decided = &lifecycle.DeliveryOutcome{Dropped: true}
		}
		return nil
	}
	if mustLook {
		return nil
	}
	before, holder, err := e.postedBefore(ctx, p, item, source)
	switch {
	case err != nil:
		return err
	case before != nil:
		p.decided = new(p.alreadyPosted(*before))
	case p.Refused != nil: // R3.8: nothing more is called with them
		p.decided = new(p.failed(p.Refused, e.Clock.Now()))
	default:
		p.heldBy = holder
	}
	return nil
}

// SettleAndPost writes down what an attempt came to, together with the intents of the posts that
// are free at this moment, and then makes those.
func (e *Engine) SettleAndPost(ctx context.Context, turn *schedule.Turn, item *v1alpha1.FeedItem,
	source *v1alpha1.FeedSource, outcome lifecycle.Outcome,
) (ctrl.Result, error) {
	var ready []*post
	defer func() { cancelUnused(ready) }()
	wants := e.mayPost(ctx, item, source)
	if outcome.Summary != nil && wants != nil && ctx.Err() == nil { // no new claim once the manager is stopping
		summarized := item.DeepCopy()
		summarized.Status.Summary, summarized.Status.PageImage = outcome.Summary, outcome.PageImage
		for _, ref := range outcome.Destinations {
			if lifecycle.RowOf(item, ref.Name) != nil {
				continue // somebody has removed the summary by hand; what is recorded of the delivery counts
			}
			if !wants.Delivers(ref.Name) {
				continue
			}
			if p := e.intendIfFree(ctx, turn, summarized, source, wants, ref.Name, &outcome); p != nil {
				ready = append(ready, p)
			}
		}
	}
	settled, err := e.Results.WriteOutcome(ctx, item, source, outcome)
	if err != nil || settled == nil || settled.Status.Summary == nil {
		return e.Results.RequeueAfterWrite(settled, err)
	}
	announced := slices.DeleteFunc(slices.Clone(ready), func(p *post) bool { return !lifecycle.Announced(lifecycle.RowOf(settled, p.Destination)) })
	if len(announced) == 0 {
		return e.Results.RequeueAfterWrite(settled, err)
	}
	for _, p := range announced {
		e.begin(ctx, turn, settled, p, e.publish)
	}
	now := e.Clock.Now()
	for i := range settled.Status.Deliveries {
		row := &settled.Status.Deliveries[i]
		if at, open := lifecycle.Due(row, now); open && !at.After(now) && !e.Work.UnderWay(settled, row.Destination) {
			return queue.RequeueAt(now, now), nil // it stands in no line yet, and what is under way may take long
		}
	}
	return e.otherDeliveries(settled), nil
}

// intendIfFree adds the intent of a post to an outcome, if it can be made at this moment, and returns what makes it; nil where its turn
// comes later, or the destination has a post of the entry already.
func (e *Engine) intendIfFree(ctx context.Context, turn *schedule.Turn, item *v1alpha1.FeedItem, source, wants *v1alpha1.FeedSource,
	name string, outcome *lifecycle.Outcome,
) *post {
	p, err := e.postTo(ctx, source, name)
	if err != nil || p.Publisher == nil || p.Unavailable != "" || p.Batch != nil || p.illustrated(item) {
		return nil
	}
	if p.publication, err = p.compose(e.Names, item, source); err != nil {
		return nil
	}
	if p.memory, err = e.Posted.At(ctx, p.Target); err != nil {
		return nil
	}
	before, holder, err := e.postedBefore(ctx, p, item, wants)
	if err != nil || holder != "" || p.doubt != nil {
		return nil
	}
	if before != nil {
		outcome.AlreadyPosted = append(outcome.AlreadyPosted, lifecycle.AlreadyPosted{Destination: name, URL: before.URL})
		return nil
	}
	if _, mine := p.hold(item, wants, e.Clock.Now()); !mine {
		return nil
	}
	taken, free := turn.Try(deliveryRank(item), posting.Needs(p.Resource)...)
	if !free {
		p.endHold(item)
		return nil
	}
	p.Assign(turn, taken, free)
	p.claimed = apiclock.PassedBy(e.Clock)
	outcome.Intents = append(outcome.Intents, lifecycle.Intent{
		Destination: p.Destination, TextHash: destination.TextHash(p.publication), Timeout: p.Timeout,
	})
	return p
}

// begin begins the work on a delivery of an item, which goes on by itself and has the item looked at again then. What the post has is given
// back by that, or, where somebody works on the delivery already, by the caller.
func (e *Engine) begin(ctx context.Context, turn *schedule.Turn, item *v1alpha1.FeedItem, p *post,
	work func(context.Context, *v1alpha1.FeedItem, *post) (*v1alpha1.FeedItem, error),
) {
	own, apart := item.DeepCopy(), *p
	do := func(line *posting.Line) time.Duration {
		apart.Line = line
		defer apart.markIdle()
		ctx, span := apart.traced(ctx, e.Tracer, own)
		defer span.End()
		written, err := work(ctx, own, &apart)
		switch {
		case err != nil && e.Writes.Held(own.Namespace): // it waits for that, as the others do
			ctrl.LoggerFrom(ctx).V(1).Info("Postponed while the API server refuses writes", "destination", line.Destination, "error", err.Error())
		case client.IgnoreNotFound(err) != nil:
			ctrl.LoggerFrom(ctx).Error(err, "Failed to update status with a delivery", "destination", line.Destination)
			return posting.AfterError
		case written != nil:
			e.keepPlaceInLine(written)
		}
		return 0
	}
	if e.Work.Begin(ctx, turn, own, p.Line, do, func(after time.Duration) { e.Waker.ItemLater(client.ObjectKeyFromObject(own), after) }) {
		p.holds = ""
	}
}

// duePosts returns the deliveries of an item, with what is requested to be retried, that are due now.
func (e *Engine) duePosts(ctx context.Context, live, item *v1alpha1.FeedItem, source *v1alpha1.FeedSource) ([]*post, error) {
	var due []*post
	for i := range item.Status.Deliveries {
		row := &item.Status.Deliveries[i]
		at, open := lifecycle.Due(row, e.Clock.Now())
		if !open || at.After(e.Clock.Now()) || e.Work.UnderWay(item, row.Destination) {
			continue
		}
		p, err := e.postTo(ctx, source, row.Destination)
		if err != nil {
			return nil, err
		}
		// Somebody may be in the call, by whatever clock.
		if wait := e.Observed.Remaining(live, lifecycle.RowOf(live, row.Destination), p.Timeout, e.Clock); wait > 0 {
			e.Results.WakeAt(item, e.Clock.Now().Add(wait))
			continue
		}
		due = append(due, p)
	}
	return due, nil
}

// StandInAllLines has an item wait in the lines of all destinations that it is due at.
func (e *Engine) StandInAllLines(ctx context.Context, turn *schedule.Turn, item *v1alpha1.FeedItem) {
	now := e.Clock.Now()
	view := withRetryRequests(item, retry.RequestsFor(ctx, e.Client, item), e.Clock.Now())
	for i := range view.Status.Deliveries {
		row := &view.Status.Deliveries[i]
		if at, open := lifecycle.Due(row, now); open && !at.After(now) {
			id := schedule.Destination(types.NamespacedName{Namespace: item.Namespace, Name: row.Destination})
			turn.AcquireAll(deliveryRank(item), posting.Needs(id)...)
		}
	}
}

// QueueForDestination has an item wait in the line of a destination that asked for a pause, so that its place
// in the order is kept.
func (e *Engine) QueueForDestination(turn *schedule.Turn, item *v1alpha1.FeedItem) {
	for i := range item.Status.Deliveries {
		if row := &item.Status.Deliveries[i]; lifecycle.Queues(row) {
			key := types.NamespacedName{Namespace: item.Namespace, Name: row.Destination}
			if taken, granted := turn.AcquireAll(deliveryRank(item), posting.Needs(schedule.Destination(key))...); granted {
				taken[1].Cancel()
			}
		}
	}
}

// keepPlaceInLine has an item whose delivery has just ended stand in the line of a destination that asked for a pause, in addition to what it waits for
// already, and beside whatever reconcile of it is under way: others must not go first before it is looked at again.
func (e *Engine) keepPlaceInLine(item *v1alpha1.FeedItem) {
	for i := range item.Status.Deliveries {
		if row := &item.Status.Deliveries[i]; lifecycle.Queues(row) {
			id := schedule.Destination(types.NamespacedName{Namespace: item.Namespace, Name: row.Destination})
			e.Schedule.StandInLine(queue.Key(queue.ItemKey, client.ObjectKeyFromObject(item)), deliveryRank(item), posting.Needs(id)...)
		}
	}
}

// otherDeliveries returns when to look again at an item of which some deliveries are parked: when
// the first of the others is due. One that is under way brings the item back by itself.
func (e *Engine) otherDeliveries(item *v1alpha1.FeedItem) ctrl.Result {
	var next time.Time
	now := e.Clock.Now()
	for i := range item.Status.Deliveries {
		row := &item.Status.Deliveries[i]
		if at, open := lifecycle.Due(row, now); open && at.After(now) && !e.Work.UnderWay(item, row.Destination) {
			next = queue.Earliest(next, at)
		}
	}
	return queue.RequeueAt(now, next)
}

// deliveryRank returns who is posted first where a destination is scarce: what was published first.
func deliveryRank(item *v1alpha1.FeedItem) schedule.Rank {
	return schedule.Rank{Class: queue.ClassOthers, Time: item.Published().Time, Name: item.Namespace + "/" + item.Name, Owner: queue.ItemOwner(item)}
}

// withRetryRequests is an item with the retry requests applied, to decide by. What is written is worked out on
// the item as it is.
func withRetryRequests(item *v1alpha1.FeedItem, known lifecycle.RetryRequests, now time.Time) *v1alpha1.FeedItem {
	view := item.DeepCopy()
	if !known.Apply(view, now) {
		return item
	}
	return view
}

// dueByItself reports whether a delivery is due without a retry request.
func dueByItself(item *v1alpha1.FeedItem, destination string, now time.Time) bool {
	at, open := lifecycle.Due(lifecycle.RowOf(item, destination), now)
	return open && !at.After(now)
}
