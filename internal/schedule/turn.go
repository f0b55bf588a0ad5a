// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"slices"
	"time"

	"github.com/feed-operator/feed-operator/internal/failure"
)

// Turn is one reconcile of a key.
type Turn struct {
	schedule *Schedule
	waiter   *waiter
	reserved []*Ticket // made before the turn began, not taken up yet
	held     []*Ticket
	left     bool
	number   uint64 // turns that began later have larger ones
	heard    uint64 // the last WakeAll before it began
}

// Enter begins a turn of a key, and takes over what was reserved for the key while it waited. The
// turn must end with Leave.
func (s *Schedule) Enter(key string) *Turn {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.waiters[key]
	if w == nil {
		w = &waiter{key: key}
		s.waiters[key] = w
	}
	w.turns++
	s.entered++
	turn := &Turn{schedule: s, waiter: w, reserved: w.reserved, number: s.entered, heard: s.told}
	w.reserved = nil
	return turn
}

// StandInLine has a key wait for what it would ask for, beside whatever turn of it is under way, and until one that begins later ends without asking
// for it again. Nothing is granted to it now, and nothing is taken from that turn.
func (s *Schedule) StandInLine(key string, rank Rank, chains ...[]Resource) {
	s.locked(func(now time.Time) {
		if !grantable(chains) {
			return
		}
		w := s.waiters[key]
		if w == nil {
			w = &waiter{key: key}
		}
		s.entered++
		beside := &Turn{schedule: s, waiter: w, left: true, number: s.entered}
		for _, q := range w.requests {
			if q.asksFor(chains) {
				q.turn = beside
				return
			}
		}
		s.asked++
		q := &request{waiter: w, rank: rank, number: s.asked, chains: clone(chains), turn: beside, heard: s.told}
		tickets, waitFor := s.acquire(q, nil, now, false)
		if tickets != nil { // it is free, and the key asks for it when it is looked at
			for _, ticket := range tickets {
				ticket.close(false)
			}
			return
		}
		s.waiters[key] = w
		w.requests = append(w.requests, q)
		s.park(q, waitFor)
	})
}

// Leave ends the turn, once. What was reserved for it and not acquired goes to the next who waits,
// and what the key had waited for in an earlier turn and not asked for again in this one is not
// waited for any more. So a key that does not acquire waits nowhere. Tickets that are still open
// are closed as if the call had been made, because nobody knows.
//
// What was reserved after Enter stays reserved: the wake for it is on its way.
func (t *Turn) Leave() {
	t.schedule.locked(func(time.Time) {
		if t.left {
			return
		}
		t.left = true
		w, s := t.waiter, t.schedule
		w.requests = slices.DeleteFunc(w.requests, func(q *request) bool {
			stale := q.turn != t && q.turn.left && q.turn.number < t.number
			if stale {
				s.dequeueAll(q)
			}
			return stale
		})
		for _, ticket := range t.reserved {
			ticket.close(false)
		}
		for _, ticket := range t.held {
			ticket.close(true)
		}
		if w.turns--; w.turns == 0 && len(w.requests) == 0 && len(w.reserved) == 0 {
			delete(s.waiters, w.key)
		}
	})
}

// Acquire asks for one resource of a chain, in order of preference. When it is not granted, the key
// is parked: it waits for all that are down and for the first that is merely busy, and is woken
// when its rank is the best of those who wait for one of them. Asking again for the same chain
// replaces the rank; asking for another one waits for that one too.
func (t *Turn) Acquire(rank Rank, chain ...Resource) (*Ticket, bool) {
	tickets, ok := t.AcquireAll(rank, chain)
	if !ok {
		return nil, false
	}
	return tickets[0], true
}

// AcquireAll asks for one resource of each chain, and gets all or nothing; the tickets are in the
// order of the chains. Who needs a provider and a host at the same time asks for both here, and
// is woken when both are free: to acquire one after the other means to give the first back
// whenever the second is busy, and to be woken in vain each time.
//
// A place to work at (KindWork) that the turn holds serves for all that it asks for: its ticket is among
// those that are returned, once more.
//
// An empty chain, or a resource in two chains, can't be granted: it is refused without waiting.
func (t *Turn) AcquireAll(rank Rank, chains ...[]Resource) (tickets []*Ticket, ok bool) {
	tickets, _ = t.acquire(&request{rank: rank, chains: chains})
	return tickets, tickets != nil
}

// AcquireSoon is AcquireAll for a key that waits only as long as one of each chain is merely busy. Where
// all of one are down, or come to be down while it waits, it does not wait: then waits is false, and the
// key is woken to find that out.
func (t *Turn) AcquireSoon(rank Rank, chains ...[]Resource) (tickets []*Ticket, waits bool) {
	tickets, waits = t.acquire(&request{rank: rank, chains: chains, soon: true})
	return tickets, waits && tickets == nil
}

