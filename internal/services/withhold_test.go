// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package services_test

import (
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/schedule"
	"github.com/feed-operator/feed-operator/internal/services"
)

// R4.5, R3.8: while a service is asked about itself as it is described now, nobody calls it as it was described before. Who waits for it is
// told nothing, and has its turn afterwards.
func TestAServiceIsNotCalledAsItWasDescribedBefore(t *testing.T) {
	t.Parallel()
	press := schedule.Destination(types.NamespacedName{Namespace: "news", Name: "press"})
	clock := clocktesting.NewFakeClock(time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC))
	var woken []string
	plan := schedule.New(clock, func(key string) { woken = append(woken, key) }, nil)
	known := services.New(clock, plan, func(schedule.Resource, bool) {})
	plan.Open()
	const cannot = "cannot use it as it is"
	waits := plan.Enter(cannot)
	waits.Acquire(schedule.Rank{}, schedule.ChangeOf(press))
	waits.Leave()
	ready := func(revision string) (told bool) {
		known.MarkReady(press, "caller of "+revision, revision, "peer", schedule.Limit{Concurrent: 2}, time.Time{})
		told = slices.Contains(woken, cannot)
		woken = slices.DeleteFunc(woken, func(key string) bool { return key == cannot })
		return told
	}
	ask := func(key string) *schedule.Ticket {
		turn := plan.Enter(key)
		defer turn.Leave()
		ticket, granted := turn.Acquire(schedule.Rank{Name: key}, press)
		if !granted {
			return nil
		}
		turn.Detach(ticket)
		return ticket
	}
	if !ready("1") {
		t.Error("what was not known before has not changed")
	}
	if ready("1") {
		t.Error("what is as it was has changed")
	}
	before := ask("item-1")
	if before == nil {
		t.Fatal("a service that is ready is not granted")
	}
	known.Withhold(press)
	if caller, revision, why, _ := known.Lookup(press); caller != nil || revision != "" || why != nil {
		t.Errorf("called by %v of revision %q, closed for %v", caller, revision, why)
	}
	if ask("item-2") != nil {
		t.Error("granted while it is asked about itself")
	}
	refused := failure.New(v1alpha1.CategoryAuth, failure.TypeCredentials, "refused")
	if !known.CallEnded(before, "1", v1alpha1.StageDeliver, 0, refused) {
		t.Error("the item fails for credentials that are not in use any more")
	}
	if _, _, why, _ := known.Lookup(press); why != nil {
		t.Errorf("closed for what the one before was told: %v", why)
	}
	if len(woken) != 0 {
		t.Errorf("%v were told", woken)
	}
	if !ready("2") {
		t.Error("it is not known to have changed")
	}
	if !slices.Equal(woken, []string{"item-2"}) || ask("item-2") == nil {
		t.Errorf("who waited has not its turn; woken are %v", woken)
	}
}

// R3.3, R4.5: a call ends after its service was changed, and was told to wait. The peer is still the same, so the next call waits; another
// peer has asked for nothing.
func TestAPauseThatWasAskedForOutlastsAChange(t *testing.T) {
	t.Parallel()
	between := map[string]func(*services.Services, schedule.Resource, func()){
		"while it is looked at anew": func(known *services.Services, id schedule.Resource, end func()) {
			known.Withhold(id)
			end()
		},
		"while it is suspended": func(known *services.Services, id schedule.Resource, end func()) {
			known.MarkUnavailable(id, "", services.Unavailability{Because: "it is suspended"})
			end()
		},
		"after it was looked at": func(known *services.Services, id schedule.Resource, end func()) {
			known.MarkReady(id, "caller", "between", "peer", schedule.Limit{}, time.Time{})
			end()
		},
		"when all that is over": nil,
	}
	for name, endBetween := range between {
		for peer, mayCall := range map[string]bool{"peer": false, "another": true} {
			t.Run(name+", then "+peer, func(t *testing.T) {
				t.Parallel()
				press := schedule.Destination(types.NamespacedName{Namespace: "news", Name: "press"})
				clock := clocktesting.NewFakeClock(time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC))
				plan := schedule.New(clock, func(string) {}, nil)
				known := services.New(clock, plan, func(schedule.Resource, bool) {})
				plan.Open()
				known.MarkReady(press, "caller", "before", "peer", schedule.Limit{}, time.Time{})
				turn := plan.Enter("item")
				ticket, granted := turn.Acquire(schedule.Rank{Name: "item"}, press)
				if !granted {
					t.Fatal("a service that is ready is not granted")
				}
				late := func() {}
				end := func() {
					slow := failure.New(v1alpha1.CategoryRateLimit, "http_429", "slow down")
					slow.RetryAfter = 10 * time.Minute
					if known.CallEnded(ticket, "before", v1alpha1.StageDeliver, 0, slow) {
						t.Error("the failure is not the item's")
					}
				}
				if endBetween == nil {
					late = end
				} else {
					endBetween(known, press, end)
				}
				known.MarkReady(press, "caller", "after", peer, schedule.Limit{}, time.Time{})
				late()
				turn.Leave()
				if plan.Free(press) != mayCall {
					t.Errorf("may be called: %t, want %t; %+v", !mayCall, mayCall, plan.Availability(press))
				}
				clock.Step(11 * time.Minute)
				if !plan.Free(press) {
					t.Error("the pause does not end")
				}
			})
		}
	}
}

