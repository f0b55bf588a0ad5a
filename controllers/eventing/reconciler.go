// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package eventing is the controller of events of items: it has them sent to the FeedDestinations of their namespace that ask for them.
//
// Whoever works on an item hands an event over in no time, and never learns what became of it. It is sent apart from that, one request at a
// time for each destination, at places that no item needs. Nothing of it is written down: what does not fit, or has not left when the
// operator ends, is lost. The log and the history of items are the record.
package eventing

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/eventstream"
	"github.com/feed-operator/feed-operator/internal/posting"
	"github.com/feed-operator/feed-operator/internal/queue"
	"github.com/feed-operator/feed-operator/internal/schedule"
	"github.com/feed-operator/feed-operator/internal/services"
)

// Reconciler sends the events that wait for destinations.
type Reconciler struct {
	Clock    clock.PassiveClock
	Client   client.Client
	Recorder events.EventRecorder
	Schedule *schedule.Schedule
	Services *services.Services
	Waker    *queue.Waker
	Outbox   *eventstream.Outbox
	// Log is for what is said when the operator stops, and there is no reconcile any more that has one.
	Log logr.Logger
	// Requests are what is under way.
	Requests posting.Work
}

// workers is how many destinations are looked at at once: the requests themselves are made apart from that.
const workers = 8

// SetupWithManager registers the controller. It looks at a destination when its spec changes or it is gone, when events begin to wait for it,
// when a request has ended, and when its turn has come.
func (r *Reconciler) SetupWithManager(manager ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(manager).
		Named("events").
		For(&v1alpha1.FeedDestination{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WatchesRawSource(&r.Waker.Events).
		WithOptions(r.Waker.Options(workers)).
		Complete(queue.UntilStopped(r))
}

// Reconcile sends the next event of a destination, where one is due and that is its turn.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	to := request.NamespacedName
	turn := r.Schedule.Enter(queue.Key(queue.EventsKey, to))
	defer turn.Leave()
	line, described, err := posting.ForEvents(ctx, r.Client, r.Services, to)
	if err != nil {
		return ctrl.Result{}, err
	}
	if line == nil {
		r.Outbox.Forget(to)
		return ctrl.Result{}, nil
	}
	defer line.GiveBack()
	now := r.Clock.Now()
	tell := r.tellLosses(ctx, line, described)
	due, waits := r.Outbox.Due(to, now)
	switch {
	case !waits || r.Requests.UnderWay(described, to.Name): // it is looked at again when that has ended
		return queue.RequeueAt(now, tell), nil
	case due.After(now):
		return queue.RequeueAt(now, queue.Earliest(due, tell)), nil
	}
	rank := schedule.Rank{
		Class: queue.ClassOthers, Time: now, Name: to.String(), Owner: schedule.Owner{Tenant: to.Namespace, Group: "events of " + to.Name},
	}
	taken, granted := turn.AcquireAll(rank, queue.Only(queue.EventPlaces), queue.Only(line.Resource))
	if !granted {
		return queue.RequeueAt(now, tell), nil
	}
	line.Assign(turn, taken, granted)
	if line.Publisher == nil { // it was opened or closed just now
		return queue.RequeueAt(now, now.Add(time.Second)), nil
	}
	r.Requests.Begin(ctx, turn, described, line, func(line *posting.Line) time.Duration { return r.send(ctx, described, line) },
		func(after time.Duration) { r.Waker.EventsLater(to, after) })
	return queue.RequeueAt(now, tell), nil
}
