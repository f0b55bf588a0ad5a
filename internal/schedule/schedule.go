// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Schedule decides who may call what, and when. All methods may be called at the same time, and
// from within the wake function.
type Schedule struct {
	clock    clock.WithDelayedExecution
	wake     func(key string)
	tokens   func(id Resource) // nil: nobody writes them down
	defaults map[Kind]Limit

	mu        sync.Mutex
	open      bool
	opened    chan struct{} // closed when it is open
	ended     bool
	resources map[Resource]*resource
	waiters   map[string]*waiter
	asked     uint64      // requests made so far
	entered   uint64      // turns that have begun so far
	given     uint64      // slots of what is shared that were given so far
	told      uint64      // calls of WakeAll so far
	touched   []*resource // to be settled before the lock is given up
	woken     []string    // to be woken after the lock is given up
	written   []Resource  // whose tokens are to be written down then
}

// New makes a Schedule that is closed: everybody is parked until Open. It calls wake, without
// holding a lock, for each key that something was reserved for; wake must bring the key to a
// reconcile that enters, and must not block. Resources of the kinds in defaults need not be
// configured, and are forgotten while nobody uses them.
func New(clock clock.WithDelayedExecution, wake func(key string), defaults map[Kind]Limit) *Schedule {
	return &Schedule{
		clock:     clock,
		wake:      wake,
		defaults:  defaults,
		resources: map[Resource]*resource{},
		waiters:   map[string]*waiter{},
		opened:    make(chan struct{}),
	}
}

// Open begins to grant, in the order of everybody's rank, and by turns what is shared. Call it once the keys that were waiting
// before a restart are parked again, and the availabilities restored.
func (s *Schedule) Open() {
	s.locked(func(time.Time) {
		if s.open {
			return
		}
		s.open = true
		close(s.opened)
		for _, r := range s.resources {
			s.touch(r)
		}
	})
}

// End has nothing happen by itself any more: no timer is left of those who still wait.
func (s *Schedule) End() {
	s.locked(func(time.Time) {
		s.ended = true
		for _, r := range s.resources {
			s.touch(r) // which stops its timer
		}
	})
}

// Opened is closed when the schedule is open: nobody is granted anything before.
func (s *Schedule) Opened() <-chan struct{} { return s.opened }

// Configure makes a resource known, or changes its limit. Its availability stays.
func (s *Schedule) Configure(id Resource, limit Limit) { s.Resume(id, limit, time.Time{}) }

// Resume is Configure for a resource that was called last at a time before a restart, so that its
// pace goes on from there. The zero time is for never.
func (s *Schedule) Resume(id Resource, limit Limit, last time.Time) {
	s.locked(func(time.Time) {
		r := s.keep(s.find(id))
		r.explicit, r.known = true, true
		r.setLimit(limit)
		r.pace.began(last)
		s.touch(r)
	})
}

// Withhold grants nothing of a resource until Resume. Who waits for it goes on waiting; its limit and its availability stay.
func (s *Schedule) Withhold(id Resource) {
	s.locked(func(time.Time) { s.keep(s.find(id)).known = false })
}

// Remove makes a resource unknown again: who waits for it alone waits until it is back.
func (s *Schedule) Remove(id Resource) {
	s.locked(func(now time.Time) {
		r := s.find(id)
		if !r.explicit && r.availability == (Availability{}) && r.budget.Empty() {
			return // it is unknown already
		}
		limit, known := s.defaults[id.Kind]
		r.explicit, r.known, r.availability = false, known, Availability{}
		r.budget.Forget()
		r.setLimit(limit)
		s.availabilityChanged(r, Owner{}, now)
	})
}

// SetAvailability sets what is known from elsewhere: the availability before a restart, a missing
// Secret, a cool-down that a person has cleared. It may come before Configure. What a call has
// shown is reported through its Ticket.
func (s *Schedule) SetAvailability(id Resource, availability Availability) {
	s.locked(func(now time.Time) {
		r := s.keep(s.find(id))
		r.availability = availability
		s.availabilityChanged(r, Owner{}, now)
	})
}

// WakeAll wakes everybody who waits for a resource, though it is not free: what they wait for has
// changed in a way that they must know, such as that it will not come by itself. Who comes to wait for it
// later, and began the turn in which that was asked for before, is woken then: also one who waits for a place to work at first.
func (s *Schedule) WakeAll(id Resource) {
	s.locked(func(time.Time) {
		s.told++
		r := s.find(id)
		r.news = s.told
		for _, at := range r.places() {
			s.tell(at.request, r)
		}
	})
}

// tell wakes a request's key for the news of a resource, once.
func (s *Schedule) tell(q *request, r *resource) {
	if r.news > q.heard {
		q.heard = r.news
		s.woken = append(s.woken, q.waiter.key)
	}
}

// Availability returns the availability of a resource.
func (s *Schedule) Availability(id Resource) Availability {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.find(id).availability
}

// Wait returns when the first resource of a chain will be available, as far as that is known, and
// what it is that must be waited for, in words. It does not count who else is waiting.
func (s *Schedule) Wait(chain ...Resource) (until time.Time, known bool, why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.Now()
	for i, id := range chain {
		at, ok, because := s.find(id).waiting(now)
		if i == 0 || ok && (!known || at.Before(until)) {
			until, known, why = at, ok, because
		}
	}
	return until, known, why
}

// AwaitedBeside reports whether anybody waits for a resource beside a key, or is let through as the one call of an open circuit.
func (s *Schedule) AwaitedBeside(id Resource, key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if probe := s.find(id).probe; probe != nil && probe.key != key {
		return true
	}
	return slices.ContainsFunc(s.find(id).places(), func(at *place) bool { return at.request.waiter.key != key })
}

// Usage is how much of one kind of resource is asked for.
type Usage struct {
	// Waiting counts the requests that wait for a resource of the kind.
	Waiting int
	// InUse counts the slots that are taken, for calls and for those whose turn has come.
	InUse int
}

// Snapshot returns the usage of each kind that is used.
func (s *Schedule) Snapshot() map[Kind]Usage {
	s.mu.Lock()
	defer s.mu.Unlock()
	usage := map[Kind]Usage{}
	for id, r := range s.resources {
		u := usage[id.Kind]
		u.InUse += r.inUse
		for _, at := range r.places() {
			if at.request.places[0] == at { // a request that waits in several lines counts once
				u.Waiting++
			}
		}
		usage[id.Kind] = u
	}
	return usage
}

// locked runs one change under the lock, then grants what it has set free, then wakes whom it concerns.
func (s *Schedule) locked(change func(now time.Time)) {
	s.mu.Lock()
	now := s.clock.Now()
	change(now)
	s.settle(now)
	woken, written, tokens := s.woken, s.written, s.tokens
	s.woken, s.written = nil, nil
	s.mu.Unlock()
	for _, key := range woken {
		s.wake(key)
	}
	for _, id := range written {
		if tokens != nil {
			tokens(id)
		}
	}
}

// find returns the resource, or a new one that is not kept yet, so that asking leaves no trace.
func (s *Schedule) find(id Resource) *resource {
	if r := s.resources[id]; r != nil {
		return r
	}
	limit, known := s.defaults[id.Kind]
	r := &resource{id: id, known: known, news: s.told} // or what was forgotten would have told nothing
	r.setLimit(limit)
	return r
}

func (s *Schedule) keep(r *resource) *resource {
	s.resources[r.id] = r
	return r
}

// touch has a resource looked at before the lock is given up.
func (s *Schedule) touch(r *resource) {
	if !r.touched {
		r.touched = true
		s.touched = append(s.touched, r)
	}
}
