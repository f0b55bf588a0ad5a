// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"time"

	"github.com/feed-operator/feed-operator/internal/quota"
)

// WatchTokens has changed called, without a lock, when the tokens of a resource are to be written
// down: a further block must be reserved before the next call may begin, the tokens of the day are
// used up, or the next day has begun. Call it before the resources are configured; changed must not
// block.
func (s *Schedule) WatchTokens(changed func(id Resource)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tokens = changed
}

// RestoreTokens sets what was written down of the tokens of a resource before a restart. All that
// was reserved counts as used: a crash may have lost the count, and must not spend it twice. It may
// come before Configure.
func (s *Schedule) RestoreTokens(id Resource, held quota.Tokens) {
	s.locked(func(time.Time) {
		r := s.keep(s.find(id))
		r.budget.Restore(held)
		s.touch(r)
	})
}

// Tokens returns what is to be written down of the tokens of a resource. With ahead, a further block
// is reserved in it where the next call needs one; once it is written down, report it with
// TokensWritten, and calls may begin.
func (s *Schedule) Tokens(id Resource, ahead bool) quota.Tokens {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.find(id)
	return r.budget.ToWrite(s.clock.Now(), ahead)
}

// TokensWritten reports what has been written down of the tokens of a resource.
func (s *Schedule) TokensWritten(id Resource, held quota.Tokens) {
	s.locked(func(now time.Time) {
		r := s.find(id)
		r.budget.Reserve(now, held)
		if s.resources[id] == r {
			s.touch(r)
		}
	})
}

// TokensSpent reports whether too few tokens are left of the day for another call to a resource, and
// until when.
func (s *Schedule) TokensSpent(id Resource) (until time.Time, spent bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.find(id)
	if !r.budget.Spent(s.clock.Now()) {
		return time.Time{}, false
	}
	return r.budget.Ends(), true
}

// Used notes how many tokens the call has cost, also when it has failed. Report it before the call
// is ended. A call that succeeds without a count is thought to have cost as much as others.
func (t *Ticket) Used(tokens int64) {
	t.schedule.locked(func(now time.Time) {
		if !t.closed {
			t.counted = t.counted || tokens > 0
			t.resource.budget.Use(now, tokens)
		}
	})
}

// advanceWaiters lets those who wait for a resource whose tokens of the day are used up go on to the next of
// their chain, and has told what has changed about that.
func (s *Schedule) advanceWaiters(now time.Time) {
	for i := 0; i < len(s.touched); i++ { // whom it passes on may touch more
		r := s.touched[i]
		spent := r.budget.Spent(now)
		if spent == r.budget.Ended {
			continue
		}
		r.budget.Ended = spent
		s.written = append(s.written, r.id)
		if spent {
			s.reconsider(r.requests(), now)
		}
	}
}

// askForTokens has a further block reserved where nothing else keeps a call from beginning.
func (s *Schedule) askForTokens(r *resource, now time.Time) {
	if r.budget.Asked || !r.known || r.availability.State == StateDown || r.availability.Remaining(now) > 0 || r.probing() || r.full() {
		return
	}
	if _, needed := r.budget.Further(now); needed {
		r.budget.Asked = true
		s.written = append(s.written, r.id)
	}
}
