// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"container/heap"
	"slices"
	"time"
)

// longestNap bounds how late a jump of the wall clock is noticed while somebody waits.
const longestNap = time.Minute

// settle gives the resources that were touched to those who wait for them, as long as they are
// free: first to the best of all the lines, because who stands in one may need another as well.
// It ends: whom it looks at is granted, or parked with a resource that is not free, or parked
// behind a better one with a resource that was not touched before.
func (s *Schedule) settle(now time.Time) {
	s.passOn(now)
	for {
		var best *request
		for _, r := range s.touched {
			if s.open && len(r.line) > 0 && r.standing(now) == free {
				if head := r.line[0].request; best == nil || head.compare(best) < 0 {
					best = head
				}
			}
		}
		if best == nil {
			break
		}
		s.leaveLines(best)
		s.grantOrPark(best, now)
	}
	for _, r := range s.touched {
		r.touched = false
		if len(r.line) > 0 {
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
		s.leaveLines(q)
	}
	for _, q := range requests {
		s.grantOrPark(q, now)
	}
}

// availabilityChanged grants what has become free, and lets those who waited for what is now down
// go on to the next of their chain.
func (s *Schedule) availabilityChanged(r *resource, now time.Time) {
	if r.standing(now) == down {
		s.reconsider(r.requests(), now)
	}
	s.touch(r)
}

// grantOrPark reserves what a parked request asks for, or parks it where it has to wait. One that
// would wait for nothing but what is down, and does not want that, ends: its key is woken.
func (s *Schedule) grantOrPark(q *request, now time.Time) {
	tickets, waitFor := s.take(q, nil, now)
	if tickets == nil && !(q.soon && allDown(waitFor, now)) {
		s.park(q, waitFor)
		return
	}
	w := q.waiter
	w.requests = slices.DeleteFunc(w.requests, func(other *request) bool { return other == q })
	w.reserved = append(w.reserved, tickets...)
	s.woken = append(s.woken, w.key)
}

// take takes one resource of each chain of the request, or nothing at all; then it returns the
// resources to wait for. Where the request has a ticket for a chain already, that one is used.
func (s *Schedule) take(q *request, have map[int]*Ticket, now time.Time) (tickets []*Ticket, waitFor []*resource) {
	for i, chain := range q.chains {
		if ticket := have[i]; ticket != nil {
			tickets = append(tickets, ticket)
			continue
		}
		r, waitFor := s.choose(q, chain, now)
		if r == nil {
			for j, ticket := range tickets {
				if have[j] == nil {
					ticket.resource.putBack(ticket, false)
				}
			}
			return nil, waitFor
		}
		s.touch(s.keep(r))
		tickets = append(tickets, r.take(s, now))
	}
	return tickets, nil
}

// choose returns the resource of a chain that is free for the request, or those it waits for: all
// that are down, and the first that is merely busy; what comes after that is not asked (R3.6).
func (s *Schedule) choose(q *request, chain []Resource, now time.Time) (*resource, []*resource) {
	var waitFor []*resource
	for _, id := range chain {
		r := s.find(id)
		switch r.standing(now) {
		case free:
			behind := len(r.line) > 0 && r.line[0].request.compare(q) < 0
			if s.open && !behind {
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

func allDown(resources []*resource, now time.Time) bool {
	return !slices.ContainsFunc(resources, func(r *resource) bool { return r.standing(now) != down })
}

func (s *Schedule) park(q *request, waitFor []*resource) {
	for _, r := range waitFor {
		q.enter(s.keep(r))
		s.touch(r)
	}
}

func (s *Schedule) leaveLines(q *request) {
	for _, at := range q.places {
		heap.Remove(&at.resource.line, at.index)
		s.touch(at.resource)
	}
	q.places = nil
}

// arm sets the timer of a resource to when time will change how it stands, or forgets the resource.
func (s *Schedule) arm(r *resource, now time.Time) {
	var due time.Time
	switch {
	case s.resources[r.id] != r:
	case r.forgettable(now):
		delete(s.resources, r.id)
	case len(r.line) > 0 || !r.explicit:
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
		r.timer = s.clock.AfterFunc(min(due.Sub(now), longestNap), func() { go s.fire(r, due) })
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
