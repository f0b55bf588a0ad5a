// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"slices"
	"time"
)

// maxTimerDelay bounds how late a jump of the wall clock is noticed while somebody waits.
const maxTimerDelay = time.Minute

// settle gives the resources that were touched to those who wait for them, as long as they are
// free: to those whose turn it is at what is shared first, and then to the best of all the lines, because who
// stands in one may need another as well. It ends: whom it looks at is granted, or parked with a resource that is not
// free for it, or parked behind a better one, at what is not shared or was not touched before.
func (s *Schedule) settle(now time.Time) {
	s.advanceWaiters(now)
	for s.open { // while it is closed nobody asks who the next one is, which takes a look at each tenant
		var best *request
		var byTurns bool
		for _, r := range s.touched {
			head := r.head(now)
			if head == nil || best != nil && byTurns && r.shared == nil {
				continue
			}
			if best == nil || !byTurns && r.shared != nil || head.compare(best) < 0 {
				best, byTurns = head, r.shared != nil
			}
		}
		if best == nil {
			break
		}
		s.dequeueAll(best)
		s.grantOrPark(best, now, true)
	}
	for _, r := range s.touched {
		r.touched = false
		if r.waiters() > 0 {
			s.askForTokens(r, now)
		}
		s.arm(r, now)
	}
	s.touched = nil
}

// reconsider finds for each request the resources that it has to wait for now, or grants it.
func (s *Schedule) reconsider(requests []*request, now time.Time) {
	slices.SortFunc(requests, (*request).compare)
	for _, q := range requests {
		s.dequeueAll(q)
	}
	for _, q := range requests {
		s.grantOrPark(q, now, false)
	}
}

// availabilityChanged grants what has become free, and lets those who waited for what is now down
// go on to the next of their chain.
func (s *Schedule) availabilityChanged(r *resource, owner Owner, now time.Time) {
	if r.standing(now, owner) == down {
		s.reconsider(slices.DeleteFunc(r.requests(), func(q *request) bool {
			return r.standing(now, q.rank.Owner) != down
		}), now)
	}
	s.touch(r)
}

// grantOrPark reserves what a parked request asks for, or parks it where it has to wait. One that
// would wait for nothing but what is down, and does not want that, ends: its key is woken. ItsTurn means that no other
// goes before it at what is shared and was touched.
func (s *Schedule) grantOrPark(q *request, now time.Time, itsTurn bool) {
	tickets, waitFor := s.acquire(q, nil, now, itsTurn)
	if tickets == nil && !(q.soon && q.allDown(waitFor, now)) {
		s.park(q, waitFor)
		return
	}
	w := q.waiter
	w.requests = slices.DeleteFunc(w.requests, func(other *request) bool { return other == q })
	w.reserved = append(w.reserved, tickets...)
	s.woken = append(s.woken, w.key)
}

// acquire takes one resource of each chain of the request, or nothing at all; then it returns the
// resources to wait for. Where the request has a ticket for a chain already, that one is used.
func (s *Schedule) acquire(q *request, have map[int]*Ticket, now time.Time, itsTurn bool) (tickets []*Ticket, waitFor []*resource) {
	chosen := make([]*resource, len(q.chains))
	for i, chain := range q.chains {
		if have[i] != nil {
			continue
		}
		if chosen[i], waitFor = s.choose(q, chain, now, itsTurn); chosen[i] == nil {
			return nil, waitFor
		}
		if place := s.overtakes(q, have, chosen[i], now); place != nil {
			return nil, []*resource{place}
		}
	}
	for i, r := range chosen {
		if have[i] != nil {
			tickets = append(tickets, have[i])
			continue
		}
		s.touch(s.keep(r))
		tickets = append(tickets, r.acquire(s, q, now))
	}
	return tickets, nil
}

// overtakes reports whether a request would go before a better one of the same owner only because it has a slot of something
// shared already, such as a place to work at, for which the better one still waits. Then it returns what that waits for.
// Others than the owner's own do not have to wait for those who have no slot: nobody knows for how long that is.
func (s *Schedule) overtakes(q *request, have map[int]*Ticket, r *resource, now time.Time) *resource {
	if r.shared != nil {
		return nil
	}
	for _, ticket := range have {
		if ticket.resource.shared == nil {
			continue
		}
		for _, at := range ticket.resource.lineOf(q.rank.Owner) {
			if better := at.request; better.waiter != q.waiter && better.compare(q) < 0 && s.wants(better, r, now) {
				return ticket.resource
			}
		}
	}
	return nil
}

// wants reports whether a request would take a resource, were it free.
func (s *Schedule) wants(q *request, r *resource, now time.Time) bool {
	for _, chain := range q.chains {
		for _, id := range chain {
			if id == r.id {
				return true
			}
			if s.find(id).standing(now, q.rank.Owner) != down {
				break
			}
		}
	}
	return false
}

// choose returns the resource of a chain that is free for the request, or those it waits for: all
// that are down, and the first that is merely busy; what comes after that is not asked (R3.6).
func (s *Schedule) choose(q *request, chain []Resource, now time.Time, itsTurn bool) (*resource, []*resource) {
	var waitFor []*resource
	for _, id := range chain {
		r := s.find(id)
		switch r.standing(now, q.rank.Owner) {
		case free:
			inFront := itsTurn && r.shared != nil && r.touched // or it would be another's turn
			if s.open && (inFront || !r.behind(q, now)) {
				return r, nil
			}
			return nil, append(waitFor, r)
		case busy:
			s.askForTokens(r, now)
			return nil, append(waitFor, r)
		case down:
			waitFor = append(waitFor, r)
		}
	}
	return nil, waitFor
}

func (q *request) allDown(resources []*resource, now time.Time) bool {
	return !slices.ContainsFunc(resources, func(r *resource) bool { return r.standing(now, q.rank.Owner) != down })
}

func (s *Schedule) park(q *request, waitFor []*resource) {
	for _, r := range waitFor {
		q.enter(s.keep(r))
		s.touch(r)
		s.tell(q, r)
	}
}

func (s *Schedule) dequeueAll(q *request) {
	for _, at := range q.places {
		at.resource.dequeue(at)
		s.touch(at.resource)
	}
	q.places = nil
}

// arm sets the timer of a resource to when time will change how it stands, or forgets the resource.
func (s *Schedule) arm(r *resource, now time.Time) {
	var due time.Time
	r.endPauses(now)
	switch {
	case s.ended, s.resources[r.id] != r:
	case r.forgettable(now):
		delete(s.resources, r.id)
	case r.waiters() > 0 || !r.explicit || len(r.pauses) > 0:
		due = r.changes(now)
	}
	if due.Equal(r.due) {
		return
	}
	if r.timer != nil {
		r.timer.Stop()
		r.timer = nil
	}
	r.due = due
	if !due.IsZero() {
		// In a goroutine of its own, because a fake clock calls back while it holds its lock.
		r.timer = s.clock.AfterFunc(min(due.Sub(now), maxTimerDelay), func() { go s.fire(r, due) })
	}
}

// fire looks at a resource again, unless its timer was set anew meanwhile.
func (s *Schedule) fire(r *resource, due time.Time) {
	s.locked(func(time.Time) {
		if r.due.Equal(due) {
			r.timer, r.due = nil, time.Time{}
			s.touch(r)
		}
	})
}
