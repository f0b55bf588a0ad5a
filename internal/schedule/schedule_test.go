// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
)

// R2.3
func TestRank(t *testing.T) {
	t.Parallel()
	at := func(class int, at time.Time, name string) Rank { return Rank{Class: class, Time: at, Name: name} }
	ordered := []Rank{
		at(0, in(0), "b"), at(0, in(1), "a"), at(0, in(1), "b"), at(1, time.Time{}, "z"), at(1, in(-1), "a"), at(1, in(0), "a"),
	}
	for i, a := range ordered {
		for j, b := range ordered {
			if got := a.Compare(b); got < 0 != (i < j) || got > 0 != (i > j) {
				t.Errorf("%v and %v: %d", a, b, got)
			}
		}
	}
}

// R2.3
func TestTheBestOfThoseWhoWaitIsNext(t *testing.T) {
	t.Parallel()
	inBubble(t, func(b *bench) {
		b.Configure(gemini, Limit{Concurrent: 1})
		first := b.Enter("first")
		ticket := b.gets(first, published(9), gemini)
		b.parks("late", published(3), gemini)
		b.parks("early", published(1), gemini)
		b.parks("middle", published(2), gemini)
		b.parks("unprocessed", Rank{Class: 1}, gemini)

		for _, want := range []string{"early", "middle", "late", "unprocessed"} {
			ticket.Done()
			ticket.Done() // counts once
			b.wantWoken(want)
			ticket = b.gets(b.Enter(want), published(0), gemini)
		}
	})
}

// A newcomer must not take what a better one is waiting for, even when the timer that would give
// it to that one has not been run yet.
func TestANewcomerDoesNotOvertake(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		rank  Rank
		gets  bool
		woken []string
	}{
		"a later one parks behind":           {published(5), false, []string{"waiting"}},
		"an equal one parks behind, by name": {published(3), false, []string{"waiting"}},
		"an earlier one comes first":         {published(1), true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(b *bench) {
				b.Configure(gemini, Limit{PerMinute: 10})
				b.gets(b.Enter("first"), published(0), gemini)
				b.parks("waiting", published(3), gemini)
				b.Schedule.mu.Lock()
				b.resources[gemini].timer.Stop()
				b.Schedule.mu.Unlock()
				time.Sleep(7 * time.Second)
				_, ok := b.Enter("x newcomer").Acquire(test.rank, gemini)
				if ok != test.gets {
					t.Errorf("granted: %t", ok)
				}
				b.wantWoken(test.woken...)
			})
		})
	}
}

// R3.9: a ticket given back unused gives back its place in the pace; a call does not.
func TestReleaseGivesThePaceBack(t *testing.T) {
	t.Parallel()
	inBubble(t, func(b *bench) {
		b.Configure(gemini, Limit{PerMinute: 10})
		ticket := b.gets(b.Enter("first"), Rank{}, gemini)
		b.parks("second", published(1), gemini)
		b.parks("third", published(2), gemini)
		b.passes(time.Second)
		ticket.Cancel()
		b.wantWoken("second")
		b.gets(b.Enter("second"), published(1), gemini).Done()
		b.wantWoken()
		b.passes(6 * time.Second)
		b.wantWoken()
		b.passes(200 * time.Millisecond)
		b.wantWoken("third")
	})
}

// R1.3: two at a time for each host, and nothing is remembered of hosts that nobody uses.
func TestHostsAreKnownByDefaultAndForgotten(t *testing.T) {
	t.Parallel()
	inBubble(t, func(b *bench) {
		one, two := b.Enter("one"), b.Enter("two")
		b.gets(one, Rank{}, host)
		b.gets(two, Rank{}, host)
		b.parks("three", Rank{}, host)
		b.gets(b.Enter("four"), Rank{}, Resource{KindHost, "example.org"}).Done()
		one.Leave()
		b.wantWoken("three")
		b.Enter("three").Leave()
		two.Leave()
		b.Wait(Resource{KindHost, "asked.example"})
		b.wantKept(0)

		b.SetAvailability(host, Availability{State: StateCoolingDown, Until: time.Now().Add(time.Hour)})
		b.passes(59 * time.Minute)
		b.wantKept(1)
		b.passes(2 * time.Minute)
		b.wantKept(0)
	})
}

// R3.9: what was restored before the provider is configured counts.
func TestAvailabilityMayComeBeforeTheLimit(t *testing.T) {
	t.Parallel()
	inBubble(t, func(b *bench) {
		want := Availability{State: StateReady, Failures: 4}
		b.SetAvailability(gemini, want)
		b.Configure(gemini, Limit{})
		if got := b.Availability(gemini); got != want {
			t.Errorf("got %+v", got)
		}
	})
}

func TestOpenGrantsInExactOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var woken []string
		s := New(clock.RealClock{}, func(key string) { woken = append(woken, key) }, map[Kind]Limit{KindHost: {}})
		s.Configure(gemini, Limit{Concurrent: 3})
		for key, minute := range map[string]int{"d": 4, "a": 1, "e": 5, "b": 2, "c": 3} {
			turn := s.Enter(key)
			chain := gemini
			if key == "b" {
				chain = host
			}
			if _, ok := turn.Acquire(published(minute), chain); ok {
				t.Error("granted while closed")
			}
			turn.Leave()
		}
		s.Open()
		s.Open()
		if diff := cmp.Diff([]string{"a", "b", "c", "d"}, woken); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	})
}

