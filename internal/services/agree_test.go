// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package services

import (
	"sync"
	"testing"

	"k8s.io/utils/clock"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/schedule"
)

// R3.8: a service is offered by its controller while a call finds its credentials refused. Whichever
// comes last, the operator and its schedule agree on whether the service is open: else its items
// would wait for ever, or call what is closed.
func TestAServiceIsOpenForAllOrForNone(t *testing.T) {
	t.Parallel()
	const rounds = 20000
	id := schedule.Resource{Kind: schedule.KindProvider, Name: "namespace/name"}
	limit := schedule.Limit{Concurrent: 4}
	for range rounds {
		now := clock.RealClock{}
		plan := schedule.New(now, func(string) {}, nil)
		plan.Open()
		s := New(now, plan, func(schedule.Resource, bool) {})
		offer := func() { s.MarkReady(id, "caller", "revision", "peer", limit, now.Now()) }
		offer()
		turn := plan.Enter("item")
		ticket, granted := turn.Acquire(schedule.Rank{}, id)
		if !granted {
			t.Fatal("no ticket for a service that is open")
		}
		var both sync.WaitGroup
		both.Go(func() {
			s.CallEnded(ticket, "revision", v1alpha1.StageSummarize, 0, failure.New(v1alpha1.CategoryAuth, failure.TypeCredentials, "refused"))
		})
		both.Go(offer)
		both.Wait()
		turn.Leave()
		_, _, why, _ := s.Lookup(id)
		if down := plan.Availability(id).State == schedule.StateDown; down != (why != nil) {
			t.Fatalf("closed for its controller: %t, for the schedule: %t", why != nil, down)
		}
	}
}
