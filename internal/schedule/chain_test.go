// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"testing"
	"time"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
)

// R3.6
func TestChain(t *testing.T) {
	t.Parallel()
	cooling := func(d time.Duration) Availability {
		return Availability{State: StateCoolingDown, Until: time.Now().Add(d), Failures: 1}
	}
	for name, test := range map[string]struct {
		prepare func(b *bench)
		want    Resource // zero: it waits
	}{
		"the first that is free": {func(b *bench) {}, gemini},
		"pace is waited for": {func(b *bench) {
			b.Configure(gemini, Limit{PerMinute: 1})
			b.gets(b.Enter("other"), Rank{}, gemini)
		}, Resource{}},
		"slots are waited for": {func(b *bench) {
			b.Configure(gemini, Limit{Concurrent: 1})
			b.gets(b.Enter("other"), Rank{}, gemini)
		}, Resource{}},
		"a short cool-down is waited for": {func(b *bench) {
			b.SetAvailability(gemini, cooling(59*time.Second))
		}, Resource{}},
		"a cool-down of a minute is passed over": {func(b *bench) {
			b.SetAvailability(gemini, cooling(60*time.Second))
		}, extractive},
		"a spent quota is passed over": {func(b *bench) {
			b.SetAvailability(gemini, Availability{State: StateQuotaSpent, Until: time.Now().Add(time.Hour)})
		}, extractive},
		"an open circuit is passed over, also for its last seconds": {func(b *bench) {
			b.SetAvailability(gemini, Availability{State: StateCircuitOpen, Until: time.Now().Add(time.Second)})
		}, extractive},
		"what is down is passed over": {func(b *bench) {
			b.SetAvailability(gemini, Availability{State: StateDown})
		}, extractive},
		"what is missing is passed over": {func(b *bench) { b.Remove(gemini) }, extractive},
		"all down: it waits": {func(b *bench) {
			b.Remove(gemini)
			b.SetAvailability(extractive, Availability{State: StateDown})
		}, Resource{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(b *bench) {
				b.Configure(gemini, Limit{})
				b.Configure(extractive, Limit{})
				test.prepare(b)
				turn := b.Enter("item")
				var got Resource
				if ticket, ok := turn.Acquire(Rank{}, gemini, extractive); ok {
					got = ticket.Resource()
				}
				if got != test.want {
					t.Errorf("got %q, want %q", got, test.want)
				}
			})
		})
	}
}

// R3.6, R3.12: it waits for whichever comes first, and is woken once.
func TestAllDownWaitsForTheFirstToReturn(t *testing.T) {
	t.Parallel()
	inBubble(t, func(b *bench) {
		for id, until := range map[Resource]time.Duration{gemini: 3 * time.Hour, openAI: 2 * time.Hour} {
			b.Configure(id, Limit{})
			b.SetAvailability(id, Availability{State: StateQuotaSpent, Until: time.Now().Add(until), Failures: 1})
		}
		b.parks("item", Rank{}, gemini, openAI, extractive) // which is not configured
		b.passes(2*time.Hour - 1)
		b.wantWoken()
		b.passes(time.Minute + 1)
		b.wantWoken("item")
		turn := b.Enter("item")
		if got := b.gets(turn, Rank{}, gemini, openAI, extractive).Resource(); got != openAI {
			t.Errorf("got %s", got)
		}
		turn.Leave()
		b.passes(2 * time.Hour)
		b.wantWoken()
		b.wantEmpty()
	})
}

// R3.6: who waits for what is busy goes on to the next when it turns out to be down.
func TestWhoWaitsGoesOnWhenTheResourceGoesDown(t *testing.T) {
	t.Parallel()
	inBubble(t, func(b *bench) {
		b.Configure(gemini, Limit{Concurrent: 1})
		b.Configure(extractive, Limit{Concurrent: 1})
		ticket := b.gets(b.Enter("first"), Rank{}, gemini)
		b.parks("second", published(2), gemini, extractive)
		b.parks("third", published(3), gemini, extractive)
		ticket.Failed(failed(v1alpha1.CategoryAuth)) // R3.8
		b.wantWoken("second")
		b.gets(b.Enter("second"), published(2), gemini, extractive).Succeeded()
		b.wantWoken("third")
	})
}

// R3.8: what was reserved before the credentials were refused is not used any more.
func TestAReservationDoesNotOutliveAvailability(t *testing.T) {
	t.Parallel()
	inBubble(t, func(b *bench) {
		b.Configure(gemini, Limit{Concurrent: 1})
		ticket := b.gets(b.Enter("first"), Rank{}, gemini)
		b.parks("second", Rank{}, gemini)
		ticket.Done()
		b.wantWoken("second")
		b.SetAvailability(gemini, Availability{State: StateDown})
		b.parks("second", Rank{}, gemini)
		b.wantWoken()
		b.SetAvailability(gemini, Availability{State: StateReady}) // R3.7
		b.wantWoken("second")
	})
}

// R3.9
func TestOpenCircuitLetsOneProbeThrough(t *testing.T) {
	t.Parallel()
	inBubble(t, func(b *bench) {
		b.Configure(gemini, Limit{})
		b.SetAvailability(gemini, Availability{State: StateReady, Failures: 4})
		b.gets(b.Enter("a"), Rank{}, gemini).Failed(failed(v1alpha1.CategoryNetwork))
		b.parks("a", published(1), gemini)
		b.parks("b", published(2), gemini)
		b.parks("c", published(3), gemini)

		b.passes(time.Minute)
		b.wantWoken("a")
		turn := b.Enter("a")
		b.gets(turn, published(1), gemini).Cancel() // it was not needed: the next may probe
		turn.Leave()
		b.wantWoken("b")
		b.parks("a", published(1), gemini)

		b.gets(b.Enter("b"), published(2), gemini).Failed(failed(v1alpha1.CategoryAPI))
		b.wantWoken()
		b.passes(2*time.Minute - 1)
		b.wantWoken()
		b.passes(1)
		b.wantWoken("a")
		b.SetAvailability(gemini, b.Availability(gemini)) // restored again: still one probe
		b.wantWoken()
		if got := b.gets(b.Enter("a"), published(1), gemini).Succeeded(); got != (Availability{State: StateReady}) {
			t.Errorf("availability %+v", got)
		}
		b.wantWoken("c")
	})
}
