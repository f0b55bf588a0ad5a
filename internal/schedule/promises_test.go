// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/feed-operator/feed-operator/internal/portion"
)

func init() { portion.Draws(40) }

// check holds after every step, when everything that was set in motion has come to rest.
func (m *machine) check(*rapid.T) {
	synctest.Wait()
	m.s.mu.Lock()
	defer m.s.mu.Unlock()
	now := time.Now()
	open := map[*resource]int{}
	probes := map[*resource]int{}
	var fresh []*Ticket
	count := func(ticket *Ticket) {
		if ticket.closed {
			return
		}
		open[ticket.resource]++
		if ticket.resource.probe == ticket {
			probes[ticket.resource]++
		}
	}
	reserved := map[*Ticket]bool{}
	for key, w := range m.s.waiters {
		if (m.turns[key] == nil) != (w.turns == 0) || w.turns == 0 && len(w.requests) == 0 && len(w.reserved) == 0 {
			broken("%s is known for nothing", key)
		}
		if len(w.reserved) > 0 && !m.isWoken(key) {
			broken("%s has a reservation and was not woken", key)
		}
		for _, ticket := range w.reserved {
			count(ticket)
			reserved[ticket] = true
			if !m.reserved[ticket] {
				fresh = append(fresh, ticket)
			}
		}
		for _, q := range w.requests {
			if len(q.places) == 0 {
				broken("%s waits nowhere", key)
			}
		}
		if len(w.requests) > 0 && w.turns == 0 && w.requests[0].turn != w.requests[len(w.requests)-1].turn {
			broken("%s waits for what it did not ask for in its last turn", key)
		}
	}
	for _, turn := range m.turns {
		for _, ticket := range slices.Concat(turn.reserved, turn.held) {
			count(ticket)
		}
	}
	lined, inUse := map[Resource][]*request{}, map[Resource]int{}
	for id, r := range m.s.resources {
		if r.inUse != open[r] {
			broken("%s: %d in use, %d tickets", id, r.inUse, open[r])
		}
		if limit := r.limit.Slots(); limit > 0 && r.inUse > max(limit, m.inUse[id]) {
			broken("%s: %d in use, %d allowed", id, r.inUse, limit)
		}
		if head := r.head(now); m.s.open && head != nil {
			broken("%s is free, and %s waits", id, head.waiter.key)
		}
		if r.shared != nil {
			checkParts(id, r, r.shared, now)
		}
		if m.s.open && len(r.line) > 0 && r.standing(now, Owner{}) == busy && r.availability.Remaining(now) == 0 && !r.full() && !r.budget.Asked &&
			needsFurther(r, now) {
			broken("%s: nobody reserves the tokens that %s waits for", id, r.line[0].request.waiter.key)
		}
		if at := r.changes(now); r.waiters() > 0 && !at.IsZero() && (r.timer == nil || !r.due.Equal(at)) {
			broken("%s: nobody looks again at %s", id, at)
		}
		if r.waiters() == 0 && r.explicit && len(r.pauses) == 0 && r.timer != nil {
			broken("%s: a timer for nobody", id)
		}
		if r.forgettable(now) {
			broken("%s is kept for nothing", id)
		}
		for i, at := range r.places() {
			if r.shared == nil && at.index != i || at.resource != r || !slices.Contains(at.request.places, at) {
				broken("%s: the line is broken", id)
			}
			if !slices.Contains(at.request.waiter.requests, at.request) {
				broken("%s: %s waits though it does not ask", id, at.request.waiter.key)
			}
			lined[id] = append(lined[id], at.request)
		}
		inUse[id] = r.inUse
	}
	for r, n := range open {
		if m.s.resources[r.id] != r {
			broken("%s was forgotten with %d tickets", r.id, n)
		}
		if probes[r] > 1 {
			broken("%s: %d probes", r.id, probes[r])
		}
	}
	m.checkOrder(fresh, lined)
	m.lined, m.inUse, m.reserved = lined, inUse, reserved
}

// checkParts reports for the parts of what is shared that they agree, and that nobody is kept for nothing. It returns
// how many wait and how many slots are taken.
func checkParts(id Resource, r *resource, p *part, now time.Time) (waiting, inUse int) {
	if p.above != nil && p.waiting == 0 && p.inUse == 0 && p.availability.Remaining(now) == 0 {
		broken("%s: %s is known for nothing", id, p.name)
	}
	for i, at := range p.line {
		if at.index != i || at.part != p || !slices.Contains(at.request.places, at) || !slices.Contains(at.request.waiter.requests, at.request) {
			broken("%s: the line of %s is broken", id, p.name)
		}
	}
	waiting, inUse = len(p.line), p.inUse
	for i, below := range slices.Collect(maps.Values(p.parts)) {
		if i == 0 {
			inUse = 0
		}
		w, n := checkParts(id, r, below, now)
		waiting, inUse = waiting+w, inUse+n
	}
	if waiting != p.waiting || inUse != p.inUse || p.above == nil && p.inUse != r.inUse {
		broken("%s: %s counts %d and %d, but there are %d and %d", id, p.name, p.waiting, p.inUse, waiting, inUse)
	}
	return waiting, inUse
}

