// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"errors"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/conditions"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/schedule"
)

// services is what the operator knows of the providers and destinations while it runs: what calls
// them, why they may not be called, and what their calls have come to since their status was last
// written. Their controllers open and close them here; the controller of items calls them.
type services struct {
	clock    clock.PassiveClock
	schedule *schedule.Schedule
	// changed brings the object of a service back to its controller: soon, when something has
	// changed that people and a restart must know, or with the counters of half a minute.
	changed func(id schedule.Resource, soon bool)

	mu    sync.Mutex
	known map[schedule.Resource]*service
	// last writes the tally of a service, once nothing else does because the operator stops.
	last func(id schedule.Resource)
}

// service is one provider or destination.
type service struct {
	caller    any    // what calls it, nil while it must not be called
	revision  string // of the spec and the Secret that the caller was made from
	withdrawn *withdrawal
	// resting is the availability from before it was withdrawn, and peer whom that speaks of.
	resting schedule.Availability
	peer    string
	tally   tally
	// spaced says that the time of each call is written down at once: the next one keeps its distance
	// from it, also after a restart.
	spaced     bool
	notBefore  time.Time // calls that nobody has noted may have been made until then
	flushAhead bool      // the controller has been called for the tally
	retried    string    // the token for which its pauses were cleared last
	told       string    // the peer that has told about itself last,
	toldAt     time.Time // and when; what is read of the status may be older
}

// withdrawal says why a service must not be called until somebody changes something.
type withdrawal struct {
	// because is for a person, in words that follow a colon. While they stay the same, nobody who
	// waits is told again.
	because string
	// refused is set when the credentials of revision were refused.
	refused *failure.Error
	// until is when a service that turned out to be misconfigured in a call is asked again.
	until time.Time
}

func newServices(clock clock.PassiveClock, plan *schedule.Schedule, changed func(schedule.Resource, bool)) *services {
	plan.WatchTokens(func(id schedule.Resource) { changed(id, true) })
	return &services{clock: clock, schedule: plan, changed: changed, known: map[schedule.Resource]*service{}}
}

// offer opens a service, which was called last at a time: who waits for it may call it. Where another
// peer is called, or with other credentials than before, what those calls had come to does not count.
//
// Here and in withdraw the schedule changes under the lock, so that the two always agree.
func (s *services) offer(id schedule.Resource, caller any, revision, peer string, limit schedule.Limit, last time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.find(id)
	known := found.caller != nil || found.withdrawn != nil
	replaced := found.peer != "" && found.peer != peer
	if replaced {
		found.resting = schedule.Availability{}
	}
	if replaced || found.withdrawn != nil || s.schedule.Availability(id).State == schedule.StateDown {
		s.schedule.SetAvailability(id, found.resting)
	}
	found.caller, found.revision, found.peer, found.withdrawn = caller, revision, peer, nil
	found.spaced = limit.Every > 0
	if last.Before(found.notBefore) {
		last = found.notBefore
	}
	s.schedule.Resume(id, limit, last)
	if !known && s.schedule.Availability(id).Remaining(s.clock.Now()) > 0 {
		s.schedule.Rouse(id) // as long as nobody knew of it, it was waited for alone
	}
}

// hasTold notes that the peer of a service has told about itself.
func (s *services) hasTold(id schedule.Resource, peer string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.find(id)
	found.told, found.toldAt = peer, s.clock.Now()
}

// told is when this process was told by a peer about itself last; zero for never.
func (s *services) told(id schedule.Resource, peer string) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if found := s.find(id); found.told == peer {
		return found.toldAt
	}
	return time.Time{}
}

// withdraw closes a service until it is offered again.
func (s *services) withdraw(id schedule.Resource, revision string, why withdrawal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.close(id, revision, why)
}

// withdrawUsed closes a service that was called with a revision, unless that was replaced since.
func (s *services) withdrawUsed(id schedule.Resource, revision string, why withdrawal) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.find(id).revision != revision {
		return false
	}
	s.close(id, revision, why)
	return true
}

