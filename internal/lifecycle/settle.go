// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"math"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/backoff"
	"github.com/feed-operator/feed-operator/internal/failure"
)

// Outcome is what one attempt at a summary has come to. Exactly one of Summary, Skipped, Failure
// and a verdict against the article is set; a verdict for it may come with a summary or a failure,
// or alone, where the summary is another provider's.
type Outcome struct {
	// Token is the item's retry token when the attempt began.
	Token string
	// Began is when the attempt began; the zero time where none was made.
	Began time.Time
	// Verdict on the article, and the hash of what was judged.
	Verdict     *v1alpha1.Screening
	ArticleHash string
	// Summary that was written, the image of the page that it is of, and where it is to be posted.
	Summary      *v1alpha1.Summary
	PageImage    *v1alpha1.EntryImage
	Destinations []v1alpha1.DestinationReference
	// Intents are the deliveries that are made right after the outcome is written down.
	Intents []Intent
	// Skipped is why the item needs no summary.
	Skipped v1alpha1.Reason
	// AlreadyPosted are the destinations that have a post of the entry already.
	AlreadyPosted []AlreadyPosted
	// Failure that ended the attempt.
	Failure *v1alpha1.Failure
	// Untried is set if not every provider of the chain has failed: others were down, and not called.
	Untried bool
	// Reason that goes with the failure, while the item may be tried again.
	Reason v1alpha1.Reason
	// ProviderFailures of this attempt, also of a chain that delivered in the end.
	ProviderFailures []v1alpha1.ProviderFailure
	// RetryAfter is how long the other side asked for a pause.
	RetryAfter time.Duration
	// RetryRequests that are known when the attempt ends: it serves them.
	RetryRequests RetryRequests
}

// Intent is a delivery that is about to be made: see Intend.
type Intent struct {
	Destination string
	TextHash    string
	Timeout     time.Duration
}

// AlreadyPosted is a destination that has a post of an entry already, which another item has made, and the post's URL.
type AlreadyPosted struct{ Destination, URL string }

// Settle writes the outcome of an attempt that ended now into the item's status. It changes
// nothing but the status, and the same arguments always give the same status, so that it can be
// done again on a newer version of the item.
func Settle(item *v1alpha1.FeedItem, outcome Outcome, policy backoff.Policy, now time.Time) {
	status := &item.Status
	outcome.RetryRequests.Apply(item, now)
	outcome.failedTogether(now)
	retry := nextRetry(status)
	status.LastCheckTime = &metav1.Time{Time: now}
	noteToken(status, outcome.Token)
	status.ProviderFailures = addFailures(status.ProviderFailures, outcome.ProviderFailures)
	if outcome.Verdict != nil {
		status.Screening, status.ArticleHash = outcome.Verdict.DeepCopy(), outcome.ArticleHash
	}
	switch {
	case outcome.Failure != nil:
		fail(item, outcome, policy, now)
	case outcome.Skipped != v1alpha1.ReasonNone:
		Enqueue(item, outcome.Destinations)
		noteAlreadyPosted(item, outcome.AlreadyPosted)
		finish(item, outcome.Skipped)
	case outcome.Summary != nil:
		summarized(item, outcome, now)
	case outcome.Verdict.Passed():
		judged(status)
	default:
		judgedAgainst(item, outcome, policy, now)
	}
	enterAttempt(status, outcome, retry, now)
	setConditions(item, policy, now)
}

// judged goes on to the summary, which another provider writes than the one that judged.
func judged(status *v1alpha1.FeedItemStatus) {
	status.Phase = v1alpha1.PhasePending
	status.Reason = v1alpha1.ReasonNone
	status.NextRetryTime = nil
}

// summarized notes a summary, and goes on to its deliveries.
func summarized(item *v1alpha1.FeedItem, outcome Outcome, now time.Time) {
	item.Status.Summary, item.Status.PageImage = outcome.Summary, outcome.PageImage
	Enqueue(item, outcome.Destinations)
	noteAlreadyPosted(item, outcome.AlreadyPosted)
	for _, intent := range outcome.Intents {
		Intend(item, intent.Destination, intent.TextHash, intent.Timeout, now)
	}
	settleDeliveries(item, now)
}

func noteAlreadyPosted(item *v1alpha1.FeedItem, posts []AlreadyPosted) {
	for _, post := range posts {
		if row := RowOf(item, post.Destination); row != nil && row.State == v1alpha1.DeliveryQueued {
			alreadyMade(row, post.URL)
		}
	}
}

// judgedAgainst counts a verdict against the article like a failure: the page may change yet. At the
// limit an article that is not worth a summary is done with; one that is not complete has failed.
func judgedAgainst(item *v1alpha1.FeedItem, outcome Outcome, policy backoff.Policy, now time.Time) {
	if outcome.Verdict == nil {
		outcome.Verdict = &v1alpha1.Screening{}
	}
	outcome.Reason = v1alpha1.ReasonNotValuable
	outcome.Failure = &v1alpha1.Failure{
		Category: v1alpha1.CategoryValidation, Type: string(v1alpha1.ReasonNotValuable), Retryable: true,
		Message: "Not worth a summary: " + explained(outcome.Verdict),
		Stage:   v1alpha1.StageScreen, Object: outcome.Verdict.Provider, Time: metav1.NewTime(now),
	}
	if !outcome.Verdict.Complete {
		outcome.Reason = v1alpha1.ReasonPageNotReady
		outcome.Failure.Type = string(v1alpha1.ReasonPageNotReady)
		outcome.Failure.Message = "The page does not hold the whole article yet: " + explained(outcome.Verdict)
	}
	fail(item, outcome, policy, now)
	if outcome.Reason != v1alpha1.ReasonNotValuable {
		return
	}
	item.Status.Failure = nil // nothing is wrong with it
	if item.Status.Phase == v1alpha1.PhaseFailed {
		finish(item, v1alpha1.ReasonNotValuable)
	}
}

