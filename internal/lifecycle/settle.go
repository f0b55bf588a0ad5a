// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"math"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
)

// Outcome is what one attempt has come to. Exactly one of Summary, Skipped and Failure is set.
type Outcome struct {
	// Token is the item's retry token when the attempt began.
	Token string
	// Summary that was written.
	Summary *v1alpha1.Summary
	// Skipped says why the item needs no summary.
	Skipped v1alpha1.Reason
	// Failure that ended the attempt.
	Failure *v1alpha1.Failure
	// Reason that goes with the failure, while the item may be tried again.
	Reason v1alpha1.Reason
	// ProviderFailures of this attempt, also of a chain that delivered in the end.
	ProviderFailures []v1alpha1.ProviderFailure
	// RetryAfter is how long the other side asked to be left alone.
	RetryAfter time.Duration
}

// Settle writes the outcome of an attempt that ended now into the item's status. It changes
// nothing but the status, and the same arguments always give the same status, so that it can be
// done again on a newer version of the item.
func Settle(item *v1alpha1.FeedItem, outcome Outcome, policy Policy, now time.Time) {
	status := &item.Status
	status.LastCheckTime = &metav1.Time{Time: now}
	status.LastHandledRetry = outcome.Token
	status.ProviderFailures = addFailures(status.ProviderFailures, outcome.ProviderFailures)

	switch {
	case outcome.Failure != nil:
		fail(item, outcome, policy, now)
	case outcome.Skipped != v1alpha1.ReasonNone:
		finish(item, outcome.Skipped)
	default:
		status.Summary = outcome.Summary
		finish(item, v1alpha1.ReasonNone)
	}
	setConditions(item, policy, now)
}

// Complete ends an item whose facts are all there, without another attempt.
func Complete(item *v1alpha1.FeedItem, policy Policy, now time.Time) {
	item.Status.LastCheckTime = &metav1.Time{Time: now}
	finish(item, v1alpha1.ReasonNone)
	setConditions(item, policy, now)
}

func finish(item *v1alpha1.FeedItem, reason v1alpha1.Reason) {
	status := &item.Status
	status.Phase = v1alpha1.PhaseProcessed
	status.Reason = reason
	status.NextRetryTime = nil
	status.Failure = nil
	if status.Summary != nil {
		// A retry that was asked for while the work was done has nothing left to do.
		status.LastHandledRetry = Token(item)
	}
}

func fail(item *v1alpha1.FeedItem, outcome Outcome, policy Policy, now time.Time) {
	status := &item.Status
	repeated := status.FirstFailureTime != nil && status.Failure != nil && status.Failure.Category == v1alpha1.CategoryUnknown
	if status.FirstFailureTime == nil {
		status.FirstFailureTime = &metav1.Time{Time: now}
		status.RetryCount = 0
	} else if status.RetryCount < math.MaxInt32 {
		status.RetryCount++
	}
	status.LastFailureTime = &metav1.Time{Time: now}
	status.Failure = outcome.Failure.DeepCopy()

	if outcome.Failure.Category == v1alpha1.CategoryUnknown && outcome.Failure.Stage != v1alpha1.StageArticle {
		status.Failure.Retryable = !repeated // R3.2: one retry, then it is permanent
	}
	exhausted := int(status.RetryCount) >= policy.MaxRetries
	if !status.Failure.Retryable || exhausted {
		status.Phase = v1alpha1.PhaseFailed
		status.Reason = finalReason(outcome, status.Failure.Retryable)
		status.Failure.Retryable = false
		status.NextRetryTime = nil
		return
	}
	status.Phase = v1alpha1.PhaseDeferred
	status.Reason = outcome.Reason
	wait := policy.Delay(int(status.RetryCount), string(item.UID))
	wait = max(wait, min(outcome.RetryAfter, maxHint))
	status.NextRetryTime = roundUp(now.Add(wait))
}

// finalReason says why an item failed for good: because its retries are used up, or because the
// failure itself is one that no retry cures.
func finalReason(outcome Outcome, retryable bool) v1alpha1.Reason {
	if retryable {
		return v1alpha1.ReasonRetryLimitExceeded
	}
	switch outcome.Failure.Category {
	case v1alpha1.CategoryAuth:
		return v1alpha1.ReasonAuthenticationFailed
	case v1alpha1.CategoryValidation:
		if outcome.Reason == v1alpha1.ReasonInvalidContent {
			return v1alpha1.ReasonInvalidContent
		}
		return v1alpha1.ReasonInvalidConfiguration
	case v1alpha1.CategoryNetwork, v1alpha1.CategoryRateLimit, v1alpha1.CategoryAPI, v1alpha1.CategoryUnknown:
	}
	return v1alpha1.ReasonRetryLimitExceeded
}

// Release does what a forced retry asks for, before the attempt itself: the item is due now. One
// that was finished starts anew, with its whole retry budget. The token is noted with it, so that
// it never acts twice.
func Release(item *v1alpha1.FeedItem, policy Policy, now time.Time) {
	status := &item.Status
	if item.Terminal() {
		status.LastCheckTime = &metav1.Time{Time: now}
		status.RetryCount = 0
		status.FirstFailureTime = nil
		status.ProviderFailures = nil
		status.Reason = v1alpha1.ReasonNone
	}
	status.Phase = v1alpha1.PhaseDeferred
	status.NextRetryTime = &metav1.Time{Time: now}
	status.LastHandledRetry = Token(item)
	setConditions(item, policy, now)
}

// Hold notes that what the item needs is unavailable. It is not an attempt and costs no retry.
// It says whether the status has changed.
func Hold(item *v1alpha1.FeedItem, message string, now time.Time) bool {
	if item.Terminal() {
		return false
	}
	before := readyMessage(item)
	if item.Status.Reason == v1alpha1.ReasonWaiting && before == message {
		return false
	}
	item.Status.Reason = v1alpha1.ReasonWaiting
	setReady(item, metav1.ConditionFalse, string(v1alpha1.ReasonWaiting), message, now)
	return true
}

// SameAttempt says whether the item still stands where an attempt found it, so that the attempt's
// outcome may be written on it. Annotations and conditions may have changed meanwhile.
func SameAttempt(began, live *v1alpha1.FeedItem) bool {
	a, b := &began.Status, &live.Status
	return began.UID == live.UID && a.Phase == b.Phase && a.RetryCount == b.RetryCount &&
		a.LastCheckTime.Equal(b.LastCheckTime) && (a.Summary == nil) == (b.Summary == nil)
}

func addFailures(all, more []v1alpha1.ProviderFailure) []v1alpha1.ProviderFailure {
	const most = 16
	for _, failed := range more {
		known := false
		for i := range all {
			if all[i].Name == failed.Name {
				failed.Count += all[i].Count
				all[i], known = failed, true
			}
		}
		if !known && len(all) < most {
			all = append(all, failed)
		}
	}
	return all
}

// roundUp returns the time at whole seconds, never earlier: the API keeps no fractions.
func roundUp(t time.Time) *metav1.Time {
	whole := t.Truncate(time.Second)
	if whole.Before(t) {
		whole = whole.Add(time.Second)
	}
	return &metav1.Time{Time: whole}
}
