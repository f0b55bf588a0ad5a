// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"testing"
)

func TestTurn(t *testing.T) {
	t.Parallel()
	// Each test begins with one slot, which "first" holds, while "item" and then "next" wait.
	for name, test := range map[string]func(b *bench, ticket *Ticket){
		"what was reserved and not acquired goes to the next": func(b *bench, ticket *Ticket) {
			ticket.Cancel()
			b.wantWoken("item")
			b.Enter("item").Leave()
			b.wantWoken("next")
		},
		"who enters and leaves without asking waits no more": func(b *bench, ticket *Ticket) {
			b.Enter("item").Leave()
			ticket.Cancel()
			b.wantWoken("next")
		},
		"who asks for something else waits no more": func(b *bench, ticket *Ticket) {
			turn := b.Enter("item")
			b.gets(turn, Rank{}, host)
			turn.Leave()
			ticket.Cancel()
			b.wantWoken("next")
		},
		"who asks again keeps one place, with the new rank": func(b *bench, ticket *Ticket) {
			b.parks("item", published(9), gemini)
			ticket.Cancel()
			b.wantWoken("next")
			b.Enter("next").Leave()
			b.wantWoken("item")
			b.Enter("item").Leave()
			b.wantWoken()
			b.wantKnown("first")
		},
		"what is reserved during a turn survives its end": func(b *bench, ticket *Ticket) {
			turn := b.Enter("item")
			turn.Acquire(published(1), gemini)
			ticket.Cancel()
			b.wantWoken("item")
			turn.Leave()
			b.wantWoken()
			b.gets(b.Enter("item"), published(1), gemini)
		},
		"what is reserved before asking again is taken up in the same turn": func(b *bench, ticket *Ticket) {
			turn := b.Enter("item")
			ticket.Cancel()
			b.wantWoken("item")
			b.gets(turn, published(1), gemini).Done()
			turn.Leave()
			b.wantWoken("next")
			b.Enter("item").Leave() // the wake that was on its way
			b.wantWoken()
		},
		"a ticket that is still open is closed in the end": func(b *bench, ticket *Ticket) {
			ticket.Cancel()
			b.wantWoken("item")
			turn := b.Enter("item")
			b.gets(turn, published(1), gemini)
			turn.Leave()
			turn.Leave()
			b.wantWoken("next")
		},
		"a held ticket is not disturbed by parking for another resource": func(b *bench, ticket *Ticket) {
			turn := b.Enter("item")
			held := b.gets(turn, Rank{}, host)
			if _, ok := turn.Acquire(published(1), gemini); ok {
				b.t.Error("granted")
			}
			if b.Snapshot()[KindHost].InUse != 1 {
				b.t.Error("the host was given back")
			}
			held.Cancel()
			turn.Leave()
			if b.Snapshot()[KindHost].InUse != 0 {
				b.t.Error("the host was not given back")
			}
		},
		"it waits for everything it asked for in one turn": func(b *bench, ticket *Ticket) {
			b.Configure(mastodon, Limit{Concurrent: 1})
			post := b.gets(b.Enter("post"), Rank{}, mastodon)
			turn := b.Enter("item")
			turn.Acquire(published(1), gemini)
			turn.Acquire(published(1), mastodon)
			turn.Leave()
			post.Done()
			b.wantWoken("item")
			ticket.Done()
			b.wantWoken("item")
		},
		"two turns of one key do not disturb each other": func(b *bench, ticket *Ticket) {
			one := b.Enter("item")
			one.Acquire(published(1), gemini)
			b.Enter("item").Leave()
			ticket.Done()
			b.wantWoken("item")
			one.Leave()
		},
		"nobody is granted anything after the end": func(b *bench, ticket *Ticket) {
			turn := b.Enter("item")
			turn.Leave()
			if _, ok := turn.Acquire(Rank{}, host); ok {
				b.t.Error("granted")
			}
		},
		"what can't be granted is refused and not waited for": func(b *bench, ticket *Ticket) {
			turn := b.Enter("nobody")
			for _, chains := range [][][]Resource{{}, {{}}, {{host}, {}}, {{gemini}, {extractive, gemini}}} {
				if _, ok := turn.AcquireAll(Rank{}, chains...); ok {
					b.t.Errorf("granted %v", chains)
				}
			}
			turn.Leave()
			b.wantKnown("first", "item", "next")
		},
		"a longer line and a larger limit: as many as fit": func(b *bench, ticket *Ticket) {
			b.Configure(gemini, Limit{Concurrent: 3})
			b.wantWoken("item", "next")
		},
		"the resource disappears and comes back": func(b *bench, ticket *Ticket) {
			b.Remove(gemini)
			ticket.Done()
			b.wantWoken()
			b.Configure(gemini, Limit{Concurrent: 1})
			b.wantWoken("item")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(b *bench) {
				b.Configure(gemini, Limit{Concurrent: 1})
				ticket := b.gets(b.Enter("first"), Rank{}, gemini)
				b.parks("item", published(1), gemini)
				b.parks("next", published(2), gemini)
				test(b, ticket)
			})
		})
	}
}

