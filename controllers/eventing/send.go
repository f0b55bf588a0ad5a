// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package eventing

import (
	"context"
	"time"

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
	log := ctrl.LoggerFrom(ctx).WithValues("destination", to.Name)
	switch {
	case err == nil:
		r.Outbox.Sent(to, of)
		r.Services.CountEvents(line.Resource, 1, 0)
	case replaced, failed.Category == v1alpha1.CategoryAuth, failed.Category == v1alpha1.CategoryRateLimit, failed.Type == failure.TypeGone:
		r.Outbox.PutBack(to, of) // the event has nothing to do with it
	case failed.Category == v1alpha1.CategoryValidation:
		if first := r.Outbox.Refused(to, of); !first { // a namespace may have thousands that refuse all they get, and each item some ten events
			log = log.V(1)
		}
		log.Info("Event refused", "severity", "warning", "event", event.ID, "error", failed.Error())
	default:
		r.Outbox.Failed(to, of, r.Clock.Now())
		log.V(1).Info("Event not sent", "event", event.ID, "error", failed.Error())
	}
	return 0
}

// tellLosses tells that events were dropped, at most once in a while, and returns when to tell more; zero for never.
func (r *Reconciler) tellLosses(ctx context.Context, line *posting.Line, described *v1alpha1.FeedDestination) (again time.Time) {
	lost, again := r.Outbox.Losses(client.ObjectKeyFromObject(described), r.Clock.Now())
	if lost.Sum() > 0 {
		r.tell(ctx, line, described, lost)
		telemetry.EventsDropped(r.Recorder, described, lost)
	}
	return again
}

// tell counts losses, and logs them.
func (r *Reconciler) tell(ctx context.Context, line *posting.Line, described *v1alpha1.FeedDestination, lost eventstream.Losses) {
	r.Services.CountEvents(line.Resource, 0, lost.Sum())
	ctrl.LoggerFrom(ctx).Info("Events dropped", "severity", "warning", "destination", client.ObjectKeyFromObject(described).String(),
		"noRoom", lost.NoRoom, "refused", lost.Refused)
}
