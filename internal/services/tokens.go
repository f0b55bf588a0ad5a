// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package services

import (
	"time"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
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
