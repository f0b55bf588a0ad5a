// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
)

// R2.3, R4.5: a turn of a key that is entered beside another one of it, by work that goes on apart, takes nothing from that: neither the places in
// line that the other one has asked for, nor what was reserved for the key meanwhile.
func TestATurnBesideAnotherTakesNothingFromIt(t *testing.T) {
	t.Parallel()
	press := Destination(types.NamespacedName{Namespace: "news", Name: "press"})
	chat := Destination(types.NamespacedName{Namespace: "news", Name: "chat"})
	begin := func() (plan *Schedule, woken *[]string, free func()) {
		woken = new([]string)
		plan = New(clocktesting.NewFakeClock(time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)), func(key string) { *woken = append(*woken, key) }, nil)
		plan.Configure(press, Limit{Concurrent: 1})
		plan.Configure(chat, Limit{Concurrent: 1})
		plan.Open()
		other := plan.Enter("other")
		onPress, _ := other.Acquire(Rank{Name: "0"}, press)
		if _, granted := other.Acquire(Rank{Name: "0"}, chat); !granted || onPress == nil {
			t.Fatal("they are not free")
		}
		return plan, woken, onPress.Done
	}
	beside := func(plan *Schedule) { plan.StandInLine("item", Rank{Name: "1"}, []Resource{chat}) }
	t.Run("the places in line of a turn that ends after it", func(t *testing.T) {
		t.Parallel()
		plan, _, _ := begin()
		turn := plan.Enter("item")
		turn.Acquire(Rank{Name: "1"}, press)
		beside(plan)
		turn.Leave()
		if got := plan.Snapshot()[KindDestination].Waiting; got != 2 {
			t.Errorf("it waits in %d lines, want 2", got)
		}
	})
	t.Run("its own place in line, where the other turn asks for nothing", func(t *testing.T) {
		t.Parallel()
		plan, _, _ := begin()
		turn := plan.Enter("item")
		beside(plan)
		turn.Leave()
		if got := plan.Snapshot()[KindDestination].Waiting; got != 1 {
			t.Errorf("it waits in %d lines, want 1", got)
		}
	})
	t.Run("what was reserved during a turn", func(t *testing.T) {
		t.Parallel()
		plan, woken, free := begin()
		for _, key := range []string{"item", "younger"} {
			turn := plan.Enter(key)
			turn.Acquire(Rank{Name: map[string]string{"item": "1", "younger": "2"}[key]}, press)
			turn.Leave()
		}
		turn := plan.Enter("item")
		free() // it is the item's turn at press
		beside(plan)
		if _, granted := turn.Acquire(Rank{Name: "1"}, press); !granted {
			t.Errorf("the younger one goes first: woken were %v", *woken)
		}
	})
}
