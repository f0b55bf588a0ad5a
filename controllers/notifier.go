// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"
	"runtime/debug"
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
	"github.com/feed-operator/feed-operator/internal/queue"
	"github.com/feed-operator/feed-operator/internal/schedule"
	"github.com/feed-operator/feed-operator/internal/services"
)

// notifier sends notifications, be they of an item that has failed for good or of a service that refuses its
// credentials. Each goes on by itself, so that no worker waits for it; one whose destination is missing or
// unavailable waits in its line, which is no attempt.
type notifier struct {
	Clock      clock.Clock
	Client     client.Client
	Services   *services.Services
	Writes     *itemwrites.Writes
	Background *queue.Background

	underWay queue.UnderWay
}

// notification is one that is due, and what its sending takes of the object that it is on. The functions are
// called by one goroutine at a time.
type notification struct {
	v1alpha1.Notification
	about client.Object
	rank  schedule.Rank
	// text reads again whether it is still to be sent, right before that, and says what; nil: not any more.
	text func(context.Context) (*destination.Notice, error)
	// held says whether what comes of a call could not be written down; nil: as of the items of its namespace.
	held func(context.Context) bool
	// began is told when the call begins.
	began func(time.Time)
	// record writes down what an attempt has come to.
	record func(context.Context, lifecycle.NotificationOutcome) error
	// lookAgain has the object looked at again after a while.
	lookAgain func(after time.Duration)
}

// stillQueued says whether a notification still stands as it did when it was begun.
func stillQueued(row, began *v1alpha1.Notification) bool {
	return row != nil && row.State == v1alpha1.NotificationQueued && row.Key == began.Key && row.FailedAttempts == began.FailedAttempts
}

// begin sends a notification, where its destination is free and may get it. It returns when to look again; zero:
// somebody else sees to that.
func (n *notifier) begin(ctx context.Context, turn *schedule.Turn, told *notification) (again time.Time, err error) {
	now := n.Clock.Now()
	outcome := lifecycle.NotificationOutcome{Destination: told.Destination, Key: told.Key, FailedAttempts: told.FailedAttempts}
	key := client.ObjectKey{Namespace: told.about.GetNamespace(), Name: told.Destination}
	var described v1alpha1.FeedDestination
	if err := n.Client.Get(ctx, key, &described); client.IgnoreNotFound(err) != nil {
		return time.Time{}, err
	}
	if !described.Confidential() {
		refused := failure.New(v1alpha1.CategoryValidation, failure.TypeUnsupported, notConfidential(told.Destination))
		outcome.Failure = failure.Record(refused, v1alpha1.StageNotify, told.Destination, now)
		return now, told.record(ctx, outcome)
	}
	p, err := postTo(ctx, n.Client, n.Services, key)
	if err != nil {
		return time.Time{}, err
	}
	defer p.giveBack()
	taken, granted := turn.AcquireAll(told.rank, toPost(p.resource)...)
	if !granted {
		return time.Time{}, nil
	}
	p.has(turn, taken, granted)
	if p.to == nil { // it was opened or closed just now
		return now.Add(time.Second), nil
	}
	if !n.underWay.Begin(told.about, told.Destination) {
		return time.Time{}, nil
	}
	handed := p.handOver(turn)
	n.Background.Run(func() { n.send(ctx, told, handed, visibilityOf(&described), outcome) })
	return time.Time{}, nil
}

// send sends a notification and writes down what came of it, and has its object looked at again.
func (n *notifier) send(ctx context.Context, told *notification, p *post, visibility string, outcome lifecycle.NotificationOutcome) {
	// Not written down is tried again, but not at once: what the API server refuses, it goes on refusing.
	const afterError = 10 * time.Second
	wait := afterError
	log := ctrl.LoggerFrom(ctx).WithValues("destination", told.Destination)
	defer func() {
		if value := recover(); value != nil {
			panicked := failure.Panicked(value, debug.Stack())
			log.Error(panicked, "Notification panicked", "stack", panicked.Stack)
		}
		p.giveBack()
		n.underWay.End(told.about, told.Destination)
		told.lookAgain(wait)
	}()
	if ctx.Err() != nil || n.Writes.Held(told.about.GetNamespace()) && (told.held == nil || told.held(ctx)) { // what comes of a call could not be written down
		return
	}
	notice, err := told.text(ctx) // from here on nobody else is at it
	if err != nil {
		log.Error(err, "Notification could not be made")
		return
	}
	if notice == nil { // what was read of its object was old
		wait = time.Second
		return
	}
	publication, err := destination.ComposeNotice(*notice, visibility, destination.Limits{
		MaxCharacters: int(p.to.server.MaxCharacters), CharactersPerURL: int(p.to.server.CharactersPerURL),
	})
	if err == nil {
		var receipt destination.Receipt
		outcome.Began = n.Clock.Now()
		told.began(outcome.Began)
		calling, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.timeout)
		defer cancel()
		receipt, err = deliverSafely(calling, p.to, outcome.Key, publication)
		if n.Services.CallEnded(p.ticket, p.revision, v1alpha1.StageNotify, 0, asFailure(err)) {
			wait = time.Second // what it was called with has been replaced
			return
		}
		outcome.Sent, outcome.ID, outcome.URL = err == nil, conditions.Cut(receipt.ID, 128), conditions.Cut(receipt.URL, 2048)
	}
	if err != nil {
		known := failure.Classify(err)
		outcome.Failure, outcome.RetryAfter = failure.Record(err, v1alpha1.StageNotify, told.Destination, n.Clock.Now()), known.RetryAfter
		outcome.Failure.Retryable = known.Category != v1alpha1.CategoryValidation
	}
	p.giveBack() // others need not wait for the API server
	for {
		if err = told.record(ctx, outcome); err == nil {
			wait = 0
			return
		}
		log.Error(err, "Notification could not be written down")
		if !worthKeeping(err) {
			return
		}
		select { // what was sent is not sent again for that
		case <-n.Clock.After(afterError):
		case <-ctx.Done():
			return
		}
	}
}

func visibilityOf(described *v1alpha1.FeedDestination) string {
	if described.Spec.Mastodon == nil {
		return ""
	}
	return string(described.Spec.Mastodon.Visibility)
}

// notConfidential says why a destination is not told of failures.
func notConfidential(destination string) string {
	return fmt.Sprintf("FeedDestination %q is told nothing: everybody could read it. "+
		"Set its spec.mastodon.visibility to direct or private, or name another one in spec.notifications of the source", destination)
}
