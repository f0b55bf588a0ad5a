// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"
	"pgregory.net/rapid"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
)

var (
	work   = Resource{KindWork, "items"}
	shared = Resource{KindNetwork, "shared"}
)

// asked is the rank of who asks for an owner.
func asked(minute int, tenant, group string) Rank { return published(minute).of(Owner{tenant, group}) }

// takes has an owner take as many slots as it gets, in turns that go on, and returns how many those are.
func (b *bench) takes(id Resource, tenant, group string) (slots int) {
	for {
		turn := b.Enter(fmt.Sprint(tenant, "/", group, "/", slots))
		if _, ok := turn.Try(asked(0, tenant, group), []Resource{id}); !ok {
			turn.Leave()
			return slots
		}
		slots++
	}
}

// R3.13: who is alone may have all that is meant for use, and who comes next finds half of what is left, though
// nothing that was given comes back.
func TestTheNextTenantFindsFreeSlots(t *testing.T) {
	t.Parallel()
	inBubble(t, func(b *bench) {
		b.Configure(work, Limit{Concurrent: 128, Sharing: ByGroup})
		got := []int{}
		for i := range 6 {
			got = append(got, b.takes(work, fmt.Sprint("tenant", i), "source"))
		}
		if diff := cmp.Diff([]int{128, 96, 72, 54, 41, 31}, got); diff != "" {
			t.Errorf("slots by tenant (-want +got)\n%s", diff)
		}
	})
	inBubble(t, func(b *bench) {
		b.Configure(work, Limit{Concurrent: 128, Sharing: ByGroup})
		got := []int{}
		for i := range 5 {
			got = append(got, b.takes(work, "tenant", fmt.Sprint("source", i)))
		}
		got = append(got, b.takes(work, "neighbour", "source"))
		if diff := cmp.Diff([]int{128, 64, 32, 16, 8, 66}, got); diff != "" {
			t.Errorf("slots by source, and of a neighbour (-want +got)\n%s", diff)
		}
	})
	inBubble(t, func(b *bench) {
		got := []int{b.takes(shared, "one", "x"), b.takes(shared, "one", "y"), b.takes(shared, "two", ""), b.takes(shared, "three", ""), b.takes(shared, "four", "")}
		if diff := cmp.Diff([]int{2, 0, 1, 1, 0}, got); diff != "" {
			t.Errorf("slots of a host (-want +got)\n%s", diff)
		}
	})
}

// R3.13: the line goes by turns, however long that of one tenant is, and however good its ranks are.
func TestALineThatIsSharedGoesByTurns(t *testing.T) {
	t.Parallel()
	inBubble(t, func(b *bench) {
		line := Resource{KindProvider, "line"}
		b.Configure(line, Limit{Concurrent: 1, Sharing: ByTenant})
		holder := b.Enter("holder")
		ticket := b.gets(holder, asked(0, "holder", ""), line)
		second := b.gets(holder, asked(0, "other", ""), line)
		for i := range 50 {
			b.parks(fmt.Sprintf("hog/%02d", i), asked(i, "hog", fmt.Sprint(i)), line)
		}
		b.parks("neighbour/late", asked(1000, "neighbour", ""), line)
		b.parks("neighbour/early", asked(900, "neighbour", ""), line)
		ticket.Done()
		second.Done()
		b.wantWoken("hog/00", "neighbour/early")
		next := func(key string) {
			turn := b.Enter(key)
			turn.Leave()
		}
		next("hog/00")
		b.wantWoken("hog/01")
		next("neighbour/early")
		b.wantWoken("neighbour/late")
		next("hog/01")
		b.wantWoken("hog/02")
		next("neighbour/late")
		b.wantWoken() // the hog has its own slot, and no other: one is kept free
	})
}

// R3.13: the groups of a tenant have their turns as the tenants have theirs, and within a group the
// best rank goes first.
func TestTheGroupsOfATenantHaveTheirTurns(t *testing.T) {
	t.Parallel()
	inBubble(t, func(b *bench) {
		b.Configure(work, Limit{Concurrent: 1, Sharing: ByGroup})
		hog := b.Enter("hog")
		tickets := b.gets(hog, asked(0, "one", "hog"), work)
		other := b.gets(hog, asked(0, "one", "other"), work)
		if other != tickets {
			t.Fatal("a turn has two places")
		}
		for i := range 3 {
			b.parks(fmt.Sprint("hog/", i), asked(5-i, "one", "hog"), work)
		}
		b.wantWoken()
		b.parksOrGets("quiet", asked(100, "one", "quiet"), work)
		tickets.Done()
		b.wantWoken("hog/2")
		b.Enter("hog/2").Leave()
		b.wantWoken("hog/1")
	})
}

