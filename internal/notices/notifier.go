// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package notices

import (
	"context"
	"fmt"
	"time"

	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/conditions"
	"github.com/feed-operator/feed-operator/internal/destination"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/itemwrites"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
	"github.com/feed-operator/feed-operator/internal/posting"
	"github.com/feed-operator/feed-operator/internal/schedule"
	"github.com/feed-operator/feed-operator/internal/services"
)

// Notifier sends notifications, be they of an item that has failed for good or of a service that refuses its
// credentials. Each goes on by itself, so that no worker waits for it; one whose destination is missing or
// unavailable waits in its line, which is no attempt.
type Notifier struct {
	Clock    clock.Clock
	Client   client.Client
	Services *services.Services
	Writes   *itemwrites.Writes
	Work     posting.Work
}

// Notification is one that is due, and what its sending takes of the object that it is on. The functions are
// called by one goroutine at a time.
type Notification struct {
	v1alpha1.Notification
	About client.Object
	Rank  schedule.Rank
	// Text reads again whether it is still to be sent, right before that, and reports what; nil: not any more.
	Text func(context.Context) (*destination.Notice, error)
	// Held reports whether what comes of a call could not be written down; nil: as of the items of its namespace.
	Held func(context.Context) bool
	// Began is told when the call begins.
	Began func(time.Time)
	// Record writes down what an attempt has come to.
	Record func(context.Context, lifecycle.NotificationOutcome) error
	// RequeueAfter has the object looked at again after a while.
	RequeueAfter func(after time.Duration)
}

// StillQueued reports whether a notification still stands as it did when it was begun.
func StillQueued(row, began *v1alpha1.Notification) bool {
	return row != nil && row.State == v1alpha1.NotificationQueued && row.Key == began.Key && row.FailedAttempts == began.FailedAttempts
}

// Begin sends a notification, where its destination is free and may get it. It returns when to look again; zero:
// somebody else sees to that.
func (n *Notifier) Begin(ctx context.Context, turn *schedule.Turn, told *Notification) (again time.Time, err error) {
	now := n.Clock.Now()
	outcome := lifecycle.NotificationOutcome{Destination: told.Destination, Key: told.Key, FailedAttempts: told.FailedAttempts}
	key := client.ObjectKey{Namespace: told.About.GetNamespace(), Name: told.Destination}
	var described v1alpha1.FeedDestination
	if err := n.Client.Get(ctx, key, &described); client.IgnoreNotFound(err) != nil {
		return time.Time{}, err
	}
	if _, why := Refuses(&described); why != "" {
		refused := failure.New(v1alpha1.CategoryValidation, failure.TypeUnsupported, why)
		outcome.Failure = failure.Record(refused, v1alpha1.StageNotify, told.Destination, now)
		return now, told.Record(ctx, outcome)
	}
	l, err := posting.To(ctx, n.Client, n.Services, key)
	if err != nil {
		return time.Time{}, err
	}
	defer l.GiveBack()
	taken, granted := turn.AcquireAll(told.Rank, posting.Needs(l.Resource)...)
	if !granted {
		return time.Time{}, nil
	}
	l.Assign(turn, taken, granted)
	if l.Publisher == nil { // it was opened or closed just now
		return now.Add(time.Second), nil
	}
	n.Work.Begin(ctx, turn, told.About, l, func(l *posting.Line) time.Duration {
		return n.send(ctx, told, l, outcome)
	}, told.RequeueAfter)
	return time.Time{}, nil
}

// send sends a notification and writes down what came of it. It returns when to look at its object again.
func (n *Notifier) send(ctx context.Context, told *Notification, l *posting.Line, outcome lifecycle.NotificationOutcome) (again time.Duration) {
	log := ctrl.LoggerFrom(ctx).WithValues("destination", told.Destination)
	if ctx.Err() != nil || n.Writes.Held(told.About.GetNamespace()) && (told.Held == nil || told.Held(ctx)) { // what comes of a call could not be written down
		return posting.AfterError
	}
	notice, err := told.Text(ctx) // from here on nobody else is at it
	if err != nil {
		log.Error(err, "Failed to compose a notification")
		return posting.AfterError
	}
	if notice == nil { // what was read of its object was old
		return time.Second
	}
	notice.Key = outcome.Key
	publication, err := l.Publisher.ComposeNotice(*notice, l.Publisher.Limits())
	if err == nil {
		var receipt destination.Receipt
		outcome.Began = n.Clock.Now()
		told.Began(outcome.Began)
		calling, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.Timeout)
		defer cancel()
		receipt, err = l.Publisher.DeliverSafely(calling, outcome.Key, publication)
		if n.Services.CallEnded(l.Ticket, l.Revision, v1alpha1.StageNotify, 0, posting.AsFailure(err)) {
			return time.Second // what it was called with has been replaced
		}
		outcome.Sent, outcome.ID, outcome.URL = err == nil, conditions.Cut(receipt.ID, 128), conditions.Cut(receipt.URL, 2048)
	}
	if err != nil {
		known := failure.Classify(err)
		outcome.Failure, outcome.RetryAfter = failure.Record(err, v1alpha1.StageNotify, told.Destination, n.Clock.Now()), known.RetryAfter
		outcome.Failure.Retryable = known.Category != v1alpha1.CategoryValidation || known.Passing
	}
	l.GiveBack() // others need not wait for the API server
	for {
		if err = told.Record(ctx, outcome); err == nil {
			return 0
		}
		log.Error(err, "Failed to update status with a notification")
		if !itemwrites.WorthKeeping(err) {
			return posting.AfterError
		}
		select { // what was sent is not sent again for that
		case <-n.Clock.After(posting.AfterError):
		case <-ctx.Done():
			return posting.AfterError
		}
	}
}

// Refuses returns why a destination gets no notifications, as a reason and in words; empty where it does.
func Refuses(described *v1alpha1.FeedDestination) (reason, why string) {
	switch {
	case described.Events() != nil:
		return v1alpha1.ReasonEventsOnly, fmt.Sprintf("FeedDestination %q gets no notifications: it gets events of items (spec.webhook.events). "+
			"Name another one in spec.notifications of the source", described.Name)
	case !described.Confidential():
		return v1alpha1.ReasonNotConfidential, fmt.Sprintf("FeedDestination %q gets no notifications: its posts are public. "+
			"Set its spec.mastodon.visibility to direct or private, or name another one in spec.notifications of the source", described.Name)
	}
	return "", ""
}
