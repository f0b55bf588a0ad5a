// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package batches sends the items of a destination several at a time: it finds out which ones wait, announces a batch of them, sends it, and has the
// result of each written.
//
// It knows destinations and batches; what is sent of an item, and what is written on one, is that of any delivery (delivery.Batched). What
// becomes of a batch follows from package batch alone.
package batches

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/apiclock"
	"github.com/feed-operator/feed-operator/internal/backoff"
	"github.com/feed-operator/feed-operator/internal/batch"
	"github.com/feed-operator/feed-operator/internal/budget"
	"github.com/feed-operator/feed-operator/internal/delivery"
	"github.com/feed-operator/feed-operator/internal/destination"
	"github.com/feed-operator/feed-operator/internal/itemwrites"
	"github.com/feed-operator/feed-operator/internal/posting"
	"github.com/feed-operator/feed-operator/internal/queue"
	"github.com/feed-operator/feed-operator/internal/record"
	"github.com/feed-operator/feed-operator/internal/retry"
	"github.com/feed-operator/feed-operator/internal/schedule"
	"github.com/feed-operator/feed-operator/internal/services"
	"github.com/feed-operator/feed-operator/internal/tracing"
)

// Batcher sends the items of a destination several at a time. One patch of the destination's status, which is lost where somebody else was
// faster, is the intent of all of them; the result is written there too, and then on each item. Until each has its result, the batch stays
// on the status, and what is sent of it in a FeedMemory: so a repetition has the same key and the same body, whatever was changed since.
//
// Read Work for what is done next, send for a request, and handOut for the results of the items.
type Batcher struct {
	Clock    clock.WithDelayedExecution
	Client   client.Client
	Live     client.Reader
	Writes   *itemwrites.Writes
	Tracer   *tracing.Tracer
	Schedule *schedule.Schedule
	Waker    *queue.Waker
	Services *services.Services
	InPlace  backoff.InPlace
	// Memory is that of all documents, of which what is sent takes its share: how much that is, whoever writes an expression decides.
	Memory *budget.Budget
	// Requests are what is under way.
	Requests posting.Work
	// Items makes what is sent of items, and writes what has become of them.
	Items delivery.Batched

	// readAhead is how many batches are being filled.
	readAhead atomic.Int32

	mu sync.Mutex
	// known is what this process knows of the batches of each destination.
	known map[types.NamespacedName]*knowledge
}

// errNothingToSend means that what waits cannot be sent just now.
var errNothingToSend = errors.New("nothing to send")

// recheckInterval is when a destination is looked at again of whose items none could be sent, or for which there was no room in the memory.
const recheckInterval = 5 * time.Second

