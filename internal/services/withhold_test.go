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
	ready := func(revision string) bool {
		return known.MarkReady(press, "caller of "+revision, revision, "peer", schedule.Limit{Concurrent: 2}, time.Time{})
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
	if ready("1") {
		t.Error("what was not known before has changed")
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
