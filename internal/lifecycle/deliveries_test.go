// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/backoff"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
)

// deliver makes one call for a delivery, and settles what came of it at once.
func deliver(t *testing.T, item *v1alpha1.FeedItem, destination string, at time.Time, outcome ...func(*lifecycle.DeliveryOutcome)) {
	t.Helper()
	settleDelivery(t, item, result(intend(item, destination, at), outcome...), at)
}

// What the deliveries of an item make of the item.
//
// R2.1, R2.2, R4.5
func TestAnItemShowsWhatItsDeliveriesHaveComeTo(t *testing.T) {
	t.Parallel()
	api, auth, refusal := failed(v1alpha1.CategoryAPI, created), failed(v1alpha1.CategoryAuth, created), failed(v1alpha1.CategoryValidation, created)
	later := created.Add(time.Minute)
	waiting := func(t *testing.T, item *v1alpha1.FeedItem) *metav1.Time {
		t.Helper()
		return lifecycle.RowOf(item, here).NextRetryTime
	}
	none := func(*testing.T, *v1alpha1.FeedItem) *metav1.Time { return nil }
	for name, test := range map[string]struct {
		do         func(*testing.T, *v1alpha1.FeedItem)
		wantPhase  v1alpha1.Phase
		wantReason v1alpha1.Reason
		wantCount  int32
		wantNext   func(*testing.T, *v1alpha1.FeedItem) *metav1.Time
	}{
		"both can be tried": {func(*testing.T, *v1alpha1.FeedItem) {}, v1alpha1.PhasePending, "", 0, none},
		"one is under way": {func(_ *testing.T, item *v1alpha1.FeedItem) {
			intend(item, here, created)
		}, v1alpha1.PhasePending, "", 0, none},
		"both are under way": {func(_ *testing.T, item *v1alpha1.FeedItem) {
			intend(item, here, created)
			intend(item, there, created)
		}, v1alpha1.PhasePending, "", 0, none},
		"one waits and one can be tried": {func(t *testing.T, item *v1alpha1.FeedItem) {
			deliver(t, item, here, created, api)
		}, v1alpha1.PhasePending, v1alpha1.ReasonAPIFailed, 0, none},
		"one waits and one is under way": {func(t *testing.T, item *v1alpha1.FeedItem) {
			deliver(t, item, here, created, api)
			intend(item, there, created)
		}, v1alpha1.PhasePending, v1alpha1.ReasonAPIFailed, 0, none},
		"one waits and one is done": {func(t *testing.T, item *v1alpha1.FeedItem) {
			deliver(t, item, here, created, api)
			deliver(t, item, there, created, posted)
		}, v1alpha1.PhaseDeferred, v1alpha1.ReasonAPIFailed, 0, waiting},
		"one waits and one is dead": {func(t *testing.T, item *v1alpha1.FeedItem) {
			deliver(t, item, there, created, auth)
			deliver(t, item, here, created, api)
		}, v1alpha1.PhaseDeferred, v1alpha1.ReasonAPIFailed, 0, waiting},
		"both wait: the largest count and the earliest time": {func(t *testing.T, item *v1alpha1.FeedItem) {
			deliver(t, item, here, created, api)
			for range 3 {
				deliver(t, item, there, created, api)
			}
		}, v1alpha1.PhaseDeferred, v1alpha1.ReasonAPIFailed, 2, waiting},
		"one is to be looked for": {func(t *testing.T, item *v1alpha1.FeedItem) {
			deliver(t, item, here, created, api, isUncertain)
			deliver(t, item, there, created, posted)
		}, v1alpha1.PhaseDeferred, v1alpha1.ReasonAPIFailed, 0, waiting},
		"both are done": {func(t *testing.T, item *v1alpha1.FeedItem) {
			deliver(t, item, here, created, api)
			deliver(t, item, here, later, posted)
			deliver(t, item, there, later, posted)
		}, v1alpha1.PhaseProcessed, "", 0, none},
		"one is done and one dropped": {func(t *testing.T, item *v1alpha1.FeedItem) {
			deliver(t, item, here, created, posted)
			settleDelivery(t, item, result(lifecycle.RowOf(item, there), dropped), created)
		}, v1alpha1.PhaseProcessed, "", 0, none},
		"one is dead for its credentials": {func(t *testing.T, item *v1alpha1.FeedItem) {
			deliver(t, item, here, created, auth)
			deliver(t, item, there, created, posted)
		}, v1alpha1.PhaseFailed, v1alpha1.ReasonAuthenticationFailed, 0, none},
		"one is dead for its configuration": {func(t *testing.T, item *v1alpha1.FeedItem) {
			deliver(t, item, here, created, posted)
			deliver(t, item, there, created, refusal)
		}, v1alpha1.PhaseFailed, v1alpha1.ReasonInvalidConfiguration, 0, none},
		"one is dead and one dropped": {func(t *testing.T, item *v1alpha1.FeedItem) {
			deliver(t, item, here, created, refusal)
			settleDelivery(t, item, result(lifecycle.RowOf(item, there), dropped), created)
		}, v1alpha1.PhaseFailed, v1alpha1.ReasonInvalidConfiguration, 0, none},
		"nobody knows of one": {func(t *testing.T, item *v1alpha1.FeedItem) {
			deliver(t, item, here, created, posted)
			deliver(t, item, there, created, unverifiable)
		}, v1alpha1.PhaseFailed, v1alpha1.ReasonDeliveryUncertain, 0, none},
		"one is dead after all its retries": {func(t *testing.T, item *v1alpha1.FeedItem) {
			deliver(t, item, there, created, posted)
			for range 11 {
				deliver(t, item, here, created, api)
			}
		}, v1alpha1.PhaseFailed, v1alpha1.ReasonRetryLimitExceeded, 10, none},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			item := toPost(here, there)
			test.do(t, item)
			status := &item.Status
			if status.Phase != test.wantPhase || status.Reason != test.wantReason {
				t.Errorf("%s/%s, want %s/%s", status.Phase, status.Reason, test.wantPhase, test.wantReason)
			}
			if status.RetryCount != test.wantCount {
				t.Errorf("%d retries, want %d", status.RetryCount, test.wantCount)
			}
			if want := test.wantNext(t, item); !status.NextRetryTime.Equal(want) {
				t.Errorf("next retry %v, want %v", status.NextRetryTime, want)
			}
			if (status.Failure != nil) != (status.Reason != v1alpha1.ReasonNone) {
				t.Errorf("failure %v with reason %q", status.Failure, status.Reason)
			}
			if status.Phase == v1alpha1.PhaseFailed && status.Failure.Retryable {
				t.Error("a dead letter says that it is tried again")
			}
			checkConditions(t, item)
		})
	}
}

