// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/posting"
	"github.com/feed-operator/feed-operator/internal/queue"
	"github.com/feed-operator/feed-operator/internal/schedule"
)

// R4.5, R3.5: an item has its turn at one destination while its delivery at another one ends with a pause. It keeps that turn: what was
// published later does not go first.
func TestAnItemKeepsItsTurnWhenAnotherDeliveryOfItEnds(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	item := func(name string, published time.Time) *v1alpha1.FeedItem {
		made := &v1alpha1.FeedItem{ObjectMeta: metav1.ObjectMeta{Namespace: "news", Name: name, UID: types.UID(name), CreationTimestamp: metav1.NewTime(now)}}
		made.Spec.SourceRef.Name = "feed"
		made.Spec.PublishedTime = &metav1.Time{Time: published}
		made.Status.Deliveries = []v1alpha1.Delivery{
			{Destination: "paused", State: v1alpha1.DeliveryQueued, Failure: &v1alpha1.Failure{Category: v1alpha1.CategoryRateLimit}},
			{Destination: "busy", State: v1alpha1.DeliveryQueued},
		}
		return made
	}
	at := func(name string) schedule.Resource {
		return schedule.Destination(types.NamespacedName{Namespace: "news", Name: name})
	}
	older, newer := item("older", now.Add(-time.Hour)), item("newer", now.Add(-time.Minute))
	enter := func(plan *schedule.Schedule, item *v1alpha1.FeedItem) *schedule.Turn {
		return plan.Enter(queue.Key(queue.ItemKey, client.ObjectKeyFromObject(item)))
	}
	asks := func(plan *schedule.Schedule, item *v1alpha1.FeedItem) (*schedule.Turn, bool) {
		turn := enter(plan, item)
		_, granted := turn.AcquireAll(deliveryRank(item), posting.Needs(at("busy"))...)
		return turn, granted
	}
	for name, ends := range map[string]func(e *Engine, waits *schedule.Turn, free func()){
		"after its turn was granted, before it is looked at": func(e *Engine, waits *schedule.Turn, free func()) {
			waits.Leave()
			free()
			e.keepPlaceInLine(older)
		},
		"while it is looked at": func(e *Engine, waits *schedule.Turn, free func()) {
			e.keepPlaceInLine(older)
			waits.Leave()
			free()
		},
		"before it is looked at": func(e *Engine, waits *schedule.Turn, free func()) {
			e.keepPlaceInLine(older)
			free()
			waits.Leave()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := clocktesting.NewFakeClock(now)
			plan := schedule.New(clock, func(string) {}, nil)
			plan.Configure(queue.ItemPlaces, schedule.Limit{Concurrent: 8})
			plan.Configure(at("busy"), schedule.Limit{Concurrent: 1})
			plan.Configure(at("paused"), schedule.Limit{Concurrent: 1})
			plan.Open()
			other := plan.Enter("other")
			taken, granted := other.AcquireAll(schedule.Rank{Name: "other"}, posting.Needs(at("busy"))...)
			if !granted {
				t.Fatal("it is busy from the beginning")
			}
			later, granted := asks(plan, newer)
			if granted {
				t.Fatal("it is not busy")
			}
			later.Leave()
			waits, granted := asks(plan, older)
			if granted {
				t.Fatal("it is not busy")
			}
			ends(&Engine{Clock: clock, Schedule: plan}, waits, func() {
				for _, ticket := range taken {
					ticket.Done()
				}
			})
			// Both are looked at, the later one first.
			late, granted := asks(plan, newer)
			defer late.Leave()
			if granted {
				t.Error("what was published later goes first")
			}
			turn, granted := asks(plan, older)
			defer turn.Leave()
			if !granted {
				t.Error("what was published first has lost its turn")
			}
		})
	}
}
