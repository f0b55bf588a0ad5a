// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package services_test

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/schedule"
	"github.com/feed-operator/feed-operator/internal/services"
)

// R2.10: what has been counted is written once: what could not be written comes with the next write, and nothing comes with two.
func TestWhatIsCountedIsWrittenOnce(t *testing.T) {
	t.Parallel()
	press := schedule.Destination(types.NamespacedName{Namespace: "news", Name: "press"})
	clock := clocktesting.NewFakeClock(time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC))
	plan := schedule.New(clock, func(string) {}, nil)
	var written []schedule.Resource
	known := services.New(clock, plan, func(id schedule.Resource, _ bool) { written = append(written, id) })
	known.MarkReady(press, nil, "1", "", schedule.Limit{}, time.Time{})
	plan.Open()
	call := func() {
		turn := plan.Enter("item")
		defer turn.Leave()
		ticket, granted := turn.Acquire(schedule.Rank{Name: "item"}, press)
		if !granted {
			t.Fatal("nothing is granted")
		}
		known.CallEnded(ticket, "1", v1alpha1.StageDeliver, 0, nil)
		known.Posted(press, false)
	}
	status := &v1alpha1.ServiceStatus{}
	var calls, posts int64
	write := func() services.Tally {
		tally := known.TallyToWrite(press)
		if tally.AddTo(status) {
			calls, posts = calls+tally.Calls, posts+tally.Posts
		}
		return tally
	}
	want := func(when string, count int64) {
		t.Helper()
		if calls != count || posts != count {
			t.Errorf("%s: %d calls and %d posts, want %d", when, calls, posts, count)
		}
	}
	call()
	write() // its answer is lost
	want("after a call", 1)
	call()
	write() // refused, as it adds nothing
	again := write()
	want("while nobody knows whether the first was taken", 1)
	written = nil
	known.TallyWritten(press, again)
	if len(written) != 1 {
		t.Errorf("what came meanwhile has its controller called %d times", len(written))
	}
	known.TallyWritten(press, write())
	want("with what came meanwhile", 2)
	known.TallyWritten(press, write())
	want("when all is written", 2)

	known.Stop(func(schedule.Resource) { known.TallyWritten(press, write()) })
	call()
	want("while the operator stops", 3)
}

// R3.9: two have the same tally to write, and one of them is late: by then more has been written.
func TestWhatIsCountedIsWrittenOnceByTwo(t *testing.T) {
	t.Parallel()
	press := schedule.Destination(types.NamespacedName{Namespace: "news", Name: "press"})
	clock := clocktesting.NewFakeClock(time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC))
	known := services.New(clock, schedule.New(clock, func(string) {}, nil), func(schedule.Resource, bool) {})
	status := &v1alpha1.ServiceStatus{}
	known.Posted(press, false)
	first, late := known.TallyToWrite(press), known.TallyToWrite(press)
	known.Posted(press, false)
	if !first.AddTo(status) || late.AddTo(status) {
		t.Error("the first tally is not added once")
	}
	known.TallyWritten(press, first)
	second := known.TallyToWrite(press)
	if !second.AddTo(status) {
		t.Error("what came meanwhile is not added")
	}
	known.TallyWritten(press, second)
	if late.AddTo(status) {
		t.Error("the first tally is added twice")
	}
}
