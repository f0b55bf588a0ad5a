// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/backoff"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
)

var (
	created = time.Date(2026, 4, 1, 9, 0, 0, 0, time.UTC)
	usual   = backoff.Of(&v1alpha1.FeedSource{})
)

func newItem(change ...func(*v1alpha1.FeedItem)) *v1alpha1.FeedItem {
	item := &v1alpha1.FeedItem{}
	item.UID = "0b0d7f8e-5d1b-4c39-9a35-2f1f3f0f9a10"
	item.CreationTimestamp = metav1.NewTime(created)
	item.Status.Phase = v1alpha1.PhaseUnprocessed
	for _, c := range change {
		c(item)
	}
	return item
}

func failure(category v1alpha1.Category, retryable bool) *v1alpha1.Failure {
	return &v1alpha1.Failure{Category: category, Message: "It broke.", Retryable: retryable, Stage: v1alpha1.StageSummarize}
}

// Every combination of phase and reason that an attempt can end in, with its cause.
//
// R2.1, R2.2, R3.2, R3.4
func TestSettleGivesEachCauseItsPhaseAndReason(t *testing.T) {
	t.Parallel()
	summary := &v1alpha1.Summary{Text: "All is well.", Provider: "p"}
	exhausted := func(item *v1alpha1.FeedItem) {
		item.Status.FirstFailureTime = &metav1.Time{Time: created}
		item.Status.RetryCount = 4
	}
	afterUnknown := func(item *v1alpha1.FeedItem) {
		item.Status.FirstFailureTime = &metav1.Time{Time: created}
		item.Status.Failure = failure(v1alpha1.CategoryUnknown, true)
	}
	for name, test := range map[string]struct {
		item       *v1alpha1.FeedItem
		outcome    lifecycle.Outcome
		wantPhase  v1alpha1.Phase
		wantReason v1alpha1.Reason
	}{
		"a summary ends it": {
			newItem(), lifecycle.Outcome{Summary: summary}, v1alpha1.PhaseProcessed, v1alpha1.ReasonNone,
		},
		"a summary after failures clears the reason": {
			newItem(exhausted), lifecycle.Outcome{Summary: summary}, v1alpha1.PhaseProcessed, v1alpha1.ReasonNone,
		},
		"an article that is too large is skipped": {
			newItem(), lifecycle.Outcome{Skipped: v1alpha1.ReasonLargeFileSkipped}, v1alpha1.PhaseProcessed, v1alpha1.ReasonLargeFileSkipped,
		},
		"an article without anything to be read is skipped": {
			newItem(), lifecycle.Outcome{Skipped: v1alpha1.ReasonNoContent}, v1alpha1.PhaseProcessed, v1alpha1.ReasonNoContent,
		},
		"a page that does not answer is tried again": {
			newItem(), lifecycle.Outcome{Failure: failure(v1alpha1.CategoryNetwork, true), Reason: v1alpha1.ReasonDownloadFailed},
			v1alpha1.PhaseDeferred, v1alpha1.ReasonDownloadFailed,
		},
		"a page without an article is tried again": {
			newItem(), lifecycle.Outcome{Failure: failure(v1alpha1.CategoryAPI, true), Reason: v1alpha1.ReasonPageNotReady},
			v1alpha1.PhaseDeferred, v1alpha1.ReasonPageNotReady,
		},
		"providers that are broken are tried again": {
			newItem(), lifecycle.Outcome{Failure: failure(v1alpha1.CategoryAPI, true), Reason: v1alpha1.ReasonAPIFailed},
			v1alpha1.PhaseDeferred, v1alpha1.ReasonAPIFailed,
		},
		"the fifth failed retry is the last": {
			newItem(exhausted), lifecycle.Outcome{Failure: failure(v1alpha1.CategoryAPI, true), Reason: v1alpha1.ReasonAPIFailed},
			v1alpha1.PhaseFailed, v1alpha1.ReasonRetryLimitExceeded,
		},
		"refused credentials are final": {
			newItem(), lifecycle.Outcome{Failure: failure(v1alpha1.CategoryAuth, false), Reason: v1alpha1.ReasonAPIFailed},
			v1alpha1.PhaseFailed, v1alpha1.ReasonAuthenticationFailed,
		},
		"a refused request is final": {
			newItem(), lifecycle.Outcome{Failure: failure(v1alpha1.CategoryValidation, false), Reason: v1alpha1.ReasonAPIFailed},
			v1alpha1.PhaseFailed, v1alpha1.ReasonInvalidConfiguration,
		},
		"content that cannot be read is final": {
			newItem(), lifecycle.Outcome{Failure: failure(v1alpha1.CategoryValidation, false), Reason: v1alpha1.ReasonInvalidContent},
			v1alpha1.PhaseFailed, v1alpha1.ReasonInvalidContent,
		},
		"an unknown failure gets one retry": {
			newItem(), lifecycle.Outcome{Failure: failure(v1alpha1.CategoryUnknown, false), Reason: v1alpha1.ReasonAPIFailed},
			v1alpha1.PhaseDeferred, v1alpha1.ReasonAPIFailed,
		},
		"a second unknown failure is final": {
			newItem(afterUnknown), lifecycle.Outcome{Failure: failure(v1alpha1.CategoryUnknown, false), Reason: v1alpha1.ReasonAPIFailed},
			v1alpha1.PhaseFailed, v1alpha1.ReasonRetryLimitExceeded,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lifecycle.Settle(test.item, test.outcome, usual, created.Add(time.Minute))
			status := test.item.Status
			if status.Phase != test.wantPhase || status.Reason != test.wantReason {
				t.Errorf("got %s/%s, want %s/%s", status.Phase, status.Reason, test.wantPhase, test.wantReason)
			}
			if (status.NextRetryTime != nil) != (test.wantPhase == v1alpha1.PhaseDeferred) {
				t.Errorf("next retry %v in phase %s", status.NextRetryTime, status.Phase)
			}
			if got := status.LastCheckTime; got == nil || !got.Time.Equal(created.Add(time.Minute)) { // R2.7
				t.Errorf("last check time %v", got)
			}
			checkConditions(t, test.item)
		})
	}
}

