// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package eventing

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/destination"
	"github.com/feed-operator/feed-operator/internal/eventstream"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/posting"
	"github.com/feed-operator/feed-operator/internal/telemetry"
)

// send makes one request with the oldest event that waits. What the receiver refuses is dropped; what may pass is tried again, but not for
// ever, so that one event never holds up all others. It returns when to look again.
func (r *Reconciler) send(ctx context.Context, described *v1alpha1.FeedDestination, line *posting.Line) (again time.Duration) {
	to, of := client.ObjectKeyFromObject(described), described.UID
	if ctx.Err() != nil || !line.Unchanged(ctx, r.Client, r.Services, to.Namespace) {
		line.Ticket.Cancel()
		return time.Second
	}
	event, waits := r.Outbox.Take(to, of)
	if !waits {
		line.Ticket.Cancel()
		return 0
	}
	calling, cancel := context.WithTimeout(ctx, line.Timeout) // a stop ends it: what is sent then is bounded (Flush)
	defer cancel()
	_, err := line.Publisher.DeliverSafely(calling, event.ID, destination.Post{Text: event.Body})
	failed := failure.Classify(err)
	if err != nil && ctx.Err() != nil {
		line.Ticket.Done()
		r.Outbox.PutBack(to, of)
		return 0
	}
	replaced := r.Services.CallEnded(line.Ticket, line.Revision, v1alpha1.StageDeliver, 0, posting.AsFailure(err))
	switch {
	case err == nil:
		r.Outbox.Sent(to, of)
		r.Services.CountEvents(line.Resource, 1, 0)
	case replaced, refusesAll(failed):
		r.Outbox.PutBack(to, of) // the event has nothing to do with it
	case refusesEvent(failed):
		r.refused(ctx, to, of, event, failed)
	default:
		r.Outbox.Failed(to, of, r.Clock.Now())
		ctrl.LoggerFrom(ctx).V(1).Info("Event not sent", "destination", to.Name, "event", event.ID, "error", failed.Error())
	}
	return 0
}

// refusesAll reports for a failure that the receiver takes no events for now, whatever they say.
func refusesAll(failed *failure.Error) bool {
	return failed.Category == v1alpha1.CategoryAuth || failed.Category == v1alpha1.CategoryRateLimit || failed.Type == failure.TypeGone
}

// refusesEvent reports for a failure that the receiver will never take this event.
func refusesEvent(failed *failure.Error) bool {
	return failed.Category == v1alpha1.CategoryValidation && !refusesAll(failed)
}

// refused notes that an event was refused, and logs why the first was: a namespace may have thousands that refuse all they get, and each item some ten
// events.
func (r *Reconciler) refused(ctx context.Context, to types.NamespacedName, of types.UID, event eventstream.Event, because error) {
	log := ctrl.LoggerFrom(ctx).WithValues("destination", to.Name)
	if first := r.Outbox.Refused(to, of); !first {
		log = log.V(1)
	}
	log.Info("Event refused", "severity", "warning", "event", event.ID, "error", because.Error())
}

// tellLosses tells that events were dropped, at most once in a while, and returns when to tell more; zero for never.
func (r *Reconciler) tellLosses(ctx context.Context, line *posting.Line, described *v1alpha1.FeedDestination) (again time.Time) {
	lost, again := r.Outbox.Losses(client.ObjectKeyFromObject(described), r.Clock.Now())
	if lost.Sum() > 0 {
		log(ctx, described, lost)
		r.Services.CountEvents(line.Resource, 0, lost.Sum())
		telemetry.EventsDropped(r.Recorder, described, lost)
	}
	return again
}

// log logs losses.
func log(ctx context.Context, described *v1alpha1.FeedDestination, lost eventstream.Losses) {
	log := ctrl.LoggerFrom(ctx)
	if lost.Stopped > 0 {
		log = log.WithValues("stopped", lost.Stopped)
	}
	log.Info("Events dropped", "severity", "warning", "destination", client.ObjectKeyFromObject(described).String(),
		"noRoom", lost.NoRoom, "refused", lost.Refused)
}