// R4.5: what the calls of an object have come to is not counted for another one that has its name by now, nor is it kept from being called by it.
func TestAnObjectBeginsWithNothingOfTheOneBefore(t *testing.T) {
	t.Parallel()
	press := schedule.Destination(types.NamespacedName{Namespace: "news", Name: "press"})
	clock := clocktesting.NewFakeClock(time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC))
	plan := schedule.New(clock, func(string) {}, nil)
	known := services.New(clock, plan, func(schedule.Resource, bool) {})
	first, second := &v1alpha1.FeedDestination{}, &v1alpha1.FeedDestination{}
	first.UID, second.UID = "first", "second"
	known.Meet(press, first)
	known.Restore(press, first.UID, "peer", schedule.Availability{State: schedule.StateCoolingDown, Until: clock.Now().Add(time.Hour), Failures: 1})
	known.Posted(press, false)
	known.Meet(press, first)
	if tally := known.TallyToWrite(press); tally.Posts != 1 {
		t.Fatalf("%d posts are to be written of the same object, want 1", tally.Posts)
	}
	known.Meet(press, second)
	if _, _, _, seen := known.Lookup(press); seen {
		t.Error("it is known")
	}
	if tally := known.TallyToWrite(press); tally.Posts != 0 {
		t.Errorf("%d posts of the one before are counted", tally.Posts)
	}
	if remaining := plan.Availability(press).Remaining(clock.Now()); remaining != 0 {
		t.Errorf("it waits %v for what the one before was told", remaining)
	}
}

// R3.9: a call succeeds after its service was changed to call another peer. That one has failed meanwhile, and is probed all the same.
func TestASuccessOfThePeerBeforeClosesNoCircuit(t *testing.T) {
	t.Parallel()
	press := schedule.Destination(types.NamespacedName{Namespace: "news", Name: "press"})
	clock := clocktesting.NewFakeClock(time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC))
	plan := schedule.New(clock, func(string) {}, nil)
	known := services.New(clock, plan, func(schedule.Resource, bool) {})
	plan.Open()
	turn := plan.Enter("item")
	defer turn.Leave()
	ask := func() *schedule.Ticket {
		t.Helper()
		ticket, granted := turn.Acquire(schedule.Rank{Name: "item"}, press)
		if !granted {
			t.Fatal("nothing is granted")
		}
		turn.Detach(ticket)
		return ticket
	}
	known.MarkReady(press, "caller", "before", "peer", schedule.Limit{}, time.Time{})
	slow := ask()
	known.MarkReady(press, "caller", "after", "another", schedule.Limit{}, time.Time{})
	for range 5 {
		known.CallEnded(ask(), "after", v1alpha1.StageDeliver, 0, failure.New(v1alpha1.CategoryNetwork, "timeout", "no answer"))
	}
	clock.Step(time.Hour)
	known.CallEnded(slow, "before", v1alpha1.StageDeliver, 0, nil)
	if stands := plan.Availability(press); stands.State != schedule.StateCircuitOpen {
		t.Errorf("it is %+v", stands)
	}
	if probe := ask(); probe == nil || plan.Free(press) {
		t.Error("more than one call is let through")
	}
}
