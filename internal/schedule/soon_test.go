// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"testing"
	"time"
)

// R3.6, R3.12: an attempt that has called somebody waits for who is busy, and for nobody who is down.
func TestAcquireSoon(t *testing.T) {
	t.Parallel()
	t.Run("waits for who is busy, and is woken for it", func(t *testing.T) {
		t.Parallel()
		inBubble(t, func(b *bench) {
			b.Configure(gemini, Limit{PerMinute: 6})
			first := b.Enter("first")
			b.gets(first, Rank{}, gemini).Done()
			first.Leave()
			turn := b.Enter("item")
			if ticket, waits := turn.AcquireSoon(Rank{}, []Resource{gemini}); ticket != nil || !waits {
				t.Fatalf("ticket %v, waits %v", ticket, waits)
			}
			turn.Leave()
			b.passes(11 * time.Second)
			b.wantWoken("item")
			turn = b.Enter("item")
			if ticket, waits := turn.AcquireSoon(Rank{}, []Resource{gemini}); ticket == nil || waits {
				t.Errorf("ticket %v, waits %v", ticket, waits)
			}
			turn.Leave()
		})
	})
	t.Run("does not wait where all are down", func(t *testing.T) {
		t.Parallel()
		inBubble(t, func(b *bench) {
			b.Configure(gemini, Limit{})
			b.SetAvailability(gemini, Availability{State: StateDown})
			turn := b.Enter("item")
			if ticket, waits := turn.AcquireSoon(Rank{}, []Resource{gemini, openAI}); ticket != nil || waits {
				t.Errorf("ticket %v, waits %v", ticket, waits)
			}
			turn.Leave()
			b.wantKnown()
		})
	})
	t.Run("is woken when who is waited for goes down, and waits no more", func(t *testing.T) {
		t.Parallel()
		inBubble(t, func(b *bench) {
			b.Configure(gemini, Limit{Concurrent: 1})
			other := b.Enter("other")
			ticket := b.gets(other, Rank{}, gemini)
			turn := b.Enter("item")
			if _, waits := turn.AcquireSoon(Rank{}, []Resource{gemini}); !waits {
				t.Fatal("does not wait")
			}
			turn.Leave()
			b.SetAvailability(gemini, Availability{State: StateDown})
			b.wantWoken("item")
			turn = b.Enter("item")
			if ticket, waits := turn.AcquireSoon(Rank{}, []Resource{gemini}); ticket != nil || waits {
				t.Errorf("ticket %v, waits %v", ticket, waits)
			}
			turn.Leave()
			ticket.Done()
			other.Leave()
			b.wantEmpty()
		})
	})
	t.Run("goes on waiting for another that is busy", func(t *testing.T) {
		t.Parallel()
		inBubble(t, func(b *bench) {
			for _, id := range []Resource{gemini, openAI} {
				b.Configure(id, Limit{Concurrent: 1})
			}
			other := b.Enter("other")
			b.gets(other, Rank{}, gemini)
			ticket := b.gets(other, Rank{}, openAI)
			turn := b.Enter("item")
			if _, waits := turn.AcquireSoon(Rank{}, []Resource{gemini, openAI}); !waits {
				t.Fatal("does not wait")
			}
			turn.Leave()
			b.SetAvailability(gemini, Availability{State: StateDown})
			b.wantWoken()
			ticket.Done()
			b.wantWoken("item")
			other.Leave()
		})
	})
}
