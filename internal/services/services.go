// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package services is what the operator knows of AIProviders and FeedDestinations while it runs: what calls them, why they may not be called,
// and what their calls have come to.
//
// Their reconcilers tell it what the objects say, and whoever calls a service tells it how that has ended. It is shared by all: what one namespace
// does to its services must never be seen by another. It reads and writes no object.
package services

import (
	"cmp"
	"crypto/rand"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/conditions"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/quota"
	"github.com/feed-operator/feed-operator/internal/schedule"
)

// RestoreTokens takes over what the status holds of the tokens of its day. What cannot be read is
// taken to be of today: it may have been.
func (s *Services) RestoreTokens(id schedule.Resource, held *v1alpha1.TokensToday) {
	if held == nil {
		return
	}
	began, err := time.Parse(time.DateOnly, held.Day)
	if err != nil {
		began = s.clock.Now().UTC().Truncate(24 * time.Hour)
	}
	s.Schedule.RestoreTokens(id, quota.Tokens{Day: began, Used: held.Used, Reserved: held.Reserved})
}

// KeepPace has a service that was called before a restart called again with its distance from now:
// when it was called last is not written down, which would cost a write for each call.
func (s *Services) KeepPace(id schedule.Resource) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.find(id).notBefore = s.clock.Now()
}

// Clear opens what calls have closed for a while, and has asked again what was refused.
func (s *Services) Clear(id schedule.Resource, token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.find(id)
	if found.pausesClearedFor == token { // the object in the cache may be older than what was written on it
		return
	}
	found.pausesClearedFor, found.savedAvailability = token, schedule.Availability{}
	if why := found.unavailable; why != nil && (why.Refused != nil || why.Gone || !why.Until.IsZero()) {
		found.revision = "" // so that it is not taken for the one that was refused
	}
	if s.Schedule.Availability(id).State != schedule.StateDown {
		s.Schedule.SetAvailability(id, schedule.Availability{State: schedule.StateReady})
	}
}

// RecheckInterval is how often a service is asked again that cannot work with its spec.
const RecheckInterval = 10 * time.Minute

// Clause is a message as a part of a longer one.
func Clause(message string) string { return strings.TrimRight(message, ". ") }

// LongPause is how long a pause has to be for a service to be called not ready for it. Shorter
// ones come and go all day long.
const LongPause = time.Minute

// Services is what the operator knows of the providers and destinations while it runs: what calls
// them, why they may not be called, and what their calls have come to since their status was last
// written. Their controllers open and close them here; the controller of items calls them.
type Services struct {
	clock    clock.PassiveClock
	Schedule *schedule.Schedule
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
	caller   any       // what calls it, nil while it must not be called
	revision string    // of the spec and the Secret that the caller was made from
	uid      types.UID // of the object, empty until Restore
	// samePeer holds the last revisions that called the peer: a call may end after its own was replaced, and what the peer
	// has asked for in it, such as a pause, is asked of the next one too.
	samePeer    []string
	unavailable *Unavailability
	// withheld is set while the object asks for another caller than the one that was last made for it.
	withheld bool
	// savedAvailability is the availability from before it was withdrawn, and peer whom that speaks of.
	savedAvailability schedule.Availability
	peer              string
	writing, tally    Tally // what is being written, and what has come since
	// paced is set if the time of each call is written down at once: the next one keeps its distance
	// from it, also after a restart.
	paced            bool
	notBefore        time.Time // calls that nobody has noted may have been made until then
	flushQueued      bool      // the controller has been called for the tally
	pausesClearedFor string    // the token for which its pauses were cleared last
	checkedPeer      string    // the peer that was checked last,
	checkedAt        time.Time // and when; what is read of the status may be older
}

// Unavailability is why a service must not be called until somebody changes something.
type Unavailability struct {
	// Because is for a person, in words that follow a colon. While they stay the same, nobody who
	// waits is woken again.
	Because string
	// Refused is set when the credentials of revision were refused.
	Refused *failure.Error
	// Until is when a service that turned out to be misconfigured in a call is asked again.
	Until time.Time
	// Gone is set if it said in a call that it has ended for good.
	Gone bool
}

// New makes a Services that knows none. Changed is called when the status of a service is to be written: soon, or with others.
func New(clock clock.PassiveClock, plan *schedule.Schedule, changed func(schedule.Resource, bool)) *Services {
	plan.WatchTokens(func(id schedule.Resource) { changed(id, true) })
	return &Services{clock: clock, Schedule: plan, changed: changed, known: map[schedule.Resource]*service{}}
}

