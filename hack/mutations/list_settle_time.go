// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

var settleTimeMutations = []mutation{
	{
		breaks: "an intent ends before its call may",
		file:   "internal/lifecycle/delivery.go",
		old:    "row.NotAfter = roundUp(now.Add(timeout))",
		now:    "row.NotAfter = roundUp(now.Add(0 * timeout))",
		tests:  []string{"TestAnIntentIsNotTouchedBeforeItsSettleTime"},
	},
	{
		breaks: "an intent is looked at as soon as its call has ended",
		file:   "internal/lifecycle/delivery.go",
		old:    "&metav1.Time{Time: row.NotAfter.Add(SettleTime)}",
		now:    "&metav1.Time{Time: row.NotAfter.Add(0)}",
		tests:  []string{"TestAnIntentIsNotTouchedBeforeItsSettleTime"},
	},
	{
		breaks: "posts have a second to settle",
		file:   "internal/lifecycle/uncertain.go",
		old:    "const SettleTime = 30 * time.Second",
		now:    "const SettleTime = time.Second",
		tests:  []string{"TestWhatMayHaveBeenPostedHasHalfAMinuteToSettle"},
	},
	{
		breaks: "an uncertain post is looked for at once",
		file:   "internal/lifecycle/delivery.go",
		old:    "row.NextRetryTime = &metav1.Time{Time: settledAt(row, now)}",
		now:    "row.NextRetryTime = &metav1.Time{Time: now}",
		tests:  []string{"TestWhatMayHaveBeenPostedHasHalfAMinuteToSettle"},
	},
	{
		breaks: "an uncertain post that a person retries is looked for before it has settled",
		file:   "internal/lifecycle/uncertain.go",
		old:    "return row.NotAfter.Add(SettleTime)",
		now:    "return row.NotAfter.Time",
		tests:  []string{"TestWhatMayHaveBeenPostedHasHalfAMinuteToSettle"},
	},
	{
		breaks: "an uncertain post is looked for before the pause that was asked for",
		file:   "internal/lifecycle/delivery.go",
		old:    "row.NextRetryTime.Before(asked) {",
		now:    "row.NextRetryTime.Before(asked) && false {",
		tests:  []string{"TestRetryAfterOfAnUncertainCall"},
	},
	{
		breaks: "a post that its key protects is repeated at once",
		file:   "internal/lifecycle/delivery.go",
		old:    "row.NextRetryTime = repeatAt(row, item, policy)",
		now:    "row.NextRetryTime = nil",
		tests:  []string{"TestAProtectedDeliveryWaitsForItsRetry"},
	},
	{
		breaks: "a delivery waits for a time that no rule can have set",
		file:   "internal/lifecycle/delivery.go",
		old:    "if next == nil || !believable.Coming(next.Time, now, backoff.MaxHint) {",
		now:    "if next == nil {",
		tests:  []string{"TestADeliveryIsNotParkedByANonsensicalTime"},
	},
	{
		breaks: "an end of an intent is waited for that no rule can have set",
		file:   "internal/lifecycle/uncertain.go",
		old:    "if row.NotAfter == nil || !believable.Coming(row.NotAfter.Time, now, backoff.MaxHint) {",
		now:    "if row.NotAfter == nil {",
		tests:  []string{"TestAReleaseDoesNotWaitForNextYear"},
	},
	{
		breaks: "the call of another, whose end is written by another clock, is not waited for",
		file:   "internal/delivery/engine.go",
		old:    "p.Timeout, e.Clock); wait > 0 {",
		now:    "p.Timeout, e.Clock); wait > time.Hour {",
		tests:  []string{"TestAnIntentOfAnotherClockIsNotTouchedEarly"},
	},
	{
		breaks: "the call of another is waited for, and not until it has settled",
		file:   "internal/intents/observed.go",
		old:    ".at + timeout + lifecycle.SettleTime - ClockTolerance",
		now:    ".at + timeout - ClockTolerance",
		in:     "internal/delivery",
		tests:  []string{"TestAnIntentOfAnotherClockIsNotTouchedEarly"},
	},
	{
		breaks: "a post is looked for since the very time of its first attempt",
		file:   "internal/delivery/lookup.go",
		old:    ".Add(-lookBack), Post",
		now:    ".Add(-lookBack+lookBack), Post",
		tests:  []string{"TestSinceWhenAPostIsLookedFor"},
	},
	{
		breaks: "an entry that an item may have posted which is gone is in doubt before it has settled",
		file:   "internal/delivery/already.go",
		old:    "!holder.Settled.After(e.Clock.Now())",
		now:    "true",
		tests:  []string{"TestWhatAnItemThatIsGoneMayHavePostedIsInDoubt"},
	},
	{
		breaks: "an entry is held until the end of a call, and not until that has settled",
		file:   "internal/delivery/already.go", tests: []string{"TestAnEntryIsHeldForOneItem"},
		old: "now.Add(p.Timeout + lifecycle.SettleTime)", now: "now.Add(p.Timeout)",
	},
	{
		breaks: "a look for a post has the time of one of its requests",
		file:   "internal/delivery/lookup.go", tests: []string{"TestALookMayTakeLongerThanOneOfItsRequests"},
		old: "max(lookFor, p.Timeout)", now: "p.Timeout",
	},
	{
		breaks: "a look for a post asks for sources without end",
		file:   "internal/destination/mastodon/find.go", tests: []string{"TestHowMuchALookAsksForIsBounded"},
		old: "allowed.left--; allowed", now: "allowed",
	},
}
