// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle_test

import (
	"math"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
)

func phase(p v1alpha1.Phase) func(*v1alpha1.FeedItem) {
	return func(item *v1alpha1.FeedItem) { item.Status.Phase = p }
}

func token(value string) func(*v1alpha1.FeedItem) {
	return func(item *v1alpha1.FeedItem) {
		item.Annotations = map[string]string{v1alpha1.AnnotationRetry: value}
	}
}

func handled(value string) func(*v1alpha1.FeedItem) {
	return func(item *v1alpha1.FeedItem) { item.Status.LastHandledRetry = value }
}

func nextRetry(at time.Time) func(*v1alpha1.FeedItem) {
	return func(item *v1alpha1.FeedItem) { item.Status.NextRetryTime = &metav1.Time{Time: at} }
}

func summarized(item *v1alpha1.FeedItem) { item.Status.Summary = &v1alpha1.Summary{Text: "x"} }

// R2.1, R2.8, R3.7
func TestNextDoesTheFirstThingThatIsMissing(t *testing.T) {
	t.Parallel()
	now := created.Add(time.Hour)
	later := now.Add(time.Minute)
	for name, test := range map[string]struct {
		item *v1alpha1.FeedItem
		want lifecycle.Action
	}{
		"a new item is tried":                                 {newItem(), lifecycle.Summarize},
		"an item without a phase is tried":                    {newItem(phase("")), lifecycle.Summarize},
		"a deferred item waits for its time":                  {newItem(phase(v1alpha1.PhaseDeferred), nextRetry(later)), lifecycle.Wait},
		"a deferred item is tried when it is due":             {newItem(phase(v1alpha1.PhaseDeferred), nextRetry(now)), lifecycle.Summarize},
		"a deferred item without a time is tried":             {newItem(phase(v1alpha1.PhaseDeferred)), lifecycle.Summarize},
		"a time that no rule can have set is not waited for":  {newItem(phase(v1alpha1.PhaseDeferred), nextRetry(now.AddDate(3, 0, 0))), lifecycle.Summarize},
		"a pending item is tried":                             {newItem(phase(v1alpha1.PhasePending)), lifecycle.Summarize},
		"a summary without an end is ended, not made again":   {newItem(phase(v1alpha1.PhaseDeferred), summarized), lifecycle.Finish},
		"a processed item rests":                              {newItem(phase(v1alpha1.PhaseProcessed), summarized), lifecycle.Rest},
		"a failed item rests":                                 {newItem(phase(v1alpha1.PhaseFailed)), lifecycle.Rest},
		"a token makes a deferred item due":                   {newItem(phase(v1alpha1.PhaseDeferred), nextRetry(later), token("1")), lifecycle.Reset},
		"a token that was handled does nothing":               {newItem(phase(v1alpha1.PhaseDeferred), nextRetry(later), token("1"), handled("1")), lifecycle.Wait},
		"a token on an item that is due anyway needs nothing": {newItem(token("1")), lifecycle.Summarize},
		"a token revives a failed item":                       {newItem(phase(v1alpha1.PhaseFailed), token("2"), handled("1")), lifecycle.Reset},
		"a token revives a skipped item":                      {newItem(phase(v1alpha1.PhaseProcessed), token("1")), lifecycle.Reset},
		"a token on a done item is only noted":                {newItem(phase(v1alpha1.PhaseProcessed), summarized, token("1")), lifecycle.Acknowledge},
		"a noted token on a done item does nothing":           {newItem(phase(v1alpha1.PhaseProcessed), summarized, token("1"), handled("1")), lifecycle.Rest},
		"a token that was taken away does nothing":            {newItem(phase(v1alpha1.PhaseFailed), handled("1")), lifecycle.Rest},
		"a hand-edited count is harmless":                     {newItem(func(item *v1alpha1.FeedItem) { item.Status.RetryCount = math.MaxInt32 }), lifecycle.Summarize},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := lifecycle.Next(test.item, now).Action; got != test.want {
				t.Errorf("got action %d, want %d", got, test.want)
			}
		})
	}
}

// R3.7
func TestReleaseGivesAFailedItemItsWholeBudgetBack(t *testing.T) {
	t.Parallel()
	item := newItem(phase(v1alpha1.PhaseFailed), token("again"), func(item *v1alpha1.FeedItem) {
		item.Status.RetryCount = 5
		item.Status.Reason = v1alpha1.ReasonRetryLimitExceeded
		item.Status.FirstFailureTime = &metav1.Time{Time: created}
		item.Status.Failure = failure(v1alpha1.CategoryAPI, false)
	})
	now := created.Add(time.Hour)
	lifecycle.RetryNow(item, usual, now)
	checkConditions(t, item)
	if item.Status.LastHandledRetry != "again" {
		t.Error("the token is not noted")
	}
	if got := lifecycle.Next(item, now).Action; got != lifecycle.Summarize {
		t.Errorf("got action %d after the release", got)
	}
	for want := range int32(5) {
		lifecycle.Settle(item, lifecycle.Outcome{Token: "again", Failure: failure(v1alpha1.CategoryAPI, true)}, usual, now)
		if item.Status.Phase != v1alpha1.PhaseDeferred || item.Status.RetryCount != want {
			t.Errorf("%s with %d retries, want Deferred with %d", item.Status.Phase, item.Status.RetryCount, want)
		}
	}
}