// checkConditions holds the rules of kstatus against an item's conditions.
func checkConditions(t rapid.TB, item *v1alpha1.FeedItem) {
	t.Helper()
	conditions := item.Status.Conditions
	is := func(kind string) bool { return meta.IsStatusConditionTrue(conditions, kind) }
	if meta.FindStatusCondition(conditions, v1alpha1.ConditionReady) == nil {
		t.Error("no Ready condition")
	}
	if is(v1alpha1.ConditionReady) != (item.Status.Phase == v1alpha1.PhaseProcessed) {
		t.Errorf("Ready does not go with phase %s", item.Status.Phase)
	}
	if is(v1alpha1.ConditionStalled) != (item.Status.Phase == v1alpha1.PhaseFailed) {
		t.Errorf("Stalled does not go with phase %s", item.Status.Phase)
	}
	if is(v1alpha1.ConditionReconciling) == item.Terminal() {
		t.Errorf("Reconciling does not go with phase %s", item.Status.Phase)
	}
}

// An item that always fails is tried 1 + 5 times, 5, 10, 20, 40 and 80 minutes apart.
//
// R3.4
func TestAnItemThatAlwaysFailsEndsAfterFiveRetries(t *testing.T) {
	t.Parallel()
	item, now := newItem(), created
	outcome := lifecycle.Outcome{Failure: failure(v1alpha1.CategoryNetwork, true), Reason: v1alpha1.ReasonDownloadFailed}
	for attempt, minutes := range []int{5, 10, 20, 40, 80} {
		if step := lifecycle.Next(item, now); step.Action != lifecycle.Summarize {
			t.Fatalf("attempt %d is not made: %+v", attempt+1, step)
		}
		lifecycle.Settle(item, outcome, usual, now)
		if got := int(item.Status.RetryCount); got != attempt {
			t.Errorf("retry count %d after attempt %d", got, attempt+1)
		}
		wait := item.Status.NextRetryTime.Sub(now)
		if promised := time.Duration(minutes) * time.Minute; wait < promised || wait > promised*12/10+time.Second {
			t.Errorf("wait %s after attempt %d, want %s to 1.2 times of it", wait, attempt+1, promised)
		}
		early := item.Status.NextRetryTime.Add(-time.Second)
		if step := lifecycle.Next(item, early); step.Action != lifecycle.Wait || !step.Until.Equal(item.Status.NextRetryTime.Time) {
			t.Errorf("a second early: %+v", step)
		}
		now = item.Status.NextRetryTime.Time
	}
	lifecycle.Settle(item, outcome, usual, now)
	if item.Status.Phase != v1alpha1.PhaseFailed || item.Status.RetryCount != 5 {
		t.Errorf("after six attempts: %s with %d retries", item.Status.Phase, item.Status.RetryCount)
	}
	if !item.Status.FirstFailureTime.Time.Equal(created) || !item.Status.LastFailureTime.Time.Equal(now) {
		t.Errorf("failed from %v to %v", item.Status.FirstFailureTime, item.Status.LastFailureTime)
	}
}

