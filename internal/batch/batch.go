// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package batch is the life of a batch as arithmetic: (batch, outcome of a request, time) → batch. A batch is several items that a webhook is sent
// in one request; one that is refused is parted until the item is found that is refused, so that it does not hold up the others.
//
// It is pure. It knows no network, no API server and no clock: all of that is a parameter.
package batch

import (
	"crypto/sha256"
	"encoding/hex"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/backoff"
	"github.com/feed-operator/feed-operator/internal/believable"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
)

// longest is how long a part is tried, whatever the policy says (R3.4).
const longest = 7 * 24 * time.Hour

// New makes a batch of items that are about to be sent.
func New(members []v1alpha1.BatchMember) v1alpha1.Batch {
	made := v1alpha1.Batch{Members: members, Parts: []v1alpha1.BatchPart{{From: 0, To: int32(len(members))}}} //nolint:gosec // at most 100
	made.Key = KeyOf(Part(&made))
	return made
}

// KeyOf is the idempotency key of a request with some members: the SHA-256 over their sorted keys, joined by |, in hexadecimal (R4.3).
func KeyOf(members []v1alpha1.BatchMember) string {
	keys := make([]string, 0, len(members))
	for _, member := range members {
		keys = append(keys, member.Key)
	}
	slices.Sort(keys)
	sum := sha256.Sum256([]byte(strings.Join(keys, "|")))
	return hex.EncodeToString(sum[:])
}

// Open reports whether anything of a batch is still to be sent.
func Open(b *v1alpha1.Batch) bool { return len(b.Parts) > 0 }

// Part are the members that are sent next. A batch that somebody has edited so that it makes no sense has none.
func Part(b *v1alpha1.Batch) []v1alpha1.BatchMember {
	if len(b.Parts) == 0 {
		return nil
	}
	from, to := int(b.Parts[0].From), int(b.Parts[0].To)
	if from < 0 || to > len(b.Members) || from >= to {
		return nil
	}
	return b.Members[from:to]
}

// Due returns when the next part is to be sent: when its retry is due, unless that was requested since it failed; and where a request may have arrived,
// not before that is settled.
func Due(b *v1alpha1.Batch, requested, now time.Time) time.Time {
	var at time.Time
	if next := b.NextRetryTime; next != nil && believable.Coming(next.Time, now, backoff.MaxHint) {
		at = next.Time
	}
	if b.Failure != nil && requested.After(b.Failure.Time.Time) {
		at = time.Time{}
	}
	if b.InFlight && b.NotAfter != nil && believable.Coming(b.NotAfter.Time, now, backoff.MaxHint) {
		if settled := b.NotAfter.Add(lifecycle.SettleTime); settled.After(at) {
			at = settled
		}
	}
	return at
}

// Intend notes that a request with the next part is about to be made, which ends within timeout. Whoever wrote this down may make it.
func Intend(b *v1alpha1.Batch, timeout time.Duration, now time.Time) {
	if b.FirstAttemptTime == nil {
		b.FirstAttemptTime = &metav1.Time{Time: now.Truncate(time.Second)}
	}
	if b.InFlight {
		b.Repeated = more(b.Repeated, 1)
	}
	b.InFlight, b.NextRetryTime = true, nil
	b.NotAfter = roundUp(now.Add(timeout))
}

// Outcome is what a request has come to. Exactly one of Arrived, Failure, Unknown and Again is set.
type Outcome struct {
	// NotAfter of the intent that it belongs to.
	NotAfter *metav1.Time
	// Arrived means that the receiver has all of it; Duplicate, that it had it already.
	Arrived, Duplicate bool
	// Failure of the request. Uncertain means that it may have arrived nevertheless.
	Failure    *v1alpha1.Failure
	Uncertain  bool
	RetryAfter time.Duration
	// Unknown means that it may have arrived, and that it is left to a person.
	Unknown bool
	// Again means that nothing was done that counts.
	Again bool
	// Repeated is how many requests were made again within the intent though the one before may have arrived.
	Repeated int32
	// Served is when a retry was last asked for of the destination, or of a source of it, when it was announced; zero for never.
	Served time.Time
}

