// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package eventing

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/destination"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/posting"
	"github.com/feed-operator/feed-operator/internal/queue"
	"github.com/feed-operator/feed-operator/internal/schedule"
)

// flushTime is how long the operator goes on sending events when it stops: the last ones say how things ended.
const flushTime = 3 * time.Second

// countTime is how long what has become of them is written on statuses then. While the API server takes nothing, each such write is tried for many seconds, and
// a namespace may have thousands of destinations: the log has it all the same.
const countTime = 10 * time.Second

// mostAtTheEnd is how many requests are made at once then, however many namespaces there are.
const mostAtTheEnd = 128

// writersAtTheEnd is how many statuses are written at once then.
const writersAtTheEnd = 16

// Flush sends what waits, as far as that is possible within flushTime. It is for when nothing else is under way any more. Each namespace has its share of
// the places, and one at least: those who hang must not hold all of them until the time is up.
func (r *Reconciler) Flush(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctrl.LoggerInto(context.WithoutCancel(ctx), r.Log), flushTime)
	defer cancel()
	counting, stopCounting := context.WithTimeout(context.WithoutCancel(ctx), countTime)
	defer stopCounting()
	tenants := map[string][]types.NamespacedName{}
	for _, to := range r.Outbox.Waiting() {
		tenants[to.Namespace] = append(tenants[to.Namespace], to)
	}
	var sending sync.WaitGroup
	all, writing := make(chan struct{}, mostAtTheEnd), make(chan struct{}, writersAtTheEnd)
	for _, theirs := range tenants {
		places := make(chan struct{}, max(queue.LimitOfEvents.Slots()/len(tenants), 1))
		for _, to := range theirs {
			sending.Go(func() {
				line, described, err := posting.ForEvents(ctx, r.Client, r.Services, to)
				if err != nil || line == nil {
					return
				}
				places <- struct{}{}
				all <- struct{}{}
				sent := r.sendLast(ctx, to, line, described.UID)
				<-all
				<-places
				writing <- struct{}{}
				defer func() { <-writing }()
				r.countLast(ctx, line, described, sent, counting.Err() == nil)
			})
		}
	}
	sending.Wait()
}

// countLast logs what of the events for one destination is lost in the end, and counts that and what was sent where there is time for it: what is counted
// now is written at once.
func (r *Reconciler) countLast(ctx context.Context, line *posting.Line, described *v1alpha1.FeedDestination, sent int64, inTime bool) {
	lost := r.Outbox.End(client.ObjectKeyFromObject(described))
	if lost.Sum() > 0 {
		log(ctx, described, lost)
	}
	if inTime && (sent > 0 || lost.Sum() > 0) {
		r.Services.CountEvents(line.Resource, sent, lost.Sum())
	}
}

// sendLast sends what waits for one destination until something is in the way, and returns how much has arrived. What the receiver refuses is in nobody's
// way.
func (r *Reconciler) sendLast(ctx context.Context, to types.NamespacedName, line *posting.Line, of types.UID) (sent int64) {
	if line.Publisher == nil {
		return 0
	}
	turn := r.Schedule.Enter(queue.Key(queue.EventsKey, to)) // the one of Reconcile: what was granted to that is for this
	defer turn.Leave()
	rank := schedule.Rank{Class: queue.ClassOthers, Name: to.String(), Owner: schedule.Owner{Tenant: to.Namespace}}
	for ctx.Err() == nil {
		taken, granted := turn.Try(rank, queue.Only(line.Resource))
		if !granted {
			return sent
		}
		event, waits := r.Outbox.Take(to, of)
		if !waits {
			taken[0].Cancel()
			return sent
		}
		calling, cancel := context.WithTimeout(ctx, line.Timeout)
		_, err := line.Publisher.DeliverSafely(calling, event.ID, destination.Post{Text: event.Body})
		cancel()
		taken[0].Done()
		switch {
		case err == nil:
			r.Outbox.Sent(to, of)
			sent++
		case refusesEvent(failure.Classify(err)):
			r.refused(ctx, to, of, event, err)
		default:
			r.Outbox.PutBack(to, of)
			return sent
		}
	}
	return sent
}