// R3.6: an item fails for good only if every provider has failed for good. While others were down, and
// not asked, it is tried again, also where those that were asked have used up all retries.
func TestNobodyFailsForGoodBeforeAllWereAsked(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		category v1alpha1.Category
		untried  bool
		want     v1alpha1.Phase // after more attempts than the policy has
	}{
		"all refused":                               {v1alpha1.CategoryValidation, false, v1alpha1.PhaseFailed},
		"one refused, the others were not asked":    {v1alpha1.CategoryValidation, true, v1alpha1.PhaseDeferred},
		"one is unknown, the others were not asked": {v1alpha1.CategoryUnknown, true, v1alpha1.PhaseDeferred},
		"one is out, the others were not asked":     {v1alpha1.CategoryAPI, true, v1alpha1.PhaseDeferred},
		"all are out":                               {v1alpha1.CategoryAPI, false, v1alpha1.PhaseFailed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			item, now := newItem(), created
			outcome := lifecycle.Outcome{
				Failure: failure(test.category, test.category == v1alpha1.CategoryAPI), Reason: v1alpha1.ReasonAPIFailed, Untried: test.untried,
			}
			for range usual.MaxRetries + 3 {
				if item.Terminal() {
					break
				}
				lifecycle.Settle(item, outcome, usual, now)
				now = now.Add(24 * time.Hour)
			}
			if item.Status.Phase != test.want {
				t.Errorf("%s after %d retries, want %s", item.Status.Phase, item.Status.RetryCount, test.want)
			}
		})
	}
}

// R3.6, R3.12: who has failed for good at an item is not asked again while others are waited for; a person can have all asked again.
func TestWhoHasFailedForGoodIsKnown(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		category v1alpha1.Category
		attempts int
		want     bool
	}{
		"who refuses it":                            {v1alpha1.CategoryValidation, 1, true},
		"not who has failed for what may pass":      {v1alpha1.CategoryAPI, 1, false},
		"nor at the retry before the last":          {v1alpha1.CategoryAPI, usual.MaxRetries, false},
		"who has failed at the last one":            {v1alpha1.CategoryAPI, usual.MaxRetries + 1, true},
		"the network counts as well":                {v1alpha1.CategoryNetwork, usual.MaxRetries + 1, true},
		"not who has failed once in an unknown way": {v1alpha1.CategoryUnknown, 1, false},
		"who has failed so twice":                   {v1alpha1.CategoryUnknown, 2, true},
		"never who refuses the credentials":         {v1alpha1.CategoryAuth, usual.MaxRetries + 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			item, now := newItem(), created
			for range test.attempts {
				lifecycle.Settle(item, lifecycle.Outcome{
					Failure: failure(test.category, test.category == v1alpha1.CategoryAPI), Reason: v1alpha1.ReasonAPIFailed, Untried: true,
					ProviderFailures: []v1alpha1.ProviderFailure{{Name: "one", Category: test.category, Count: 1, Time: metav1.NewTime(now)}},
				}, usual, now)
				now = now.Add(24 * time.Hour)
			}
			if got := lifecycle.FailedForGood(item, "one", usual); got != test.want {
				t.Errorf("%t after %d attempts: %+v", got, test.attempts, item.Status)
			}
			if lifecycle.FailedForGood(item, "another", usual) {
				t.Error("another has, too")
			}
			item.Annotations = map[string]string{v1alpha1.AnnotationRetry: "again"}
			if lifecycle.FailedForGood(item, "one", usual) {
				t.Error("it has, although a person wants it to be asked")
			}
			lifecycle.RetryNow(item, usual, now)
			if lifecycle.FailedForGood(item, "one", usual) {
				t.Error("it has, although a person has released the item")
			}
		})
	}
}