// R4.5: one failing does not hold back or repeat another.
func TestDeliveriesAreIndependent(t *testing.T) {
	t.Parallel()
	item := toPost(here, there)
	deliver(t, item, here, created, posted)
	done := *lifecycle.RowOf(item, here)
	now := created
	for range 10 {
		deliver(t, item, there, now, failed(v1alpha1.CategoryAPI, now))
		if step := lifecycle.Next(item, now); step.Action != lifecycle.Wait || !step.Until.Equal(lifecycle.RowOf(item, there).NextRetryTime.Time) {
			t.Fatalf("%+v", step)
		}
		now = item.Status.NextRetryTime.Time
	}
	if diff := cmp.Diff(done, *lifecycle.RowOf(item, here)); diff != "" {
		t.Errorf("the post that was made: %s", diff)
	}
	other := toPost(here, there)
	deliver(t, other, there, created, failed(v1alpha1.CategoryAPI, created))
	if step := lifecycle.Next(other, created); step.Action != lifecycle.Deliver {
		t.Errorf("one that failed holds back the other: %+v", step)
	}
}

func TestSettleWritesIntentsWithTheSummary(t *testing.T) {
	t.Parallel()
	item := newItem()
	lifecycle.Settle(item, lifecycle.Outcome{
		Summary:      &v1alpha1.Summary{Text: "All is well.", Provider: "gemini"},
		Destinations: []v1alpha1.DestinationReference{{Name: here}, {Name: there}},
		Intents:      []lifecycle.Intent{{Destination: there, TextHash: "hash", Timeout: callTimeout}},
	}, usual, created)
	if got := lifecycle.RowOf(item, here).State; got != v1alpha1.DeliveryQueued {
		t.Errorf("%s is %s", here, got)
	}
	if row := lifecycle.RowOf(item, there); row.State != v1alpha1.DeliveryIntent || row.TextHash != "hash" {
		t.Errorf("%s is %+v", there, row)
	}
	checkConditions(t, item)
}