// R2.3, R3.13: who has a place to work at does not go before a better one of its own source that still waits for one. Another
// source does, because that one's places may be taken for long.
func TestNobodyOvertakesWithThePlaceThatABetterOneWaitsFor(t *testing.T) {
	t.Parallel()
	inBubble(t, func(b *bench) {
		model := Resource{KindProvider, "model"}
		b.Configure(work, Limit{Concurrent: 1, Sharing: ByGroup})
		b.Configure(model, Limit{Concurrent: 1})
		both := [][]Resource{{work}, {model}}

		late := b.Enter("late")
		b.gets(late, asked(9, "one", "news"), work)
		early := b.Enter("early")
		if _, ok := early.AcquireAll(asked(1, "one", "news"), both...); ok {
			t.Error("there was another place")
		}
		early.Leave()
		if _, ok := late.AcquireAll(asked(9, "one", "news"), both...); ok {
			t.Error("the later item went first")
		}
		elsewhere := b.Enter("elsewhere")
		b.gets(elsewhere, asked(20, "one", "other"), work)
		tickets, ok := elsewhere.AcquireAll(asked(20, "one", "other"), both...)
		if !ok {
			t.Fatal("an item of another source waits for one that has no place")
		}
		tickets[1].Done()
		elsewhere.Leave()
		b.wantWoken()
		late.Leave()
		b.wantWoken("early")
	})
}

// parksOrGets runs a turn that asks for a chain and gives back what it gets.
func (b *bench) parksOrGets(key string, rank Rank, chain ...Resource) {
	turn := b.Enter(key)
	turn.Acquire(rank, chain...)
	turn.Leave()
}

// R1.3, R3.13: a pause is that of the tenant that was refused. Nobody else can bring it about, or sees it.
func TestAPauseIsThatOfTheTenantThatWasRefused(t *testing.T) {
	t.Parallel()
	inBubble(t, func(b *bench) {
		refused := b.Enter("hog")
		after := b.gets(refused, asked(0, "hog", "a"), shared).Failed(failed(v1alpha1.CategoryRateLimit))
		refused.Leave()
		if after.Remaining(time.Now()) != 5*time.Second {
			t.Errorf("the pause is %+v", after)
		}
		b.parks("hog/again", asked(0, "hog", "b"), shared) // another source of the same namespace
		neighbour := b.Enter("neighbour")
		b.gets(neighbour, asked(0, "neighbour", ""), shared).Succeeded()
		neighbour.Leave()
		b.passes(5*time.Second - 1)
		b.wantWoken()
		b.passes(1)
		b.wantWoken("hog/again")
		// Refused once more, it waits twice as long; then nothing is remembered.
		turn := b.Enter("hog/again")
		if after = b.gets(turn, asked(0, "hog", "b"), shared).Failed(failed(v1alpha1.CategoryRateLimit)); after.Remaining(time.Now()) != 10*time.Second {
			t.Errorf("the second pause is %+v", after)
		}
		turn.Leave()
		b.passes(10 * time.Second)
		b.wantKept(0)
		b.wantEmpty()
	})
}

// R3.13: whoever asks for what, as long as slots come back nobody waits for ever; no slot is idle that somebody
// may have; and a tenant that holds none is served before one that holds some.
func TestTurnsServeEverybody(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		var recovered any
		synctest.Test(t, func(t *testing.T) {
			defer func() { recovered = recover() }()
			slots := rapid.IntRange(1, 4).Draw(rt, "slots")
			sharing := rapid.SampledFrom([]Sharing{ByTenant, ByGroup}).Draw(rt, "sharing")
			asking := rapid.SliceOfN(rapid.IntRange(0, 5), 1, 40).Draw(rt, "tenants")
			w := newWorld(nil)
			w.Configure(work, Limit{Concurrent: slots, Sharing: sharing})
			ranks := map[string]Rank{}
			for i, tenant := range asking {
				key := fmt.Sprint("key/", i)
				w.open[key] = true
				ranks[key] = asked(rapid.IntRange(0, 9).Draw(rt, "rank"), fmt.Sprint("tenant", tenant), fmt.Sprint(i%3))
			}
			w.run(8, func(key string, turn *Turn) {
				if _, ok := turn.Acquire(ranks[key], work); ok {
					w.begin(key)
					time.Sleep(time.Duration(1+len(key)%3) * time.Second)
					w.finish(key)
				}
			})
			if len(w.begun) != len(asking) {
				broken("%d of %d were served", len(w.begun), len(asking))
			}
			if u := w.Snapshot()[KindWork]; u != (Usage{}) {
				broken("left: %+v", u)
			}
		})
		if recovered != nil {
			rt.Fatal(recovered)
		}
	})
}