// Settle writes the outcome of a request that ended now into its batch, and reports whether it belongs there. One that is there already does not: a
// request that may have arrived stays in flight, but has its next time by then.
func Settle(b *v1alpha1.Batch, outcome Outcome, policy backoff.Policy, repeats bool, now time.Time) bool {
	if !b.InFlight || b.NextRetryTime != nil || !b.NotAfter.Equal(outcome.NotAfter) || len(Part(b)) == 0 {
		return false
	}
	doubtful := b.Repeated > 0 || outcome.Repeated > 0
	b.Repeated = more(b.Repeated, outcome.Repeated)
	switch {
	case outcome.Arrived && outcome.Duplicate && !doubtful && len(Part(b)) > 1:
		split(b) // nobody was sent this before: the receiver has some of it, and may have taken nothing of the rest
	case outcome.Arrived && outcome.Duplicate:
		end(b, v1alpha1.BatchMemberDuplicate, nil)
	case outcome.Arrived:
		end(b, v1alpha1.BatchMemberDone, nil)
	case outcome.Unknown:
		end(b, v1alpha1.BatchMemberUncertain, b.Failure)
	case outcome.Again:
		if b.InFlight = doubtful; doubtful {
			b.NextRetryTime = roundUp(now)
		}
	default:
		fail(b, outcome, policy, repeats, doubtful, now)
	}
	return true
}

// fail counts a failed request with the next part, or ends it.
func fail(b *v1alpha1.Batch, outcome Outcome, policy backoff.Policy, repeats, doubtful bool, now time.Time) {
	repeated := b.FailedAttempts > 0
	b.FailedAttempts = more(b.FailedAttempts, 1)
	b.Failure = outcome.Failure.DeepCopy()
	b.Failure.Time = lifecycle.FailedAfter(outcome.Served, b.Failure.Time.Time)
	if b.Failure.Category == v1alpha1.CategoryUnknown {
		b.Failure.Retryable = !repeated // R3.2
	}
	uncertain := outcome.Uncertain || doubtful
	exhausted := int(b.FailedAttempts) > policy.MaxRetries || b.FirstAttemptTime != nil && now.Sub(b.FirstAttemptTime.Time) >= longest
	switch {
	case outcome.Uncertain && !repeats, uncertain && (exhausted || !outcome.Uncertain && !b.Failure.Retryable):
		refused := b.Failure
		if end(b, v1alpha1.BatchMemberUncertain, refused); refused.Category == v1alpha1.CategoryAuth {
			endRest(b, v1alpha1.BatchMemberRejected, refused)
		}
	case b.Failure.Category == v1alpha1.CategoryAuth: // none of what is left can be sent
		endRest(b, v1alpha1.BatchMemberRejected, b.Failure)
	case splits(b.Failure) && len(Part(b)) > 1:
		split(b)
	case !outcome.Uncertain && !b.Failure.Retryable:
		end(b, v1alpha1.BatchMemberRejected, b.Failure)
	case exhausted:
		end(b, v1alpha1.BatchMemberGivenUp, b.Failure)
	default:
		b.InFlight = uncertain
		wait := max(policy.Delay(int(b.FailedAttempts)-1, b.Key), min(outcome.RetryAfter, backoff.MaxHint))
		b.NextRetryTime = roundUp(now.Add(wait))
	}
}

// splits reports for a refusal that it may be for the sake of one item among others.
func splits(failed *v1alpha1.Failure) bool {
	switch failed.HTTPStatus {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return true
	}
	return false
}

