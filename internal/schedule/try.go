// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"time"
)

// Free reports whether the chain, of which nothing is shared, would be granted at this moment to whoever asks first.
func (s *Schedule) Free(chain ...Resource) (yes bool) {
	s.locked(func(now time.Time) {
		for _, id := range chain {
			r := s.find(id)
			switch r.standing(now, Owner{}) {
			case free:
				yes = s.open && r.waiters() == 0
				return
			case busy:
				return
			case down:
			}
		}
	})
	return yes
}

// Try asks for one resource of each chain that is free at this moment, and waits for none: for a
// turn whose first choice has failed, and that would rather end than be parked.
func (t *Turn) Try(rank Rank, chains ...[]Resource) (tickets []*Ticket, ok bool) {
	t.schedule.locked(func(now time.Time) {
		if t.left || !grantable(chains) {
			return
		}
		q := &request{waiter: t.waiter, rank: rank, chains: chains, turn: t}
		if tickets, _ = t.schedule.acquire(q, t.has(chains, now), now, false); tickets != nil {
			t.addTickets(tickets)
		}
	})
	return tickets, tickets != nil
}
