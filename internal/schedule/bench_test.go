// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"
)

var (
	gemini     = Resource{KindProvider, "news/gemini"}
	openAI     = Resource{KindProvider, "news/openai"}
	extractive = Resource{KindProvider, "news/extractive"}
	mastodon   = Resource{KindDestination, "news/mastodon"}
	host       = Resource{KindHost, "example.com"}
)

// bench is a Schedule in a bubble of virtual time, and the keys that it has woken.
type bench struct {
	*Schedule
	t     *testing.T
	mu    sync.Mutex
	woken []string
}

// inBubble runs a test with time that passes only while everybody waits.
func inBubble(t *testing.T, test func(b *bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := &bench{t: t}
		b.Schedule = New(clock.RealClock{}, func(key string) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.woken = append(b.woken, key)
		}, map[Kind]Limit{KindHost: {Concurrent: 2}, KindNetwork: {Concurrent: 2, Sharing: ByTenant}})
		b.Open()
		test(b)
	})
}

// passes lets time pass.
func (b *bench) passes(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// wantWoken compares who was woken since the last time.
func (b *bench) wantWoken(want ...string) {
	b.t.Helper()
	synctest.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	if diff := cmp.Diff(want, b.woken); diff != "" {
		b.t.Fatalf("woken (-want +got)\n%s", diff)
	}
	b.woken = nil
}

// gets acquires, and fails when that is not granted.
func (b *bench) gets(turn *Turn, rank Rank, chain ...Resource) *Ticket {
	b.t.Helper()
	ticket, ok := turn.Acquire(rank, chain...)
	if !ok {
		b.t.Fatal("not granted")
	}
	return ticket
}

// parks runs a turn that asks for a chain in vain.
func (b *bench) parks(key string, rank Rank, chain ...Resource) {
	b.t.Helper()
	turn := b.Enter(key)
	defer turn.Leave()
	if ticket, ok := turn.Acquire(rank, chain...); ok {
		b.t.Fatalf("granted %s", ticket.Resource())
	}
}

// wantEmpty checks that nothing is left of anybody.
func (b *bench) wantEmpty() {
	b.t.Helper()
	for kind, usage := range b.Snapshot() {
		if usage != (Usage{}) {
			b.t.Errorf("%s: %+v", kind, usage)
		}
	}
	b.wantKnown()
}

func published(minute int) Rank { return Rank{Time: noon.Add(time.Duration(minute) * time.Minute)} }

// wantKnown checks which keys are known.
func (b *bench) wantKnown(want ...string) {
	b.t.Helper()
	b.Schedule.mu.Lock()
	defer b.Schedule.mu.Unlock()
	if got := slices.Sorted(maps.Keys(b.waiters)); !slices.Equal(got, want) {
		b.t.Errorf("known are %v, want %v", got, want)
	}
}

// wantKept checks how many resources are kept.
func (b *bench) wantKept(want int) {
	b.t.Helper()
	b.Schedule.mu.Lock()
	defer b.Schedule.mu.Unlock()
	if got := len(b.resources); got != want {
		b.t.Errorf("%d resources are kept, want %d", got, want)
	}
}
