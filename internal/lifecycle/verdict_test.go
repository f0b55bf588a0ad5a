// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
)

func judged(valuable, complete bool) *v1alpha1.Screening {
	return &v1alpha1.Screening{Valuable: valuable, Complete: complete, Explanation: "It is an advertisement.", Provider: "gemini"}
}

// A verdict against an article counts like a failure, up to the limit.
//
// R2.4
func TestAVerdictAgainstAnArticleCountsLikeAFailure(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		verdict    *v1alpha1.Screening
		wantReason v1alpha1.Reason
		endPhase   v1alpha1.Phase
		endReason  v1alpha1.Reason
	}{
		"not worth it":                  {judged(false, true), v1alpha1.ReasonNotValuable, v1alpha1.PhaseProcessed, v1alpha1.ReasonNotValuable},
		"not complete":                  {judged(true, false), v1alpha1.ReasonPageNotReady, v1alpha1.PhaseFailed, v1alpha1.ReasonRetryLimitExceeded},
		"neither: the page may yet be":  {judged(false, false), v1alpha1.ReasonPageNotReady, v1alpha1.PhaseFailed, v1alpha1.ReasonRetryLimitExceeded},
		"a verdict without explanation": {&v1alpha1.Screening{Complete: true}, v1alpha1.ReasonNotValuable, v1alpha1.PhaseProcessed, v1alpha1.ReasonNotValuable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			item, now := newItem(), created
			outcome := lifecycle.Outcome{Verdict: test.verdict, ArticleHash: "abc"}
			for attempt, minutes := range []int{5, 10, 20, 40, 80} {
				lifecycle.Settle(item, outcome, usual, now)
				checkConditions(t, item)
				status := &item.Status
				if status.Phase != v1alpha1.PhaseDeferred || status.Reason != test.wantReason || int(status.RetryCount) != attempt {
					t.Fatalf("attempt %d: %s/%s with %d retries", attempt+1, status.Phase, status.Reason, status.RetryCount)
				}
				wait, promised := status.NextRetryTime.Sub(now), time.Duration(minutes)*time.Minute
				if wait < promised || wait > promised*12/10+time.Second {
					t.Errorf("waits %s after attempt %d, want %s and a fifth more at most", wait, attempt+1, promised)
				}
				if (status.Failure != nil) != (test.wantReason == v1alpha1.ReasonPageNotReady) {
					t.Errorf("failure %v", status.Failure)
				}
				if diff := cmp.Diff(test.verdict, status.Screening); diff != "" || status.ArticleHash != "abc" {
					t.Errorf("the verdict on %q: %s", status.ArticleHash, diff)
				}
				now = status.NextRetryTime.Time
			}
			lifecycle.Settle(item, outcome, usual, now)
			checkConditions(t, item)
			status := &item.Status
			if status.Phase != test.endPhase || status.Reason != test.endReason || status.NextRetryTime != nil {
				t.Errorf("in the end %s/%s, next %v", status.Phase, status.Reason, status.NextRetryTime)
			}
			if (status.Failure != nil) != (test.endPhase == v1alpha1.PhaseFailed) {
				t.Errorf("failure %v", status.Failure)
			}
			if status.Failure != nil && (status.Failure.Stage != v1alpha1.StageScreen || status.Failure.Object != "gemini" || status.Failure.Retryable) {
				t.Errorf("failure %+v", status.Failure)
			}
		})
	}
}

// R2.4: failures and verdicts share one budget.
func TestVerdictsAndFailuresCountTogether(t *testing.T) {
	t.Parallel()
	item := newItem()
	verdict := lifecycle.Outcome{Verdict: judged(false, true)}
	broken := lifecycle.Outcome{Failure: failure(v1alpha1.CategoryAPI, true), Reason: v1alpha1.ReasonAPIFailed}
	for i, outcome := range []lifecycle.Outcome{verdict, broken, verdict, broken, verdict} {
		lifecycle.Settle(item, outcome, usual, created)
		if int(item.Status.RetryCount) != i {
			t.Errorf("%d retries after %d attempts", item.Status.RetryCount, i+1)
		}
	}
	lifecycle.Settle(item, broken, usual, created)
	if item.Status.Phase != v1alpha1.PhaseFailed || item.Status.Reason != v1alpha1.ReasonRetryLimitExceeded {
		t.Errorf("%s/%s", item.Status.Phase, item.Status.Reason)
	}
}

