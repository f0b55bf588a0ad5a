// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package attempt

import (
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/schedule"
)

// R3.13: a provider is not kept from others for a page that is slow, nor after an attempt that has not called it.
func TestAProviderIsGivenBackUnused(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		then      func(*tickets, *clocktesting.FakeClock)
		wantInUse int
	}{
		"not while the page is read": {func(held *tickets, clock *clocktesting.FakeClock) {
			held.lend(clock)
			clock.Step(pageWait - time.Millisecond)
		}, 1},
		"when the page hangs": {func(held *tickets, clock *clocktesting.FakeClock) {
			held.lend(clock)
			clock.Step(pageWait)
		}, 0},
		"not when the page was read in time": {func(held *tickets, clock *clocktesting.FakeClock) {
			held.lend(clock)()
			clock.Step(pageWait)
		}, 1},
		"at the end": {func(held *tickets, _ *clocktesting.FakeClock) { held.cancelUnused() }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				clock := clocktesting.NewFakeClock(time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC))
				plan := schedule.New(clock, func(string) {}, nil)
				gemini := schedule.Provider(types.NamespacedName{Namespace: "news", Name: "gemini"})
				plan.Configure(gemini, schedule.Limit{Concurrent: 1})
				plan.Open()
				turn := plan.Enter("item")
				defer turn.Leave()
				ticket, _ := turn.Acquire(schedule.Rank{Name: "item"}, gemini)
				test.then(&tickets{provider: ticket}, clock)
				synctest.Wait()
				if inUse := plan.Snapshot()[schedule.KindProvider].InUse; inUse != test.wantInUse {
					t.Errorf("%d calls are kept, want %d", inUse, test.wantInUse)
				}
			})
		})
	}
}

// R3.7: an attempt that waits goes on where it was, but for an item that somebody wants to have tried anew, or on which it was gone on with.
func TestWhichAttemptGoesOn(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		change func(*v1alpha1.FeedItem)
		want   bool
	}{
		"as it was":               {func(*v1alpha1.FeedItem) {}, true},
		"a retry is asked for":    {func(item *v1alpha1.FeedItem) { item.Annotations = map[string]string{v1alpha1.AnnotationRetry: "now"} }, false},
		"another has gone on":     {func(item *v1alpha1.FeedItem) { item.Status.RetryCount++ }, false},
		"it is another of a name": {func(item *v1alpha1.FeedItem) { item.UID = "2" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			item := &v1alpha1.FeedItem{}
			item.Namespace, item.Name, item.UID = "news", "item", "1"
			var kept OpenAttempts
			open := newAttempt(item)
			kept.keep(item, open)
			test.change(item)
			if goesOn := kept.of(item, now) == open; goesOn != test.want {
				t.Errorf("it goes on: %t", goesOn)
			}
		})
	}
}
