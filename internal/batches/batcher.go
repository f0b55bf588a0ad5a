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
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/itemwrites"
	"github.com/feed-operator/feed-operator/internal/posting"
	"github.com/feed-operator/feed-operator/internal/queue"
	"github.com/feed-operator/feed-operator/internal/record"
	"github.com/feed-operator/feed-operator/internal/schedule"
	"github.com/feed-operator/feed-operator/internal/services"
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

	mu sync.Mutex
	// seen is since when this process has known of the requests that are announced, by batch: as package delivery does for items.
	seen map[batchID]announcement
	// handed are the results that are on their items.
	handed map[result]bool
}

// errNothingToSend means that what waits cannot be sent just now.
var errNothingToSend = errors.New("nothing to send")

// recheckInterval is when a destination is looked at again of whose items none could be sent, or for which there was no room in the memory.
const recheckInterval = 5 * time.Second

// announcement is when a request that ends at a time was seen first.
type announcement struct {
	notAfter metav1.Time
	at       time.Duration
}

// Work does what is next for the batches of a destination, where that is its turn, and returns when to look again.
func (b *Batcher) Work(ctx context.Context, turn *schedule.Turn, name types.NamespacedName) (ctrl.Result, error) {
	var described v1alpha1.FeedDestination
	if err := b.Client.Get(ctx, name, &described); err != nil {
		if apierrors.IsNotFound(err) {
			b.destinationGone(name)
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !described.DeletionTimestamp.IsZero() || described.Batch() == nil && len(described.Status.Batches) == 0 || b.Requests.UnderWay(workOn(name), name.Name) {
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
	case plan.ended && (plan.at.IsZero() || plan.at.After(now)): // nothing is called for that
		place, granted := turn.Acquire(rank, queue.ItemPlaces)
		if !granted {
			return ctrl.Result{}, nil
		}
		turn.Detach(place)
		line.Place = place
	case plan.at.IsZero():
		return ctrl.Result{}, nil
	case plan.at.After(now):
		return queue.RequeueAt(now, plan.at), nil
	default:
		taken, granted := turn.AcquireAll(rank, posting.Needs(line.Resource)...)
		if !granted {
			return ctrl.Result{}, nil
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
	if err := b.handOut(ctx, live, line); err != nil {
		log.Error(err, "Failed to update status with the results of a batch")
		return posting.AfterError
	}
	if err := b.forgetEnded(ctx, live); err != nil {
		log.Error(err, "Failed to remove a finished batch")
		return posting.AfterError
	}
	if line.Ticket == nil || line.Publisher == nil || ctx.Err() != nil || b.Writes.Held(name.Namespace) {
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
		if settled, err := b.settle(ctx, live, of.Key, batch.Outcome{NotAfter: of.NotAfter, Unknown: true}, line); err != nil || settled == nil {
			return err
		}
		return b.handOut(ctx, live, line)
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
			b.drop(ctx, live, draft)
		}
		return err
	}
	announced := batchOf(live, draft.Key).DeepCopy()
	body, key, err := batch.Body(announced, draft.records)
	if err != nil {
		return err
	}
	outcome := b.request(ctx, announced, body, key, line, began)
	room.Release()      // what follows may take as long as the API server is away
	if outcome == nil { // too late: nothing was sent
		return nil
	}
	if settled, err := b.settle(ctx, live, announced.Key, *outcome, line); err != nil || settled == nil {
		return err
	}
	return b.handOut(ctx, live, line)
}

// request makes the request that is announced, again where it has failed in a way that may pass in seconds (R3.3). The outcome is nil where it was
// too late for one.
func (b *Batcher) request(ctx context.Context, of *v1alpha1.Batch, body, key string, line *posting.Line, began time.Duration) *batch.Outcome {
	outcome := &batch.Outcome{NotAfter: of.NotAfter}
	var waited time.Duration
	for calls := 1; ; calls++ {
		remaining := min(of.NotAfter.Sub(b.Clock.Now()), began+line.Timeout+time.Second-apiclock.PassedBy(b.Clock))
		if remaining <= 0 {
			if calls == 1 {
				line.Ticket.Cancel()
				return nil
			}
			return outcome
		}
		calling, cancel := context.WithTimeout(context.WithoutCancel(ctx), remaining)
		receipt, err := line.Publisher.DeliverSafely(calling, key, destination.Post{Text: body})
		cancel()
		again := b.Services.CallEnded(line.Ticket, line.Revision, v1alpha1.StageDeliver, 0, posting.AsFailure(err))
		switch {
		case err == nil:
			outcome.Arrived, outcome.Duplicate, outcome.Failure, outcome.Uncertain = true, receipt.Duplicate, nil, false
			return outcome
		case again:
			outcome.Again, outcome.Failure, outcome.Uncertain = true, nil, false
			return outcome
		}
		known := failure.Classify(err)
		uncertain := !destination.Certain(err)
		outcome.Failure = failure.Record(err, v1alpha1.StageDeliver, line.Destination, b.Clock.Now())
		outcome.RetryAfter, outcome.Uncertain = known.RetryAfter, uncertain || outcome.Repeated > 0
		wait, may := b.InPlace.Wait(v1alpha1.StageDeliver, known, calls, waited, of.Key)
		if !may || uncertain && !repeats(line) || ctx.Err() != nil || wait+line.Timeout/2 > remaining {
			return outcome
		}
		if waited += wait; !b.ticketAgain(ctx, of, line, wait) {
			return outcome
		}
		if uncertain {
			outcome.Repeated++
		}
	}
}

// ticketAgain waits, and takes another ticket for a request that is made again at once.
func (b *Batcher) ticketAgain(ctx context.Context, of *v1alpha1.Batch, line *posting.Line, wait time.Duration) bool {
	turn := b.Schedule.Enter("again/batch/" + of.Key)
	defer turn.Leave()
	select {
	case <-b.Clock.After(wait):
	case <-ctx.Done():
		return false
	}
	taken, free := turn.Try(schedule.Rank{Class: queue.ClassOthers, Name: of.Key}, queue.Only(line.Resource))
	if !free {
		return false
	}
	turn.Detach(taken[0])
	line.Ticket = taken[0]
	return true
}

// settle writes down what a request has come to, whatever happened to the destination meanwhile; while the API server takes nothing, again and
// again: what has arrived is not sent again for that. Where the destination was deleted meanwhile, it is written on the items alone, and the
// destination that it returns is nil.
func (b *Batcher) settle(ctx context.Context, live *v1alpha1.FeedDestination, key string, outcome batch.Outcome,
	line *posting.Line,
) (*v1alpha1.FeedDestination, error) {
	now, policy, may := b.Clock.Now(), backoff.Of(live), repeats(line)
	known := live.DeepCopy()
	for {
		writing, cancel := record.Context(ctx)
		belongs := false
		err := record.Write[v1alpha1.FeedDestination](writing, b.Client, b.Live, live, func(d *v1alpha1.FeedDestination) bool {
			of := batchOf(d, key)
			belongs = of != nil && batch.Settle(of, outcome, policy, may, now)
			return belongs
		})
		cancel()
		if apierrors.IsNotFound(err) { // or another one has its name
			batch.Settle(batchOf(known, key), outcome, policy, may, now)
			b.report(ctx, known, key, outcome)
			return nil, b.handOutLast(ctx, known, line)
		}
		if err == nil {
			b.report(ctx, live, key, outcome)
			return live, nil
		}
		ctrl.LoggerFrom(ctx).Error(err, "Failed to update status with a batch", "destination", live.Name)
		select {
		case <-b.Clock.After(posting.AfterError):
		case <-ctx.Done():
			return nil, err
		}
	}
}

// report logs what a request came to.
func (b *Batcher) report(ctx context.Context, d *v1alpha1.FeedDestination, key string, outcome batch.Outcome) {
	log := ctrl.LoggerFrom(ctx).WithValues("destination", d.Name, "batch", key)
	switch of := batchOf(d, key); {
	case outcome.Arrived && outcome.Duplicate:
		log.Info("Duplicate data detected: the receiver had the batch already", "severity", "warning")
	case outcome.Arrived:
		log.Info("Batch sent")
	case outcome.Failure != nil && of != nil && of.NextRetryTime != nil:
		log.Info("Batch failed, will retry", "error", outcome.Failure.Message, "nextRetryTime", of.NextRetryTime.Time)
	case outcome.Failure != nil:
		log.Info("Batch refused", "severity", "warning", "error", outcome.Failure.Message)
	}
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