func explained(verdict *v1alpha1.Screening) string {
	if verdict.Explanation == "" {
		return "the provider gives no reason"
	}
	return verdict.Explanation
}

// Complete ends an item whose facts are all there, without another attempt.
func Complete(item *v1alpha1.FeedItem, policy backoff.Policy, now time.Time) {
	item.Status.LastCheckTime = &metav1.Time{Time: now}
	finishDelivered(item)
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
		noteToken(status, Token(item))
	}
}

func fail(item *v1alpha1.FeedItem, outcome Outcome, policy backoff.Policy, now time.Time) {
	status := &item.Status
	repeated := status.FirstFailureTime != nil && status.Failure != nil && status.Failure.Category == v1alpha1.CategoryUnknown
	if status.FirstFailureTime == nil {
		status.FirstFailureTime = &metav1.Time{Time: now}
		status.RetryCount = 0
	} else if status.RetryCount < math.MaxInt32 {
		status.RetryCount++
	}
	status.LastFailureTime = new(outcome.RetryRequests.failedAt(outcome.ProviderFailures, now))
	status.Failure = outcome.Failure.DeepCopy()

	if outcome.Failure.Category == v1alpha1.CategoryUnknown && outcome.Failure.Stage != v1alpha1.StageArticle {
		status.Failure.Retryable = !repeated // R3.2: one retry, then it is permanent
	}
	hopes := outcome.Untried // for those that were not asked (R3.6); who has failed for good is not asked again meanwhile: FailedForGood
	status.Failure.Retryable = status.Failure.Retryable || hopes
	exhausted := int(status.RetryCount) >= policy.MaxRetries && !hopes
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
	wait = max(wait, min(outcome.RetryAfter, backoff.MaxHint))
	status.NextRetryTime = roundUp(now.Add(wait))
}

// FailedForGood reports whether a provider has failed for good at the summary of an item: it refuses it, or has failed for as many
// retries as there are. While all others are down it is not asked again: they are waited for, which is no attempt (R3.6, R3.12).
// A forced retry forgets it. Refused credentials are a matter of the provider, and not of the item.
func FailedForGood(item *v1alpha1.FeedItem, provider string, policy backoff.Policy) bool {
	at := slices.IndexFunc(item.Status.ProviderFailures, func(failed v1alpha1.ProviderFailure) bool { return failed.Name == provider })
	if at < 0 || forced(item) {
		return false
	}
	spent := item.Status.FirstFailureTime != nil && int(item.Status.RetryCount) >= policy.MaxRetries
	switch failed := item.Status.ProviderFailures[at]; failed.Category {
	case v1alpha1.CategoryValidation:
		return true
	case v1alpha1.CategoryUnknown:
		return spent || failed.Count > 1 // R3.2: one retry
	case v1alpha1.CategoryNetwork, v1alpha1.CategoryRateLimit, v1alpha1.CategoryAPI:
		return spent
	case v1alpha1.CategoryAuth:
	}
	return false
}

// finalReason returns why an item failed for good: because its retries are used up, or because the
// failure itself is one that no retry cures.
func finalReason(outcome Outcome, retryable bool) v1alpha1.Reason {
	if retryable {
		return v1alpha1.ReasonRetryLimitExceeded
	}
	switch outcome.Failure.Category {
	case v1alpha1.CategoryAuth:
		return v1alpha1.ReasonAuthenticationFailed
	case v1alpha1.CategoryValidation:
		refusedText := outcome.Failure.Type == failure.TypeBlocked || outcome.Failure.Type == failure.TypeTooLong
		if outcome.Reason == v1alpha1.ReasonInvalidContent || refusedText && outcome.Failure.Stage != v1alpha1.StageDeliver {
			return v1alpha1.ReasonInvalidContent
		}
		return v1alpha1.ReasonInvalidConfiguration
	case v1alpha1.CategoryNetwork, v1alpha1.CategoryRateLimit, v1alpha1.CategoryAPI, v1alpha1.CategoryUnknown:
	}
	return v1alpha1.ReasonRetryLimitExceeded
}

// RetryNow prepares an item for a requested retry, or one for new credentials, before the attempt itself: the item is due
// now. One that was finished starts anew, with its whole retry budget; what was skipped is judged
// again. The token is noted with it, so that it never acts twice.
func RetryNow(item *v1alpha1.FeedItem, policy backoff.Policy, now time.Time) {
	status := &item.Status
	byPerson := forced(item)
	reopen(item, now)
	status.Reason = v1alpha1.ReasonNone
	noteToken(status, Token(item))
	if status.Summary != nil {
		retryDeliveries(item, byPerson, now)
		progress(item, now)
		return
	}
	judgeAgain(item)
	status.ProviderFailures = nil // all of them are asked again
	status.Deliveries = slices.DeleteFunc(status.Deliveries, func(row v1alpha1.Delivery) bool {
		return row.State == v1alpha1.DeliveryAlreadyPosted // that is found out again, under what the source says now
	})
	status.Phase = v1alpha1.PhaseDeferred
	status.NextRetryTime = &metav1.Time{Time: now}
	setConditions(item, policy, now)
}

// Hold notes that what the item needs is unavailable. It is not an attempt and costs no retry.
// It reports whether the status has changed.
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

// SameAttempt reports whether the item still stands where an attempt found it, so that the attempt's
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