// MarkReady opens a service, which was called last at a time: who waits for it may call it. Where another
// peer is called, or with other credentials than before, what those calls had come to does not count. Where it was not open by this revision until now,
// those are woken who could not use it as it was: it may be able to do what it could not do when they looked at it last.
//
// Here, in Withhold and in close the schedule changes under the lock, so that they always agree.
func (s *Services) MarkReady(id schedule.Resource, caller any, revision, peer string, limit schedule.Limit, last time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.find(id)
	opened := found.caller == nil || found.revision != revision
	known := found.caller != nil || found.unavailable != nil
	replaced := found.peer != "" && found.peer != peer
	if replaced {
		found.savedAvailability, found.samePeer = schedule.Availability{}, nil
	}
	if !slices.Contains(found.samePeer, revision) {
		const enough = 8 // a call lasts a minute, and somebody edits by hand
		found.samePeer = append(found.samePeer[max(0, len(found.samePeer)-enough+1):], revision)
	}
	if replaced || found.unavailable != nil || s.Schedule.Availability(id).State == schedule.StateDown {
		s.Schedule.SetAvailability(id, found.savedAvailability)
	}
	found.caller, found.revision, found.peer, found.unavailable, found.withheld = caller, revision, peer, nil, false
	found.paced = limit.Every > 0
	if last.Before(found.notBefore) {
		last = found.notBefore
	}
	s.Schedule.Resume(id, limit, last)
	if !known && s.Schedule.Availability(id).Remaining(s.clock.Now()) > 0 {
		s.Schedule.WakeAll(id) // as long as nobody knew of it, it was waited for alone
	}
	if opened {
		s.Schedule.WakeAll(schedule.ChangeOf(id))
	}
}

// Withhold has nobody call a service until MarkReady, as if nothing were known of it yet: its object asks for something else than
// what calls it does. Who waits for it goes on waiting, and is told nothing: it is for the moment that it takes to ask.
func (s *Services) Withhold(id schedule.Resource) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.find(id)
	if found.caller == nil {
		return
	}
	found.caller, found.withheld = nil, true
	s.Schedule.Withhold(id)
}

// Meet has forgotten what is known of a service where that is of another object, which had its name before: how it stands, and what
// is still to be counted of its calls. A service that was made by a late call of such a one, and of no object yet, goes too.
func (s *Services) Meet(id schedule.Resource, object metav1.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if found, seen := s.known[id]; seen && found.uid != object.GetUID() {
		s.forget(id)
	}
}

// NoteCheck notes that the peer of a service was checked.
func (s *Services) NoteCheck(id schedule.Resource, peer string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.find(id)
	found.checkedPeer, found.checkedAt = peer, s.clock.Now()
}

// LastCheck is when this process last checked a peer; zero for never.
func (s *Services) LastCheck(id schedule.Resource, peer string) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if found := s.find(id); found.checkedPeer == peer {
		return found.checkedAt
	}
	return time.Time{}
}

// MarkUnavailable closes a service until MarkReady.
func (s *Services) MarkUnavailable(id schedule.Resource, revision string, why Unavailability) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.close(id, revision, why)
}

// markUsedUnavailable closes a service that was called with a revision, unless that was replaced since.
func (s *Services) markUsedUnavailable(id schedule.Resource, revision string, why Unavailability) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.find(id).inUse() != revision {
		return false
	}
	s.close(id, revision, why)
	return true
}

func (s *Services) close(id schedule.Resource, revision string, why Unavailability) {
	const longest = 300
	why.Because = conditions.Cut(why.Because, longest)
	found := s.find(id)
	if availability := s.Schedule.Availability(id); availability.State != schedule.StateDown {
		found.savedAvailability = availability
	}
	news := found.unavailable == nil || found.unavailable.Because != why.Because
	found.caller, found.revision, found.unavailable, found.withheld = nil, revision, &why, false
	s.Schedule.SetAvailability(id, schedule.Availability{State: schedule.StateDown})
	if news { // who waits fails now, or says what it waits for
		s.wakeAll(id)
	}
}

// Restore sets what was known of the service of an object, and of which peer, before a restart.
func (s *Services) Restore(id schedule.Resource, object types.UID, peer string, availability schedule.Availability) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.find(id)
	found.uid, found.savedAvailability, found.peer = object, availability, peer
	s.Schedule.SetAvailability(id, availability)
}

// Forget removes a service whose object is gone.
func (s *Services) Forget(id schedule.Resource) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget(id)
}

func (s *Services) forget(id schedule.Resource) {
	_, was := s.known[id]
	delete(s.known, id)
	s.Schedule.Remove(id)
	if was {
		s.wakeAll(id)
	}
}