// acquire grants a new request, or parks it and reports it.
func (t *Turn) acquire(q *request) (tickets []*Ticket, parked bool) {
	chains := q.chains
	t.schedule.locked(func(now time.Time) {
		if t.left || !grantable(chains) {
			return
		}
		w, s := t.waiter, t.schedule
		w.requests = slices.DeleteFunc(w.requests, func(other *request) bool {
			same := other.asksFor(chains)
			if same {
				s.dequeueAll(other)
			}
			return same
		})
		s.asked++
		q.waiter, q.number, q.turn, q.heard = w, s.asked, t, t.heard
		var waitFor []*resource
		if tickets, waitFor = s.acquire(q, t.has(chains, now), now, false); tickets == nil {
			if parked = !(q.soon && q.allDown(waitFor, now)); parked {
				q.chains = clone(chains)
				w.requests = append(w.requests, q)
				s.park(q, waitFor)
			}
			return
		}
		t.addTickets(tickets)
	})
	return tickets, parked
}

// addTickets has the turn hold tickets, some of which were reserved for it, or it holds already.
func (t *Turn) addTickets(tickets []*Ticket) {
	taken := func(ticket *Ticket) bool { return slices.Contains(tickets, ticket) }
	t.reserved = slices.DeleteFunc(t.reserved, taken)
	t.waiter.reserved = slices.DeleteFunc(t.waiter.reserved, taken)
	t.held = append(slices.DeleteFunc(t.held, taken), tickets...)
}

// KeepWaiting has the key wait on for all that it waited for before the turn, as if it had asked for that again: for a
// turn that ends before it comes to what it would ask for.
func (t *Turn) KeepWaiting() {
	t.schedule.locked(func(time.Time) {
		for _, q := range t.waiter.requests {
			if !t.left {
				q.turn = t
			}
		}
	})
}

// Detach hands a ticket over to work that goes on after the turn: it is ended there, and not by Leave.
func (t *Turn) Detach(ticket *Ticket) {
	t.schedule.locked(func(time.Time) {
		t.held = slices.DeleteFunc(t.held, func(held *Ticket) bool { return held == ticket })
	})
}

// has finds by chain what the turn has already: its place to work at, and what was reserved for the key
// before or during the turn.
func (t *Turn) has(chains [][]Resource, now time.Time) map[int]*Ticket {
	found := map[int]*Ticket{}
	places := slices.DeleteFunc(slices.Clone(t.held), func(ticket *Ticket) bool { return ticket.resource.id.Kind != KindWork })
	for _, ticket := range slices.Concat(places, t.reserved, t.waiter.reserved) {
		for i, chain := range chains {
			if found[i] == nil && slices.Contains(chain, ticket.resource.id) && ticket.resource.honours(ticket, now) {
				found[i] = ticket
				break
			}
		}
	}
	return found
}

func grantable(chains [][]Resource) bool {
	seen := map[Resource]int{}
	for i, chain := range chains {
		if len(chain) == 0 {
			return false
		}
		for _, id := range chain {
			if first, ok := seen[id]; ok && first != i {
				return false
			}
			seen[id] = i
		}
	}
	return len(chains) > 0
}

func clone(chains [][]Resource) [][]Resource {
	copied := make([][]Resource, 0, len(chains))
	for _, chain := range chains {
		copied = append(copied, slices.Clone(chain))
	}
	return copied
}

// Ticket is the right to make one call to a resource. It ends with Release, Done, Succeeded or
// Failed; whichever comes first counts.
type Ticket struct {
	schedule *Schedule
	resource *resource
	owner    Owner
	key      string // that it was granted to
	part     *part  // that the slot is counted in, where the resource is shared
	token    token
	promised int64 // what it is thought to cost, in tokens
	counted  bool  // its tokens are known
	closed   bool
}

// Resource is what the ticket allows to call.
func (t *Ticket) Resource() Resource { return t.resource.id }

// Cancel gives the ticket back unused: the next may have its slot and its place in the pace.
func (t *Ticket) Cancel() {
	t.schedule.locked(func(time.Time) { t.close(false) })
}

// Done ends a call that says nothing about the resource, such as one that was cancelled.
func (t *Ticket) Done() {
	t.schedule.locked(func(time.Time) { t.close(true) })
}

// Succeeded ends a call that has succeeded, and returns the availability of the resource, to be
// written down.
func (t *Ticket) Succeeded() Availability {
	return t.report(func(a Availability, now time.Time) Availability {
		if b := &t.resource.budget; b.PerDay > 0 && !t.counted {
			b.Use(now, b.Call())
		}
		return a.Succeeded(now)
	})
}

// Failed ends a call that has failed, and returns the availability of the resource, to be written
// down.
func (t *Ticket) Failed(err *failure.Error) Availability {
	return t.report(func(a Availability, now time.Time) Availability { return a.Failed(now, err) })
}

// report changes the availability before the slot is free, so that nobody is let through in between.
func (t *Ticket) report(change func(Availability, time.Time) Availability) (after Availability) {
	t.schedule.locked(func(now time.Time) {
		r := t.resource
		before := r.availabilityFor(t.owner, now)
		if t.closed {
			after = before
			return
		}
		after = change(before, now)
		if after.State == StateCoolingDown {
			after.Within = r.limit.LongestPause
		}
		r.report(t, after)
		t.close(true)
		if after != before {
			t.schedule.availabilityChanged(r, t.owner, now)
		}
	})
	return after
}

// close returns the ticket under the schedule's lock.
func (t *Ticket) close(spent bool) {
	t.resource.putBack(t, spent)
	t.schedule.touch(t.resource)
}