// BenchmarkTurns is one of ten thousand items of a thousand sources in ten namespaces that gets its place, and asks again.
func BenchmarkTurns(b *testing.B) {
	var woken []string
	s := New(clock.RealClock{}, func(key string) { woken = append(woken, key) }, nil)
	s.Configure(work, Limit{Concurrent: 4, Sharing: ByGroup})
	ranks := map[string]Rank{}
	for i := range 10_000 {
		key := fmt.Sprint("key/", i)
		ranks[key] = asked(i, fmt.Sprint("tenant", i%10), fmt.Sprint("source", i%1000))
		turn := s.Enter(key)
		turn.Acquire(ranks[key], work)
		turn.Leave()
	}
	s.Open()
	for b.Loop() {
		key := woken[0]
		woken = woken[1:]
		turn := s.Enter(key)
		ticket, _ := turn.Acquire(ranks[key], work)
		turn.Detach(ticket)
		turn.Acquire(ranks[key], work) // there is more to do: it waits again
		ticket.Done()
		turn.Leave()
	}
}

// R3.13: of thousands of groups that wait, the one whose turn it is is known without looking at all, whatever was taken,
// given back and asked for before.
func TestTheFirstOfAllGroupsIsKnown(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		s := New(clock.RealClock{}, func(string) {}, nil)
		s.Configure(work, Limit{Concurrent: 1, Sharing: ByGroup})
		s.Open()
		var held []*Ticket
		rt.Repeat(map[string]func(*rapid.T){
			"ask": func(rt *rapid.T) {
				key := fmt.Sprint("key", rapid.IntRange(0, 30).Draw(rt, "key"))
				rank := asked(rapid.IntRange(0, 5).Draw(rt, "minute"), rapid.SampledFrom([]string{"one", "one", "two"}).Draw(rt, "tenant"),
					fmt.Sprint("source", rapid.IntRange(0, 3).Draw(rt, "source")))
				turn := s.Enter(key)
				defer turn.Leave()
				if ticket, ok := turn.Acquire(rank, work); ok {
					turn.Detach(ticket)
					held = append(held, ticket)
				}
			},
			"give up": func(rt *rapid.T) { s.Enter(fmt.Sprint("key", rapid.IntRange(0, 30).Draw(rt, "key"))).Leave() },
			"end": func(rt *rapid.T) {
				if len(held) > 0 {
					at := rapid.IntRange(0, len(held)-1).Draw(rt, "which")
					held[at].Done()
					held = slices.Delete(held, at, at+1)
				}
			},
			"": func(rt *rapid.T) {
				for _, tenant := range s.find(work).shared.parts {
					waiting := 0
					for _, group := range tenant.parts {
						if group.waiting == 0 {
							continue
						}
						waiting++
						if first := tenant.queue[0]; first != group && tenant.queue.Less(group.queued-1, 0) {
							rt.Fatalf("it is the turn of %s, and %s comes first", group.name, first.name)
						}
					}
					if waiting != len(tenant.queue) {
						rt.Fatalf("%d groups wait, %d are known to", waiting, len(tenant.queue))
					}
				}
			},
		})
	})
}

// BenchmarkManySources is a place that is free while a host is not that all items of four thousand sources of a tenant need: each
// is looked at once, under the lock that all wait for.
func BenchmarkManySources(b *testing.B) {
	const sources = 4000
	for b.Loop() {
		b.StopTimer()
		s := New(clock.RealClock{}, func(string) {}, map[Kind]Limit{KindHost: {Concurrent: 1, Sharing: ByTenant}})
		s.Configure(work, Limit{Concurrent: 2, Sharing: ByGroup})
		s.Open()
		busy := Resource{KindHost, "busy"}
		var places []*Ticket
		for i := range 8 {
			turn := s.Enter(fmt.Sprint("other/", i))
			if ticket, ok := turn.Try(asked(0, "tenant", fmt.Sprint("other", i)), []Resource{work}); ok {
				places = append(places, ticket...)
			}
		}
		for i := range sources {
			turn := s.Enter(fmt.Sprint("item/", i))
			turn.AcquireAll(asked(i, "tenant", fmt.Sprint("source", i)), []Resource{work}, []Resource{busy})
			turn.Leave()
		}
		s.Enter("neighbour").Try(asked(0, "tenant", ""), []Resource{busy})
		b.StartTimer()
		places[0].Done()
	}
}