func TestAcquireAllGetsAllOrNothing(t *testing.T) {
	t.Parallel()
	inBubble(t, func(b *bench) {
		b.Configure(gemini, Limit{PerMinute: 10})
		one, two := b.Enter("one"), b.Enter("two")
		held := []*Ticket{b.gets(one, Rank{}, host), b.gets(two, Rank{}, host)}

		turn := b.Enter("item")
		if _, ok := turn.AcquireAll(published(1), []Resource{gemini}, []Resource{host}); ok {
			t.Fatal("granted without a host")
		}
		turn.Leave()
		ticket := b.gets(b.Enter("other"), published(2), gemini) // was not kept for the item
		held[0].Done()
		b.wantWoken() // a host is free, but no provider
		if got := b.Snapshot()[KindHost].InUse; got != 1 {
			t.Errorf("%d hosts in use", got)
		}
		ticket.Cancel()
		b.wantWoken("item")
		turn = b.Enter("item")
		tickets, ok := turn.AcquireAll(published(1), []Resource{gemini}, []Resource{host})
		if !ok || tickets[0].Resource() != gemini || tickets[1].Resource() != host {
			t.Fatalf("got %v", tickets)
		}
		turn.Leave()
		one.Leave()
		two.Leave()
	})
}

// Two resources that are free at the same moment go to the best of both lines together.
func TestTheBestOfAllLinesIsFirst(t *testing.T) {
	t.Parallel()
	inBubble(t, func(b *bench) {
		for _, id := range []Resource{gemini, extractive, mastodon} {
			b.Configure(id, Limit{Concurrent: 1})
		}
		parks := func(key string, minute int, provider Resource) {
			turn := b.Enter(key)
			defer turn.Leave()
			if _, ok := turn.AcquireAll(published(minute), []Resource{provider}, []Resource{mastodon}); ok {
				t.Fatal("granted")
			}
		}
		holder := b.Enter("holder")
		b.gets(holder, Rank{}, mastodon)
		parks("second", 2, extractive)
		parks("third", 3, gemini)
		b.gets(holder, Rank{}, extractive)
		parks("best", 1, extractive)
		holder.Leave()
		b.wantWoken("best")
	})
}

func TestTryDoesNotPark(t *testing.T) {
	t.Parallel()
	inBubble(t, func(b *bench) {
		b.Configure(gemini, Limit{Concurrent: 1})
		turn, other := b.Enter("item"), b.Enter("other")
		tickets, ok := turn.Try(published(2), []Resource{openAI, gemini})
		if !ok || tickets[0].Resource() != gemini {
			t.Fatalf("got %v", tickets)
		}
		if _, ok := other.Try(published(1), []Resource{gemini}); ok {
			t.Error("granted what was in use")
		}
		if _, ok := other.Try(published(1)); ok {
			t.Error("granted nothing")
		}
		other.Acquire(published(1), gemini)
		tickets[0].Done()
		b.wantWoken("other")
		tickets, ok = other.Try(published(1), []Resource{gemini}) // what was reserved for it
		if !ok {
			t.Fatal("not granted")
		}
		tickets[0].Done()
		other.Leave()
		turn.Leave()
		if _, ok := turn.Try(Rank{}, []Resource{gemini}); ok {
			t.Error("granted after the end")
		}
		b.wantWoken()
		b.wantEmpty()
	})
}