// needsFurther reports whether a call could begin if more tokens were reserved.
func needsFurther(r *resource, now time.Time) bool {
	_, needed := r.budget.Further(now)
	return needed
}

// checkOrder reports that nobody was granted a resource over the head of a better one, who stood in
// its line before and stands there still.
func (m *machine) checkOrder(fresh []*Ticket, lined map[Resource][]*request) {
	for _, ticket := range fresh {
		id := ticket.resource.id
		if ticket.resource.shared != nil {
			continue // what turns must come to is tested by itself
		}
		// What it was granted for waited for it and waits no more; where that is true of several
		// requests of the key, it may have been the best.
		var granted *request
		for line, requests := range m.lined {
			for _, q := range requests {
				asked := slices.ContainsFunc(q.chains, func(chain []Resource) bool { return slices.Contains(chain, id) })
				if asked && !slices.Contains(lined[line], q) && slices.Contains(q.waiter.reserved, ticket) &&
					(granted == nil || q.compare(granted) < 0) {
					granted = q
				}
			}
		}
		if granted == nil {
			continue // it had only just asked
		}
		for _, q := range m.lined[id] {
			if slices.Contains(lined[id], q) && q.compare(granted) < 0 {
				broken("%s: %s was granted before %s", id, granted.waiter.key, q.waiter.key)
			}
		}
	}
}

// finish lets everybody have what they wait for, then leave; nothing may be left.
func (m *machine) finish() {
	for _, id := range machineResources {
		m.s.SetAvailability(id, Availability{})
		m.check(nil)
		m.s.Configure(id, Limit{PerMinute: 60, Concurrent: 1})
		m.check(nil)
	}
	m.s.Open()
	m.check(nil)
	for _, key := range machineKeys {
		if m.turns[key] != nil {
			m.leave(key)
			m.check(nil)
		}
	}
	for range 100 {
		m.check(nil)
		time.Sleep(2 * time.Minute) // longer than any interval
		m.lined = nil
		for _, key := range machineKeys {
			if m.isWoken(key) {
				m.enter(key)
				m.leave(key)
				m.check(nil)
			}
		}
	}
	for _, id := range machineResources {
		m.s.Remove(id)
	}
	m.check(nil)
	m.s.mu.Lock()
	defer m.s.mu.Unlock()
	if len(m.s.waiters)+len(m.s.resources) > 0 {
		broken("%d still wait, %d resources are kept", len(m.s.waiters), len(m.s.resources))
	}
}

// R2.3, R3.9, R3.13: slots are never exceeded, no wake is lost, nothing reserved is leaked, and
// the order is kept, whatever happens in whatever order.
func TestScheduleHoldsItsPromises(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		// A panic, by which rapid works, must not leave the goroutine of the bubble.
		var recovered any
		synctest.Test(t, func(*testing.T) {
			defer func() { recovered = recover() }()
			m := newMachine()
			rt.Repeat(m.actions())
			m.finish()
		})
		switch problem := recovered.(type) {
		case nil:
		case brokenPromise:
			rt.Fatal(problem) // another line than below, by which rapid tells problems apart
		default:
			panic(problem)
		}
	})
}

// brokenPromise is what check has found.
type brokenPromise string

func broken(format string, args ...any) { panic(brokenPromise(fmt.Sprintf(format, args...))) }

// Many goroutines at once, for the race detector: slots are not exceeded, and it comes to an end.
func TestScheduleIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		keys, ranks := items(200)
		w := newWorld(keys)
		w.Configure(gemini, Limit{PerMinute: 6000, Concurrent: 3})
		w.Configure(extractive, Limit{Concurrent: 2})
		stop := make(chan struct{})
		for i := range 4 {
			go func() {
				for {
					select {
					case <-stop:
						return
					case <-time.After(time.Millisecond):
						w.Wait(gemini, host)
						w.Snapshot()
						w.Availability(gemini)
						w.Configure(openAI, Limit{Concurrent: 1 + i})
						w.SetAvailability(openAI, Availability{State: StateCircuitOpen, Until: time.Now()})
						w.Enter(fmt.Sprint("item/", i)).Leave()
					}
				}
			}()
		}
		var mu sync.Mutex
		inUse := map[Resource]int{}
		use := func(id Resource, n int) {
			mu.Lock()
			defer mu.Unlock()
			if inUse[id] += n; inUse[id] > 3 {
				t.Errorf("%s: %d at once", id, inUse[id])
			}
		}
		w.run(64, func(key string, turn *Turn) {
			hosts := []Resource{{KindHost, fmt.Sprint(len(key), key[len(key)-1:])}}
			tickets, ok := turn.AcquireAll(ranks[key], []Resource{gemini, openAI, extractive}, hosts)
			if !ok {
				return
			}
			for _, ticket := range tickets {
				use(ticket.Resource(), 1)
			}
			time.Sleep(time.Duration(rand.IntN(5)) * time.Millisecond)
			for _, ticket := range tickets {
				use(ticket.Resource(), -1)
				ticket.Succeeded()
			}
			w.begin(key)
			w.finish(key)
		})
		close(stop)
	})
}