// wakeAll wakes those who wait for a service, and those who could not use it as it was.
func (s *Services) wakeAll(id schedule.Resource) {
	s.Schedule.WakeAll(id)
	s.Schedule.WakeAll(schedule.ChangeOf(id))
}

// Availability is what is to be remembered of a service: how it stands, or stood before it was
// closed for something that its calls have nothing to do with. While too few tokens of the day are left for a
// call, that counts, unless what the calls have come to lasts longer. A circuit that is open stays
// in sight, so that a restart does not forget it.
func (s *Services) Availability(id schedule.Resource) schedule.Availability {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.find(id)
	if found.unavailable != nil && found.unavailable.Refused == nil && found.savedAvailability.Remaining(s.clock.Now()) > 0 {
		return found.savedAvailability
	}
	known := s.Schedule.Availability(id)
	until, spent := s.Schedule.TokensSpent(id)
	if !spent || known.State == schedule.StateCircuitOpen || known.State == schedule.StateDown || known.Until.After(until) {
		return known
	}
	return schedule.Availability{State: schedule.StateQuotaSpent, Until: until}
}

// find returns a service, under the lock.
func (s *Services) find(id schedule.Resource) *service {
	found := s.known[id]
	if found == nil {
		found = &service{tally: newTally()}
		s.known[id] = found
	}
	return found
}

// Lookup returns how a service stands: what calls it, from which Revision that was made, and why
// it is closed if it is. Seen is false when its controller has not looked at it since the start.
func (s *Services) Lookup(id schedule.Resource) (caller any, revision string, why *Unavailability, seen bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found, seen := s.known[id]
	if !seen {
		return nil, "", nil, false
	}
	why = found.unavailable
	if _, spent := s.Schedule.TokensSpent(id); spent && why == nil {
		why = &Unavailability{Because: spentForToday}
	}
	return found.caller, found.inUse(), why, true
}

// inUse is the revision that a service is called by, or closed for; empty where it is neither.
func (s *service) inUse() string {
	if s.withheld {
		return ""
	}
	return s.revision
}

// CallEnded ends a call with its ticket, and counts it. Again means that the failure is none of the
// item's: the call was made with credentials that have been replaced since, or the service as it is
// configured cannot be called at all; the item is to ask again.
func (s *Services) CallEnded(ticket *schedule.Ticket, revision string, stage v1alpha1.Stage, tokens int64, err error) (again bool) {
	id := ticket.Resource()
	if id == schedule.Builtin {
		ticket.Done()
		return false
	}
	ticket.Used(tokens)
	before := s.Schedule.Availability(id)
	var failed *failure.Error
	switch {
	case err == nil && !s.calledPeer(id, revision): // it says nothing of the one that is called now
		ticket.Done()
		s.count(id, nil, stage, tokens, false)
		return false
	case err == nil:
		after := ticket.Succeeded()
		s.count(id, nil, stage, tokens, after.State != before.State)
		return false
	case !errors.As(err, &failed): // it was cut off
		ticket.Done()
		return false
	}
	var why *Unavailability
	switch {
	case failed.Category == v1alpha1.CategoryAuth:
		why = &Unavailability{Because: Clause(failed.Error()), Refused: failed}
	case failed.Type == failure.TypeGone:
		why = &Unavailability{Because: Clause(failed.Error()), Gone: true}
	case failed.Type == failure.TypeModelNotFound: // no request at all can succeed until somebody changes the spec
		why = &Unavailability{Because: Clause(failed.Error()), Until: s.clock.Now().Add(RecheckInterval)}
	}
	if why == nil && s.isOfPeer(id, revision, failed) {
		after := ticket.Failed(failed)
		lengthened := after.Until.After(before.Until) && after.Remaining(s.clock.Now()) >= LongPause
		s.count(id, failed, stage, tokens, after.State != before.State || lengthened)
		return false
	}
	// Nobody may call with what is refused, nor is anything said about what is not in use any more.
	ticket.Done()
	inUse := why != nil && s.markUsedUnavailable(id, revision, *why)
	s.count(id, failed, stage, tokens, inUse)
	return why != nil && (!inUse || why.Refused == nil)
}

// calledPeer reports whether a call by a revision was to the peer that is called now.
func (s *Services) calledPeer(id schedule.Resource, revision string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.find(id).samePeer, revision)
}

