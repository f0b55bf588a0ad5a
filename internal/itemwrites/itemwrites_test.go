// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package itemwrites_test

import (
	"errors"
	"testing"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/apitest"
	"github.com/feed-operator/feed-operator/internal/itemwrites"
	"github.com/feed-operator/feed-operator/internal/queue"
	"github.com/feed-operator/feed-operator/internal/schedule"
)

// held is what knows of an API server that has refused a write for all, of the item "refused" in the namespace "theirs".
type held struct {
	*itemwrites.Writes
	t     *testing.T
	clock *clocktesting.FakeClock
	plan  *schedule.Schedule
}

var refusedItem = types.NamespacedName{Namespace: "theirs", Name: "refused"}

func holdAll(t *testing.T) *held {
	t.Helper()
	clock := clocktesting.NewFakeClock(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	plan := schedule.New(clock, func(string) {}, map[schedule.Kind]schedule.Limit{schedule.KindWrites: {}})
	plan.Configure(itemwrites.All, schedule.Limit{Sharing: schedule.ByTenant})
	plan.Configure(queue.ItemPlaces, schedule.Limit{Concurrent: 4})
	plan.Open()
	h := &held{t: t, clock: clock, plan: plan, Writes: &itemwrites.Writes{
		Clock: clock, Schedule: plan, Recorder: events.NewFakeRecorder(10), Log: logr.Discard(), Waker: &queue.Waker{},
		Sources: fake.NewClientBuilder().WithScheme(apitest.Scheme()).Build(),
	}}
	h.Ended(t.Context(), refusedItem, errors.New("etcdserver: mvcc: database space exceeded"))
	h.wantHeld(true)
	return h
}

// try has an item ask whether it is to find out whether writes are taken.
func (h *held) try(item *v1alpha1.FeedItem) (turn *schedule.Turn, granted bool) {
	turn = h.plan.Enter(queue.Key(queue.ItemKey, client.ObjectKeyFromObject(item)))
	_, granted = turn.AcquireAll(h.Rank(item), itemwrites.ProbeNeeds(item)...)
	return turn, granted
}

func (h *held) wantHeld(want bool) {
	h.t.Helper()
	if got := h.Held("ours"); got != want {
		h.t.Errorf("held: %t, want %t", got, want)
	}
}

func itemOf(namespace, name string) *v1alpha1.FeedItem {
	return &v1alpha1.FeedItem{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

// R3.14: who is deleted while another one finds out whether writes are taken ends nothing, whether it was refused or not.
func TestTheHoldOfAllLastsWhileSomebodyFindsOut(t *testing.T) {
	t.Parallel()
	h := holdAll(t)
	turn, granted := h.try(itemOf("ours", "news"))
	if turn.Leave(); granted {
		t.Fatal("it tries before that is worth it")
	}
	h.Forget(t.Context(), refusedItem)
	turn, granted = h.try(itemOf("ours", "news"))
	if !granted {
		t.Fatal("nobody finds out")
	}
	h.Forget(t.Context(), types.NamespacedName{Namespace: "theirs", Name: "new"})
	h.wantHeld(true)
	turn.Leave()
	h.Forget(t.Context(), types.NamespacedName{Namespace: "ours", Name: "news"})
	h.wantHeld(false)
}

// R3.14: an item that was to find out fails before it writes anything. The next one tries later, and it is another one.
func TestATryThatFailsBeforeItWritesPutsOffTheNext(t *testing.T) {
	t.Parallel()
	const longest = 10 * time.Second
	h := holdAll(t)
	h.clock.Step(longest)
	first, second := itemOf("ours", "first"), itemOf("ours", "second")
	turn, granted := h.try(first)
	if !granted {
		t.Fatal("nobody finds out")
	}
	waits, _ := h.try(second)
	waits.Leave()
	h.Tried(first)
	h.Wait(turn, first)
	turn.Leave()
	for _, item := range []*v1alpha1.FeedItem{first, second} {
		if turn, granted = h.try(item); granted {
			t.Errorf("%s tries at once", item.Name)
		}
		turn.Leave()
	}
	h.clock.Step(longest)
	if turn, granted = h.try(second); !granted {
		t.Error("the one that has not tried does not")
	}
	turn.Leave()
	h.wantHeld(true)
}