func TestWait(t *testing.T) {
	t.Parallel()
	ready := func(*bench) {}
	for name, test := range map[string]struct {
		prepare func(b *bench)
		chain   []Resource
		until   time.Duration
		known   bool
		why     string
	}{
		"nothing asked":        {ready, nil, 0, false, ""},
		"a missing provider":   {ready, []Resource{openAI}, 0, false, "provider news/openai is not configured"},
		"a provider that free": {ready, []Resource{openAI, gemini}, 0, true, "provider news/gemini is free"},
		"a provider that is down": {func(b *bench) {
			b.SetAvailability(gemini, Availability{State: StateDown})
		}, []Resource{gemini}, 0, false, "provider news/gemini is not available"},
		"the earliest of two": {func(b *bench) {
			b.SetAvailability(gemini, Availability{State: StateQuotaSpent, Until: time.Now().Add(time.Hour)})
			b.SetAvailability(extractive, Availability{State: StateCircuitOpen, Until: time.Now().Add(time.Minute), Failures: 5})
		}, []Resource{gemini, extractive}, time.Minute, true, "provider news/extractive has failed 5 times in a row"},
		"a spent quota": {func(b *bench) {
			b.SetAvailability(gemini, Availability{State: StateQuotaSpent, Until: time.Now().Add(time.Hour)})
		}, []Resource{gemini}, time.Hour, true, "provider news/gemini has spent its quota"},
		"a cool-down": {func(b *bench) {
			b.SetAvailability(gemini, Availability{State: StateCoolingDown, Until: time.Now().Add(time.Second)})
		}, []Resource{gemini}, time.Second, true, "provider news/gemini is cooling down"},
		"a probe": {func(b *bench) {
			b.SetAvailability(gemini, Availability{State: StateCircuitOpen})
			b.gets(b.Enter("probe"), Rank{}, gemini)
		}, []Resource{gemini}, 0, false, "provider news/gemini is being probed after failures"},
		"slots": {func(b *bench) {
			b.gets(b.Enter("one"), Rank{}, host)
			b.gets(b.Enter("two"), Rank{}, host)
		}, []Resource{host}, 0, false, "host example.com has 2 calls under way, as many as it may"},
		"pace": {func(b *bench) {
			b.Configure(gemini, Limit{PerMinute: 97})
			b.gets(b.Enter("one"), Rank{}, gemini)
		}, []Resource{gemini}, Limit{PerMinute: 97}.interval(), true, "provider news/gemini has had its calls for now (97 a minute)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(b *bench) {
				b.Configure(gemini, Limit{})
				b.Configure(extractive, Limit{})
				test.prepare(b)
				until, known, why := b.Wait(test.chain...)
				if known != test.known || why != test.why || known && !until.Equal(time.Now().Add(test.until)) {
					t.Errorf("got %s %t %q", until, known, why)
				}
			})
		})
	}
}

func TestSnapshot(t *testing.T) {
	t.Parallel()
	inBubble(t, func(b *bench) {
		b.Configure(gemini, Limit{Concurrent: 1})
		b.Configure(extractive, Limit{})
		b.SetAvailability(extractive, Availability{State: StateDown})
		b.gets(b.Enter("one"), Rank{}, gemini)
		b.parks("two", Rank{}, extractive, gemini)
		b.parks("three", Rank{}, gemini)
		b.gets(b.Enter("four"), Rank{}, host)
		want := map[Kind]Usage{KindProvider: {Waiting: 2, InUse: 1}, KindHost: {InUse: 1}}
		if diff := cmp.Diff(want, b.Snapshot()); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	})
}

func TestWakeMayCallBack(t *testing.T) {
	t.Parallel()
	inBubble(t, func(b *bench) {
		var done []string
		b.wake = func(key string) {
			turn := b.Enter(key)
			defer turn.Leave()
			if ticket, ok := turn.Acquire(Rank{}, gemini); ok {
				done = append(done, key)
				ticket.Done()
			}
		}
		b.Configure(gemini, Limit{Concurrent: 1})
		ticket := b.gets(b.Enter("first"), Rank{}, gemini)
		keys := []string{"a", "b", "c", "d"}
		for _, key := range keys {
			b.parks(key, Rank{}, gemini)
		}
		ticket.Done()
		if !slices.Equal(done, keys) {
			t.Errorf("done: %v", done)
		}
		b.wantKnown("first")
	})
}

// A fake clock calls back while it holds its own lock.
func TestFakeClock(t *testing.T) {
	t.Parallel()
	fake := clocktesting.NewFakeClock(noon)
	woken := make(chan string, 1)
	s := New(fake, func(key string) { woken <- key }, nil)
	s.Open()
	s.Configure(gemini, Limit{PerMinute: 1})
	for _, key := range []string{"one", "two"} {
		turn := s.Enter(key)
		turn.Acquire(Rank{}, gemini)
		turn.Leave()
	}
	fake.Step(time.Hour)
	if key := <-woken; key != "two" {
		t.Errorf("woken: %s", key)
	}
	s.Enter("two").Leave()
	if fake.HasWaiters() {
		t.Error("a timer is left")
	}
}
