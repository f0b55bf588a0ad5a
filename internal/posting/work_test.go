// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package posting

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/queue"
	"github.com/feed-operator/feed-operator/internal/schedule"
)

// R4.4, R4.5, R3.13: of an item one thing is done at a destination at a time, while other destinations of it do not wait for that. What ends, also
// by a panic, has given back what it had when the item is looked at again.
func TestOneThingIsDoneAtATimeForAnItemAndADestination(t *testing.T) {
	t.Parallel()
	plan := schedule.New(clocktesting.NewFakeClock(time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)), func(string) {}, nil)
	plan.Configure(queue.ItemPlaces, schedule.Limit{Concurrent: 2})
	plan.Open()
	work := &Work{Background: &queue.Background{}}
	item := &v1alpha1.FeedItem{ObjectMeta: metav1.ObjectMeta{UID: "item"}}
	requeued := make(chan time.Duration, 4)
	begin := func(destination string, do func() time.Duration) bool {
		to := schedule.Destination(types.NamespacedName{Namespace: "news", Name: destination})
		plan.Configure(to, schedule.Limit{Concurrent: 2})
		turn := plan.Enter("item")
		defer turn.Leave()
		line := &Line{Destination: destination, Resource: to}
		defer line.GiveBack()
		taken, granted := turn.AcquireAll(schedule.Rank{Name: "item"}, Needs(to)...)
		if !granted {
			t.Fatalf("nothing was granted at %s", destination)
		}
		line.Assign(turn, taken, granted)
		return work.Begin(t.Context(), turn, item, line, func(*Line) time.Duration { return do() }, func(after time.Duration) {
			if work.UnderWay(item, destination) {
				t.Errorf("it is looked at again while %s is under way", destination)
			}
			requeued <- after
		})
	}
	end := make(chan time.Duration)
	if !begin("press", func() time.Duration { return <-end }) || !work.UnderWay(item, "press") {
		t.Fatal("it did not begin")
	}
	if begin("press", func() time.Duration { return 0 }) {
		t.Fatal("it began twice")
	}
	if !begin("chat", func() time.Duration { panic("a library") }) {
		t.Fatal("one destination waits for another")
	}
	if after := <-requeued; after != AfterError {
		t.Errorf("looked at again %s after a panic, want %s", after, AfterError)
	}
	end <- time.Minute
	if after := <-requeued; after != time.Minute {
		t.Errorf("looked at again after %s, want a minute", after)
	}
	if usage := plan.Snapshot(); usage[schedule.KindWork].InUse != 0 || usage[schedule.KindDestination].InUse != 0 {
		t.Errorf("not given back: %v", usage)
	}
	if !begin("press", func() time.Duration { return 0 }) {
		t.Fatal("it does not begin again")
	}
	<-requeued
}