// Work does what is next for the batches of a destination, where that is its turn, and returns when to look again.
func (b *Batcher) Work(ctx context.Context, turn *schedule.Turn, name types.NamespacedName) (ctrl.Result, error) {
	var described v1alpha1.FeedDestination
	if err := b.Client.Get(ctx, name, &described); err != nil {
		if apierrors.IsNotFound(err) {
			b.forgetDestination(name)
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !described.DeletionTimestamp.IsZero() || described.Batch() == nil && len(described.Status.Batches) == 0 || b.Requests.UnderWay(workOn(name), name.Name) {
		return ctrl.Result{}, nil
	}
	look := schedule.Rank{Name: name.String(), Owner: schedule.Owner{Tenant: name.Namespace}}
	if _, granted := turn.Acquire(look, queue.BatchLookPlaces); !granted { // the API server may not answer for one namespace, which holds up no other
		turn.KeepWaiting()
		return ctrl.Result{}, nil
	}
	live := &v1alpha1.FeedDestination{}
	if err := b.Live.Get(ctx, name, live); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	plan, err := b.plan(ctx, live)
	if err != nil {
		return ctrl.Result{}, err
	}
	now := b.Clock.Now()
	line, err := posting.To(ctx, b.Client, b.Services, name)
	if err != nil {
		return ctrl.Result{}, err
	}
	defer line.GiveBack()
	rank := schedule.Rank{
		Class: queue.ClassOthers, Time: plan.oldest, Name: name.String(), Owner: schedule.Owner{Tenant: name.Namespace, Group: "batches of " + name.Name},
	}
	switch {
	case plan.ended: // nothing is called for that, whatever the destination is like by now
		place, granted := turn.Acquire(rank, queue.ItemPlaces)
		if !granted {
			return ctrl.Result{}, nil
		}
		turn.Detach(place)
		line.Place = place
	case plan.at.IsZero():
		return ctrl.Result{RequeueAfter: plan.refused}, nil
	case plan.at.After(now):
		return queue.RequeueAt(now, queue.Earliest(plan.refusedUntil(now), plan.at)), nil
	default:
		taken, granted := turn.AcquireAll(rank, posting.Needs(line.Resource)...)
		if !granted {
			return ctrl.Result{RequeueAfter: plan.refused}, nil
		}
		line.Assign(turn, taken, granted)
		if line.Publisher == nil { // it was opened or closed just now
			return queue.RequeueAt(now, now.Add(time.Second)), nil
		}
	}
	b.Requests.Begin(ctx, turn, workOn(name), line, func(line *posting.Line) time.Duration { return b.work(ctx, name, line) },
		func(after time.Duration) { b.Waker.BatchLater(name, after) })
	return ctrl.Result{}, nil
}

// workOn stands for the work on the batches of a destination of a name. One that takes the place of another waits until what is under way for that has
// ended: they have the same items.
func workOn(name types.NamespacedName) client.Object {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{UID: types.UID(name.String())}}
}

// work hands out results, and makes one request if one is due. It returns when to look again.
func (b *Batcher) work(ctx context.Context, name types.NamespacedName, line *posting.Line) time.Duration {
	log := ctrl.LoggerFrom(ctx).WithValues("destination", name.Name)
	live := &v1alpha1.FeedDestination{}
	if err := b.Live.Get(ctx, name, live); err != nil {
		return posting.AfterError
	}
	_ = b.handOut(ctx, live, line, nil) // what was not taken is written again
	if b.Writes.Held(name.Namespace) {
		return posting.AfterError
	}
	if err := b.forgetEnded(ctx, live); err != nil {
		log.Error(err, "Failed to remove a finished batch")
		return posting.AfterError
	}
	if line.Ticket == nil || line.Publisher == nil || ctx.Err() != nil {
		return 0
	}
	next, err := b.plan(ctx, live)
	if err != nil {
		return posting.AfterError
	}
	if next.at.IsZero() || next.at.After(b.Clock.Now()) {
		return 0
	}
	if !line.Unchanged(ctx, b.Client, b.Services, name.Namespace) {
		return time.Second
	}
	if err := b.send(ctx, live, line, next.batch); err != nil {
		switch {
		case apierrors.IsConflict(err): // somebody else was faster
			return time.Millisecond
		case errors.Is(err, errNothingToSend), errors.Is(err, budget.ErrFull):
			return recheckInterval
		}
		log.Error(err, "Failed to send a batch")
		return posting.AfterError
	}
	return 0
}

// send announces a request with the next part of a batch, of a new one where at is -1, makes it, and writes down what it came to.
func (b *Batcher) send(ctx context.Context, live *v1alpha1.FeedDestination, line *posting.Line, at int) error {
	if at >= 0 && live.Status.Batches[at].InFlight && !repeats(line) {
		of := &live.Status.Batches[at]
		if settled, err := b.settle(ctx, live, of.Key, batch.Outcome{NotAfter: of.NotAfter, Unknown: true}, line, len(batch.Part(of))); err != nil || settled == nil {
			return err
		}
		_ = b.handOut(ctx, live, line, nil)
		return nil
	}
	room := b.Memory.Document(live.Namespace)
	defer room.Release()
	draft, err := b.draftOf(ctx, live, line, at, room)
	if err == nil && draft == nil {
		err = errNothingToSend
	}
	if err != nil {
		return err
	}
	if at < 0 {
		b.begins(live, draft.Key)
	}
	began := apiclock.PassedBy(b.Clock)
	writing, cancel := record.Context(ctx)
	defer cancel()
	err = record.Claim(writing, b.Client, live, func(d *v1alpha1.FeedDestination) bool {
		if at < 0 {
			d.Status.Batches = append(d.Status.Batches, draft.Batch)
		}
		batch.Intend(batchOf(d, draft.Key), line.Timeout, b.Clock.Now())
		return true
	})
	if err != nil {
		if at < 0 {
			b.drop(ctx, live, draft, err)
		}
		return err
	}
	announced := batchOf(live, draft.Key).DeepCopy()
	body, key, err := batch.Body(announced, draft.records)
	if err != nil {
		return err
	}
	served := retry.ServedByBatch(ctx, b.Client, live)
	ctx, span := b.traced(ctx, live, announced)
	defer span.End()
	outcome := b.request(ctx, live.Namespace, announced, body, key, line, began)
	draft.records, draft.prepared = nil, nil
	// What follows may take as long as the API server is away.
	room.Shrink(room.Held() - draft.weight)
	if outcome == nil { // too late: nothing was sent
		return nil
	}
	outcome.Served = served
	if settled, err := b.settle(ctx, live, announced.Key, *outcome, line, len(batch.Part(announced))); err != nil || settled == nil {
		return err
	}
	_ = b.handOut(ctx, live, line, draft.read)
	return nil
}

// traced begins the trace of a request with the next part of a batch.
func (b *Batcher) traced(ctx context.Context, live *v1alpha1.FeedDestination, of *v1alpha1.Batch) (context.Context, tracing.Span) {
	part := batch.Part(of)
	items := make([]types.UID, 0, len(part))
	for _, member := range part {
		items = append(items, member.UID)
	}
	return b.Tracer.Batch(ctx, live, items)
}

func batchOf(d *v1alpha1.FeedDestination, key string) *v1alpha1.Batch {
	for i := range d.Status.Batches {
		if d.Status.Batches[i].Key == key {
			return &d.Status.Batches[i]
		}
	}
	return nil
}

// repeats reports whether what may have arrived is sent again.
func repeats(line *posting.Line) bool {
	repeater, is := line.Publisher.Destination.(destination.Repeater)
	return is && repeater.Repeats()
}
