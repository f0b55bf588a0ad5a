// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package services

import (
	"fmt"
	"time"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/conditions"
	"github.com/feed-operator/feed-operator/internal/quota"
	"github.com/feed-operator/feed-operator/internal/schedule"
)

// spentForToday is for a person, in words that follow a colon.
const spentForToday = "its spec.tokensPerDay is used up until midnight UTC"

// OwnQuota reports for an availability that a status holds that it is spec.tokensPerDay that is spent: no
// refusal has led there. It is not restored: the tokens are, and the limit may have been raised.
func OwnQuota(held *v1alpha1.Availability) bool {
	return held.State == v1alpha1.AvailabilityState(schedule.StateQuotaSpent) && held.Failures <= 0
}

// TokensReadiness reports whether too few tokens of the day are left, if that is what keeps a service from being
// called longest.
func TokensReadiness(until time.Time, spent bool, availability schedule.Availability) (said conditions.Readiness, yes bool) {
	if !spent || availability.Until.After(until) {
		return conditions.Readiness{}, false
	}
	return conditions.Readiness{
		Retrying: true,
		Reason:   v1alpha1.ReasonTokensPerDaySpent,
		Message: fmt.Sprintf("spec.tokensPerDay is used up: too few tokens are left today for another call; paused until %s (midnight UTC), "+
			"or until it is raised", until.UTC().Format(time.RFC3339)),
	}, true
}

// TokensTodayOf is how a status holds the tokens of a day, beside what it holds already: a block
// that another operator has reserved today may have been used by that one.
func TokensTodayOf(known quota.Tokens, held *v1alpha1.TokensToday) *v1alpha1.TokensToday {
	today := &v1alpha1.TokensToday{Day: known.Day.Format(time.DateOnly), Used: known.Used, Reserved: known.Reserved}
	if held != nil && held.Day == today.Day {
		today.Reserved = max(today.Reserved, min(held.Reserved, most))
	}
	if held == nil && today.Reserved == 0 {
		return nil
	}
	return today
}