// isOfPeer reports whether a call by a revision was to the peer that is called now, so that its failure speaks of that. While
// nobody may call for another reason, the failure is noted with what is remembered for afterwards.
func (s *Services) isOfPeer(id schedule.Resource, revision string, failed *failure.Error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.find(id)
	if !slices.Contains(found.samePeer, revision) {
		return false
	}
	if found.unavailable != nil {
		found.savedAvailability = found.savedAvailability.Failed(s.clock.Now(), failed)
	}
	return true
}

// count adds a call to the tally, and has it written.
func (s *Services) count(id schedule.Resource, failed *failure.Error, stage v1alpha1.Stage, tokens int64, soon bool) {
	now := s.clock.Now()
	s.mu.Lock()
	found := s.find(id)
	t := &found.tally
	t.Calls++
	t.Tokens = Sum(t.Tokens, tokens)
	if failed == nil {
		t.LastSuccess = now
	} else {
		t.failures[failed.Category]++
		t.lastFailure = failure.Record(failed, stage, "", now)
	}
	write := s.toWrite(id, found, soon)
	s.mu.Unlock()
	write()
}

// Posted counts a post of an item that stands now, and has that written. Duplicate means that the receiver had it already.
func (s *Services) Posted(id schedule.Resource, duplicate bool) {
	s.mu.Lock()
	found := s.find(id)
	found.tally.Posts++
	if duplicate {
		found.tally.Duplicates++
	}
	found.tally.LastPost = s.clock.Now()
	write := s.toWrite(id, found, found.paced)
	s.mu.Unlock()
	write()
}

// CountEvents counts what has become of events of items, and has that written with the other counters.
func (s *Services) CountEvents(id schedule.Resource, sent, dropped int64) {
	s.mu.Lock()
	found := s.find(id)
	found.tally.EventsSent += sent
	found.tally.EventsDropped += dropped
	write := s.toWrite(id, found, false)
	s.mu.Unlock()
	write()
}

// toWrite notes, under the lock, that a tally is to be written, and returns what sees to that.
func (s *Services) toWrite(id schedule.Resource, found *service, soon bool) func() {
	wake, last := soon || !found.flushQueued, s.last
	found.flushQueued = true
	return func() {
		switch {
		case last != nil:
			last(id)
		case wake:
			s.changed(id, soon)
		}
	}
}

// Stop has every tally written at once from now on, and returns the services that have one.
func (s *Services) Stop(last func(schedule.Resource)) []schedule.Resource {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = last
	var ids []schedule.Resource
	for id, found := range s.known {
		if !found.tally.empty() || !found.writing.empty() {
			ids = append(ids, id)
		}
	}
	return ids
}

// TallyToWrite returns what is to be added to the status of a service. It stays the same until TallyWritten: nobody may know whether a write
// that has failed was taken.
func (s *Services) TallyToWrite(id schedule.Resource) Tally {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.find(id)
	if found.writing.empty() && !found.tally.empty() {
		found.writing, found.tally = found.tally, newTally()
		found.writing.token = rand.Text()
	}
	found.flushQueued = false
	taken := found.writing
	taken.open = func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return found.writing.token == taken.token
	}
	taken.Today = s.Schedule.Tokens(id, s.last == nil)
	return taken
}

// TallyWritten notes that a tally has been added to the status, and has what has come since written too.
func (s *Services) TallyWritten(id schedule.Resource, written Tally) {
	s.mu.Lock()
	found, write := s.find(id), func() {}
	if found.writing.token == written.token {
		found.writing = Tally{}
	}
	if !found.tally.empty() && !found.flushQueued {
		write = s.toWrite(id, found, found.paced)
	}
	s.mu.Unlock()
	write()
}

// LastFailure returns how a call last failed: since the status was written, or by the status.
func (s *Services) LastFailure(id schedule.Resource, status *v1alpha1.ServiceStatus) *v1alpha1.Failure {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.find(id)
	return cmp.Or(found.tally.lastFailure, found.writing.lastFailure, status.LastFailure)
}

const MissingObject = "it does not exist in this namespace"

// PauseReason returns why a service is not called for long, empty when it is not. Until when is on its
// own status: an item is not written again because that moves.
func (s *Services) PauseReason(id schedule.Resource) string {
	availability := s.Schedule.Availability(id)
	if availability.Remaining(s.clock.Now()) < LongPause {
		return ""
	}
	switch availability.State {
	case schedule.StateQuotaSpent:
		return "its quota is spent"
	case schedule.StateCircuitOpen:
		return "its circuit is open after too many failures in a row"
	case schedule.StateCoolingDown:
		return "it is rate limited"
	case schedule.StateReady, schedule.StateDown:
	}
	return ""
}
