// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import "testing"

// R3.2, R3.8: whoever comes to wait for what was closed is woken for that once, though it was not in its line at that time.
func TestWhoWaitsHearsTheNews(t *testing.T) {
	t.Parallel()
	closes := func(b *bench) {
		b.SetAvailability(gemini, Availability{State: StateDown})
		b.WakeAll(gemini)
	}
	for name, test := range map[string]struct {
		known bool // the resource was heard of before
		news  func(*bench)
	}{
		"of what was closed":    {true, closes},
		"of what is gone":       {true, func(b *bench) { b.Remove(gemini); b.WakeAll(gemini) }},
		"of what never existed": {false, func(b *bench) { b.WakeAll(gemini) }},
	} {
		t.Run(name+", in a turn that began before", func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(b *bench) {
				if test.known {
					b.Configure(gemini, Limit{})
				}
				turn := b.Enter("item")
				test.news(b)
				if _, granted := turn.Acquire(Rank{}, gemini); granted {
					t.Fatal("granted")
				}
				turn.Leave()
				b.wantWoken("item")

				b.parks("item", Rank{}, gemini)
				b.wantWoken()
			})
		})
	}
	t.Run("once there is a place to work at", func(t *testing.T) {
		t.Parallel()
		inBubble(t, func(b *bench) {
			b.Configure(gemini, Limit{})
			place := Resource{KindWork, "items"}
			b.Configure(place, Limit{Concurrent: 1})
			other := b.Enter("other")
			taken := b.gets(other, Rank{}, place)
			turn := b.Enter("item")
			if _, granted := turn.AcquireAll(Rank{}, []Resource{place}, []Resource{gemini}); granted {
				t.Fatal("granted")
			}
			turn.Leave()
			closes(b)
			b.wantWoken()
			taken.Done()
			other.Leave()
			b.wantWoken("item")

			turn = b.Enter("item")
			if _, granted := turn.AcquireAll(Rank{}, []Resource{place}, []Resource{gemini}); granted {
				t.Fatal("granted")
			}
			turn.Leave()
			b.SetAvailability(gemini, Availability{})
			b.wantWoken("item")
		})
	})
	t.Run("once, and not again for having heard it in line", func(t *testing.T) {
		t.Parallel()
		inBubble(t, func(b *bench) {
			b.Configure(gemini, Limit{})
			b.SetAvailability(gemini, Availability{State: StateDown})
			b.parks("item", Rank{}, gemini)
			b.WakeAll(gemini)
			b.wantWoken("item")
			b.SetAvailability(gemini, Availability{State: StateDown, Failures: 1})
			b.wantWoken()
		})
	})
}