// R3.4: what the other side asks for moves a retry later, never earlier.
func TestRetryAfterOnlyLengthensTheWait(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		asked    time.Duration
		from, to time.Duration
	}{
		"shorter than the wait":     {time.Second, 5 * time.Minute, 6*time.Minute + time.Second},
		"longer than the wait":      {2 * time.Hour, 2 * time.Hour, 2*time.Hour + time.Second},
		"longer than the usual cap": {48 * time.Hour, 48 * time.Hour, 48*time.Hour + time.Second},
		"nonsense":                  {1000 * 24 * time.Hour, 7 * 24 * time.Hour, 7*24*time.Hour + time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			item := newItem()
			lifecycle.Settle(item, lifecycle.Outcome{
				Failure: failure(v1alpha1.CategoryRateLimit, true), Reason: v1alpha1.ReasonAPIFailed, RetryAfter: test.asked,
			}, usual, created)
			if wait := item.Status.NextRetryTime.Sub(created); wait < test.from || wait > test.to {
				t.Errorf("waits %s, want %s to %s", wait, test.from, test.to)
			}
		})
	}
}

// The API keeps whole seconds: a time that was cut off would be earlier than promised.
func TestNextRetryTimeIsAWholeSecondAndNeverEarly(t *testing.T) {
	t.Parallel()
	item := newItem()
	policy := backoff.Policy{MaxRetries: 5, InitialDelay: time.Second, MaxDelay: time.Second, Multiplier: 1}
	now := created.Add(300 * time.Millisecond)
	lifecycle.Settle(item, lifecycle.Outcome{Failure: failure(v1alpha1.CategoryAPI, true)}, policy, now)
	next := item.Status.NextRetryTime.Time
	if next.Nanosecond() != 0 || next.Before(now.Add(time.Second)) {
		t.Errorf("next retry at %s, a second after %s", next, now)
	}
}

func TestSettleIsTheSameWhenDoneAgain(t *testing.T) {
	t.Parallel()
	once, twice := newItem(), newItem()
	outcome := lifecycle.Outcome{
		Failure: failure(v1alpha1.CategoryAPI, true), Reason: v1alpha1.ReasonAPIFailed,
		ProviderFailures: []v1alpha1.ProviderFailure{{Name: "p", Category: v1alpha1.CategoryAPI, Count: 1}},
	}
	lifecycle.Settle(once, outcome, usual, created)
	lifecycle.Settle(twice, outcome, usual, created)
	if diff := cmp.Diff(once, twice); diff != "" {
		t.Error(diff)
	}
}

// R3.5: failures per provider.
func TestProviderFailuresAddUp(t *testing.T) {
	t.Parallel()
	item := newItem()
	for range 3 {
		lifecycle.Settle(item, lifecycle.Outcome{
			Failure: failure(v1alpha1.CategoryAPI, true),
			ProviderFailures: []v1alpha1.ProviderFailure{
				{Name: "a", Category: v1alpha1.CategoryAPI, Count: 1}, {Name: "b", Category: v1alpha1.CategoryNetwork, Count: 1},
			},
		}, usual, created)
	}
	want := []v1alpha1.ProviderFailure{
		{Name: "a", Category: v1alpha1.CategoryAPI, Count: 3, Time: metav1.NewTime(created)},
		{Name: "b", Category: v1alpha1.CategoryNetwork, Count: 3, Time: metav1.NewTime(created)},
	}
	if diff := cmp.Diff(want, item.Status.ProviderFailures); diff != "" {
		t.Error(diff)
	}
}