// R2.8: a verdict that was paid for is kept when the summary fails.
func TestAVerdictIsKeptWhenTheSummaryFails(t *testing.T) {
	t.Parallel()
	item := newItem()
	lifecycle.Settle(item, lifecycle.Outcome{
		Verdict: judged(true, true), ArticleHash: "abc",
		Failure: failure(v1alpha1.CategoryAPI, true), Reason: v1alpha1.ReasonAPIFailed,
	}, usual, created)
	if item.Status.Phase != v1alpha1.PhaseDeferred || item.Status.Reason != v1alpha1.ReasonAPIFailed {
		t.Errorf("%s/%s", item.Status.Phase, item.Status.Reason)
	}
	lifecycle.Settle(item, lifecycle.Outcome{Failure: failure(v1alpha1.CategoryNetwork, true)}, usual, created)
	if !item.Status.Screening.Passed() || item.Status.ArticleHash != "abc" {
		t.Errorf("verdict %+v on %q", item.Status.Screening, item.Status.ArticleHash)
	}
	token("again")(item)
	lifecycle.RetryNow(item, usual, created)
	if !item.Status.Screening.Passed() || item.Status.ArticleHash != "abc" {
		t.Errorf("after a forced retry: verdict %+v on %q", item.Status.Screening, item.Status.ArticleHash)
	}
}

// R2.2: success clears the reason and the failure.
func TestAVerdictForAnArticleGoesWithItsSummary(t *testing.T) {
	t.Parallel()
	item := newItem()
	lifecycle.Settle(item, lifecycle.Outcome{Verdict: judged(true, false)}, usual, created)
	lifecycle.Settle(item, lifecycle.Outcome{
		Verdict: judged(true, true), ArticleHash: "abc", Summary: &v1alpha1.Summary{Text: "x", Provider: "gemini"},
	}, usual, created)
	status := &item.Status
	if status.Phase != v1alpha1.PhaseProcessed || status.Reason != v1alpha1.ReasonNone || status.Failure != nil || !status.Screening.Passed() {
		t.Errorf("status %+v", status)
	}
}

// R3.7: a skipped item is screened again.
func TestASkippedItemIsJudgedAgainWhenForced(t *testing.T) {
	t.Parallel()
	for name, attempts := range map[string]int{"skipped": 6, "deferred": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			item := newItem()
			for range attempts {
				lifecycle.Settle(item, lifecycle.Outcome{Verdict: judged(false, true), ArticleHash: "abc"}, usual, created)
			}
			terminal := item.Terminal()
			token("again")(item)
			if step := lifecycle.Next(item, created); step.Action != lifecycle.Reset {
				t.Fatalf("%+v", step)
			}
			lifecycle.RetryNow(item, usual, created)
			checkConditions(t, item)
			status := &item.Status
			if status.Screening != nil || status.ArticleHash != "" || status.Reason != v1alpha1.ReasonNone {
				t.Errorf("verdict %+v on %q, %s", status.Screening, status.ArticleHash, status.Reason)
			}
			if step := lifecycle.Next(item, created); step.Action != lifecycle.Summarize {
				t.Errorf("%+v after the release", step)
			}
			lifecycle.Settle(item, lifecycle.Outcome{Token: "again", Verdict: judged(false, true)}, usual, created)
			want := int32(1)
			if terminal {
				want = 0 // the whole budget is back
			}
			if status.Phase != v1alpha1.PhaseDeferred || status.RetryCount != want {
				t.Errorf("%s with %d retries, want %d", status.Phase, status.RetryCount, want)
			}
		})
	}
}
