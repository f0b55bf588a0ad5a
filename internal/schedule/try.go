// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"slices"
	"time"
)

// Free says whether the chain would be granted at this moment to whoever asks first.
func (s *Schedule) Free(chain ...Resource) (yes bool) {
	s.locked(func(now time.Time) {
		for _, id := range chain {
			r := s.find(id)
			switch r.standing(now) {
			case free:
				yes = s.open && len(r.line) == 0
				return
			case busy:
				return
			case down:
			}
		}
	})
	return yes
}

// Try asks for one resource of a chain that is free at this moment, and waits for none: for a
// turn whose first choice has failed, and that would rather end than be parked.
func (t *Turn) Try(rank Rank, chain ...Resource) (ticket *Ticket, ok bool) {
	t.schedule.locked(func(now time.Time) {
		chains := [][]Resource{chain}
		if t.left || !grantable(chains) {
			return
		}
		q := &request{waiter: t.waiter, rank: rank, chains: chains, turn: t}
		tickets, _ := t.schedule.take(q, t.reservedFor(chains, now), now)
		if tickets == nil {
			return
		}
		ticket, ok = tickets[0], true
		taken := func(reserved *Ticket) bool { return reserved == ticket }
		t.reserved = slices.DeleteFunc(t.reserved, taken)
		t.waiter.reserved = slices.DeleteFunc(t.waiter.reserved, taken)
		t.held = append(t.held, ticket)
	})
	return ticket, ok
}