// R3.7: a forced retry of a deferred item that fails raises its count.
func TestAForcedRetryOfADeferredItemCounts(t *testing.T) {
	t.Parallel()
	item := newItem()
	outcome := lifecycle.Outcome{Failure: failure(v1alpha1.CategoryAPI, true)}
	lifecycle.Settle(item, outcome, usual, created)
	token("now")(item)
	lifecycle.RetryNow(item, usual, created)
	outcome.Token = "now"
	lifecycle.Settle(item, outcome, usual, created)
	if item.Status.RetryCount != 1 || item.Status.LastHandledRetry != "now" {
		t.Errorf("%d retries, token %q", item.Status.RetryCount, item.Status.LastHandledRetry)
	}
	if wait := item.Status.NextRetryTime.Sub(created); wait < 10*time.Minute {
		t.Errorf("waits only %s", wait)
	}
}

func TestATokenThatComesDuringTheWorkIsNotedWhenTheWorkIsDone(t *testing.T) {
	t.Parallel()
	item := newItem(token("late"))
	lifecycle.Settle(item, lifecycle.Outcome{Summary: &v1alpha1.Summary{Text: "x"}}, usual, created)
	if got := lifecycle.Next(item, created).Action; got != lifecycle.Rest {
		t.Errorf("got action %d, want rest", got)
	}
}

func TestATokenThatComesDuringAFailureForcesAnotherAttempt(t *testing.T) {
	t.Parallel()
	item := newItem(token("late"))
	lifecycle.Settle(item, lifecycle.Outcome{Failure: failure(v1alpha1.CategoryAPI, true)}, usual, created)
	if got := lifecycle.Next(item, created).Action; got != lifecycle.Reset {
		t.Errorf("got action %d, want reset", got)
	}
}

func TestTokensOfAnyLengthFitTheStatus(t *testing.T) {
	t.Parallel()
	item := newItem(token(strings.Repeat("長", 5000)))
	if got := lifecycle.Token(item); len(got) > 256 {
		t.Errorf("token of %d bytes", len(got))
	}
	other := newItem(token(strings.Repeat("長", 5001)))
	if lifecycle.Token(item) == lifecycle.Token(other) {
		t.Error("two tokens look the same")
	}
}

// R3.12: waiting is not an attempt.
func TestHoldCostsNoRetry(t *testing.T) {
	t.Parallel()
	item := newItem()
	if !lifecycle.Hold(item, "Waits for a provider", created) {
		t.Error("the first hold changes nothing")
	}
	if lifecycle.Hold(item, "Waits for a provider", created.Add(time.Hour)) {
		t.Error("the same hold is written again")
	}
	if item.Status.Reason != v1alpha1.ReasonWaiting || item.Status.RetryCount != 0 || item.Status.LastCheckTime != nil {
		t.Errorf("status %+v", item.Status)
	}
	if got := lifecycle.Next(item, created).Action; got != lifecycle.Summarize {
		t.Errorf("got action %d", got)
	}
}

func TestSameAttemptNoticesTheWorkOfOthers(t *testing.T) {
	t.Parallel()
	began := newItem()
	annotated := newItem(token("x"))
	if !lifecycle.SameAttempt(began, annotated) {
		t.Error("an annotation ends an attempt")
	}
	settled := newItem()
	lifecycle.Settle(settled, lifecycle.Outcome{Failure: failure(v1alpha1.CategoryAPI, true)}, usual, created)
	if lifecycle.SameAttempt(began, settled) {
		t.Error("the outcome of another attempt goes unnoticed")
	}
}

// R3.2, R3.7: what went wrong before a forced retry does not count against the new budget.
func TestAnUnknownFailureGetsItsRetryAgainAfterARelease(t *testing.T) {
	t.Parallel()
	item := newItem()
	outcome := lifecycle.Outcome{Failure: failure(v1alpha1.CategoryUnknown, false), Reason: v1alpha1.ReasonAPIFailed}
	lifecycle.Settle(item, outcome, usual, created)
	lifecycle.Settle(item, outcome, usual, created)
	if item.Status.Phase != v1alpha1.PhaseFailed {
		t.Fatalf("phase %s after two unknown failures", item.Status.Phase)
	}
	token("again")(item)
	lifecycle.RetryNow(item, usual, created)
	lifecycle.Settle(item, outcome, usual, created)
	if item.Status.Phase != v1alpha1.PhaseDeferred || item.Status.RetryCount != 0 {
		t.Errorf("%s with %d retries", item.Status.Phase, item.Status.RetryCount)
	}
}
