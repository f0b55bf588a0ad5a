// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"fmt"
	"time"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/conditions"
	"github.com/feed-operator/feed-operator/internal/schedule"
)

// spentForToday is for a person, in words that follow a colon.
const spentForToday = "its spec.tokensPerDay is used up until midnight UTC"

// restoreTokens takes over what the status holds of the tokens of its day. What cannot be read is
// taken to be of today: it may have been.
func (s *services) restoreTokens(id schedule.Resource, held *v1alpha1.TokensToday) {
	if held == nil {
		return
	}
	began, err := time.Parse(time.DateOnly, held.Day)
	if err != nil {
		began = s.clock.Now().UTC().Truncate(24 * time.Hour)
	}
	s.schedule.RestoreTokens(id, schedule.Tokens{Day: began, Used: held.Used, Reserved: held.Reserved})
}

// keepPace has a service that was called before a restart called again with its distance from now:
// when it was called last is not written down, which would cost a write for each call.
func (s *services) keepPace(id schedule.Resource) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.find(id).notBefore = s.clock.Now()
}

// spent returns an availability as people see it: while too few tokens of the day are left for a
// call, that counts, unless what the calls have come to lasts longer. A circuit that is open stays
// in sight, so that a restart does not forget it.
func (s *services) spent(id schedule.Resource, known schedule.Availability) schedule.Availability {
	until, spent := s.schedule.TokensSpent(id)
	if !spent || known.State == schedule.StateOpen || known.State == schedule.StateDown || known.Until.After(until) {
		return known
	}
	return schedule.Availability{State: schedule.StateQuotaSpent, Until: until}
}

// ownQuota says of an availability that a status holds that it is spec.tokensPerDay that is spent: no
// refusal has led there. It is not restored: the tokens are, and the limit may have been raised.
func ownQuota(held *v1alpha1.Availability) bool {
	return held.State == v1alpha1.AvailabilityState(schedule.StateQuotaSpent) && held.Failures <= 0
}

// sayTokens says that too few tokens of the day are left, if that is what keeps a service from being
// called longest.
func sayTokens(until time.Time, spent bool, availability schedule.Availability) (said conditions.Verdict, yes bool) {
	if !spent || availability.Until.After(until) {
		return conditions.Verdict{}, false
	}
	return conditions.Verdict{
		Retrying: true,
		Reason:   v1alpha1.ReasonTokensPerDaySpent,
		Message: fmt.Sprintf("spec.tokensPerDay is used up: too few tokens are left today for another call; not called until %s (midnight UTC), "+
			"or until it is raised", until.UTC().Format(time.RFC3339)),
	}, true
}

// tokensTodayOf is how a status holds the tokens of a day, beside what it holds already: a block
// that another operator has reserved today may have been used by that one.
func tokensTodayOf(known schedule.Tokens, held *v1alpha1.TokensToday) *v1alpha1.TokensToday {
	today := &v1alpha1.TokensToday{Day: known.Day.Format(time.DateOnly), Used: known.Used, Reserved: known.Reserved}
	if held != nil && held.Day == today.Day {
		today.Reserved = max(today.Reserved, min(held.Reserved, most))
	}
	if held == nil && today.Reserved == 0 {
		return nil
	}
	return today
}