// split parts in two what was not taken as a whole.
func split(b *v1alpha1.Batch) {
	whole := b.Parts[0]
	middle := (whole.From + whole.To) / 2
	b.Parts = append([]v1alpha1.BatchPart{{From: whole.From, To: middle}, {From: middle, To: whole.To}}, b.Parts[1:]...)
	next(b)
}

// end notes what has become of the members of the next part, and goes on to the one after it.
func end(b *v1alpha1.Batch, state v1alpha1.BatchMemberState, failed *v1alpha1.Failure) {
	note(Part(b), state, failed, b.Repeated)
	b.Parts = b.Parts[1:]
	next(b)
}

// endRest notes what has become of all members that have no result yet.
func endRest(b *v1alpha1.Batch, state v1alpha1.BatchMemberState, failed *v1alpha1.Failure) {
	note(b.Members, state, failed, b.Repeated)
	b.Parts = nil
	next(b)
}

// note notes what has become of those of some members that have no result yet.
func note(members []v1alpha1.BatchMember, state v1alpha1.BatchMemberState, failed *v1alpha1.Failure, repeated int32) {
	for i := range members {
		if member := &members[i]; member.State == v1alpha1.BatchMemberOpen {
			member.State, member.Failure, member.Repeated = state, failed.DeepCopy(), repeated
		}
	}
}

// next begins another part, which has not been tried yet.
func next(b *v1alpha1.Batch) {
	b.InFlight, b.FailedAttempts, b.Repeated, b.NextRetryTime, b.Failure = false, 0, 0, nil, nil
}

// OutcomeOf is what a member has come to, as it is noted on its item; false: nothing yet.
func OutcomeOf(b *v1alpha1.Batch, member *v1alpha1.BatchMember, destination string) (lifecycle.DeliveryOutcome, bool) {
	outcome := lifecycle.DeliveryOutcome{Destination: destination, FirstAttempt: b.FirstAttemptTime, Batches: member.Batches, Repeated: member.Repeated}
	switch member.State {
	case v1alpha1.BatchMemberOpen:
		return outcome, false
	case v1alpha1.BatchMemberDone, v1alpha1.BatchMemberDuplicate:
		outcome.Posted, outcome.Duplicate = true, member.State == v1alpha1.BatchMemberDuplicate
	case v1alpha1.BatchMemberUncertain:
		outcome.Unverifiable = true
	case v1alpha1.BatchMemberRejected, v1alpha1.BatchMemberGivenUp:
		outcome.GivenUp = member.State == v1alpha1.BatchMemberGivenUp
		if outcome.Failure = member.Failure.DeepCopy(); outcome.Failure == nil { // somebody has edited it
			outcome.Failure = &v1alpha1.Failure{Category: v1alpha1.CategoryUnknown, Message: "The batch was given up", Stage: v1alpha1.StageDeliver, Object: destination}
		}
	}
	return outcome, true
}

// more adds to a counter, which stops where the type does.
func more(count, added int32) int32 { return count + min(added, math.MaxInt32-count) }

// roundUp returns the time at whole seconds, never earlier: the API keeps no fractions.
func roundUp(t time.Time) *metav1.Time {
	whole := t.Truncate(time.Second)
	if whole.Before(t) {
		whole = whole.Add(time.Second)
	}
	return &metav1.Time{Time: whole}
}

// Lose ends a batch of which nobody knows any more what was sent: items that may have arrived are left to a person, and the others are free for
// another batch. Where the parts make no sense, any of them may have been in the request.
func Lose(b *v1alpha1.Batch) {
	switch {
	case b.InFlight && len(Part(b)) > 0:
		end(b, v1alpha1.BatchMemberUncertain, b.Failure)
	case b.InFlight:
		endRest(b, v1alpha1.BatchMemberUncertain, b.Failure)
	}
	b.Parts = nil
	b.Members = slices.DeleteFunc(b.Members, func(member v1alpha1.BatchMember) bool { return member.State == v1alpha1.BatchMemberOpen })
}