// R2.8: the summary that was paid for survives whatever becomes of its deliveries.
func TestDeliveriesNeverCostTheSummary(t *testing.T) {
	t.Parallel()
	item := toPost(here)
	deliver(t, item, here, created, failed(v1alpha1.CategoryValidation, created))
	token("again")(item)
	lifecycle.RetryNow(item, usual, created)
	if item.Status.Summary == nil || lifecycle.Next(item, created).Action != lifecycle.Deliver {
		t.Errorf("summary %v, then %+v", item.Status.Summary, lifecycle.Next(item, created))
	}
}

// R2.7: every change of phase sets the time of the last check.
func TestAChangeOfPhaseIsAlwaysTimed(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(item *v1alpha1.FeedItem, at time.Time){
		"a post begins": func(item *v1alpha1.FeedItem, at time.Time) { intend(item, here, at) },
		"a person wants it tried now": func(item *v1alpha1.FeedItem, at time.Time) {
			token("again")(item)
			lifecycle.RetryNow(item, usual, at)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			item := toPost(here)
			deliver(t, item, here, created, failed(v1alpha1.CategoryAPI, created))
			later := created.Add(time.Hour)
			change(item, later)
			if item.Status.Phase != v1alpha1.PhasePending || !item.Status.LastCheckTime.Time.Equal(later) {
				t.Errorf("%s, checked at %s", item.Status.Phase, item.Status.LastCheckTime)
			}
		})
	}
}

// An attempt was cut off between the last result and the end.
func TestCompleteEndsAnItemByItsDeliveries(t *testing.T) {
	t.Parallel()
	for state, want := range map[v1alpha1.DeliveryState]v1alpha1.Phase{
		v1alpha1.DeliveryDone: v1alpha1.PhaseProcessed, v1alpha1.DeliveryDropped: v1alpha1.PhaseProcessed,
		v1alpha1.DeliveryDead: v1alpha1.PhaseFailed,
	} {
		item := toPost(here)
		lifecycle.RowOf(item, here).State = state
		if step := lifecycle.Next(item, created); step.Action != lifecycle.Finish {
			t.Errorf("%s: %+v", state, step)
		}
		lifecycle.Complete(item, usual, created.Add(time.Minute))
		checkConditions(t, item)
		if item.Status.Phase != want || !item.Status.LastCheckTime.Time.Equal(created.Add(time.Minute)) {
			t.Errorf("%s: %s, checked at %s", state, item.Status.Phase, item.Status.LastCheckTime)
		}
	}
}

// R3.4: a destination's own policy.
func TestDeliveryPolicyOfADestination(t *testing.T) {
	t.Parallel()
	retries, factor := int32(2), int32(3)
	destination := &v1alpha1.FeedDestination{Spec: v1alpha1.FeedDestinationSpec{Retry: &v1alpha1.DeliveryRetryPolicy{
		MaxRetries: &retries, Multiplier: &factor,
		InitialDelay: &metav1.Duration{Duration: time.Minute}, MaxDelay: &metav1.Duration{Duration: time.Hour},
	}}}
	want := backoff.Policy{MaxRetries: 2, InitialDelay: time.Minute, MaxDelay: time.Hour, Multiplier: 3}
	if diff := cmp.Diff(want, lifecycle.DeliveryPolicyOf(destination).Policy); diff != "" {
		t.Error(diff)
	}
	want = backoff.Policy{MaxRetries: 10, InitialDelay: 5 * time.Minute, MaxDelay: 24 * time.Hour, Multiplier: 2}
	if diff := cmp.Diff(want, posting.Policy); diff != "" {
		t.Errorf("without a policy: %s", diff)
	}
}