func (s *services) close(id schedule.Resource, revision string, why withdrawal) {
	const longest = 300
	why.because = conditions.Cut(why.because, longest)
	found := s.find(id)
	if availability := s.schedule.Availability(id); availability.State != schedule.StateDown {
		found.resting = availability
	}
	news := found.withdrawn == nil || found.withdrawn.because != why.because
	found.caller, found.revision, found.withdrawn = nil, revision, &why
	s.schedule.SetAvailability(id, schedule.Availability{State: schedule.StateDown})
	if news { // who waits fails now, or says what it waits for
		s.schedule.Rouse(id)
	}
}

// restore sets what was known of a service, and of which peer, before a restart.
func (s *services) restore(id schedule.Resource, peer string, availability schedule.Availability) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.find(id)
	found.resting, found.peer = availability, peer
	s.schedule.SetAvailability(id, availability)
}

// forget removes a service whose object is gone.
func (s *services) forget(id schedule.Resource) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, was := s.known[id]
	delete(s.known, id)
	s.schedule.Remove(id)
	if was {
		s.schedule.Rouse(id)
	}
}

// availability is what is to be remembered of a service: how it stands, or stood before it was
// closed for something that its calls have nothing to do with.
func (s *services) availability(id schedule.Resource) schedule.Availability {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.find(id)
	if found.withdrawn != nil && found.withdrawn.refused == nil && found.resting.Remaining(s.clock.Now()) > 0 {
		return found.resting
	}
	return s.spent(id, s.schedule.Availability(id))
}

// find returns a service, under the lock.
func (s *services) find(id schedule.Resource) *service {
	found := s.known[id]
	if found == nil {
		found = &service{tally: tally{failures: map[v1alpha1.Category]int64{}}}
		s.known[id] = found
	}
	return found
}

// standing returns how a service stands: what calls it, from which revision that was made, and why
// it is closed if it is. Seen is false when its controller has not looked at it since the start.
func (s *services) standing(id schedule.Resource) (caller any, revision string, why *withdrawal, seen bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found, seen := s.known[id]
	if !seen {
		return nil, "", nil, false
	}
	why = found.withdrawn
	if _, spent := s.schedule.TokensSpent(id); spent && why == nil {
		why = &withdrawal{because: spentForToday}
	}
	return found.caller, found.revision, why, true
}

// ended ends a call with its ticket, and counts it. Again says that the failure is none of the
// item's: the call was made with credentials that have been replaced since, or the service as it is
// configured cannot be called at all; the item is to ask again.
func (s *services) ended(ticket *schedule.Ticket, revision string, stage v1alpha1.Stage, tokens int64, err error) (again bool) {
	id := ticket.Resource()
	if id == schedule.Builtin {
		ticket.Done()
		return false
	}
	ticket.Used(tokens)
	before := s.schedule.Availability(id)
	var failed *failure.Error
	switch {
	case err == nil:
		after := ticket.Succeeded()
		s.count(id, nil, stage, tokens, after.State != before.State)
		return false
	case !errors.As(err, &failed): // it was cut off
		ticket.Done()
		return false
	}
	var why *withdrawal
	switch {
	case failed.Category == v1alpha1.CategoryAuth:
		why = &withdrawal{because: clause(failed.Error()), refused: failed}
	case misconfigured(failed):
		why = &withdrawal{because: clause(failed.Error()), until: s.clock.Now().Add(checkRefused)}
	}
	if _, current, _, _ := s.standing(id); why == nil && current == revision {
		after := ticket.Failed(failed)
		lengthened := after.Until.After(before.Until) && after.Remaining(s.clock.Now()) >= longPause
		s.count(id, failed, stage, tokens, after.State != before.State || lengthened)
		return false
	}
	// Nobody may call with what is refused, nor is anything said about what is not in use any more.
	ticket.Done()
	inUse := why != nil && s.withdrawUsed(id, revision, *why)
	s.count(id, failed, stage, tokens, inUse)
	return why != nil && (!inUse || why.refused == nil)
}

// misconfigured says that no request at all can succeed until somebody changes the spec.
func misconfigured(failed *failure.Error) bool { return failed.Type == failure.TypeModelNotFound }
