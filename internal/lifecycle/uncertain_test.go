// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle_test

import (
	"slices"
	"testing"
	"time"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
)

// R4.4
func TestOnlyWhatMayHaveBeenPublishedIsLookedFor(t *testing.T) {
	t.Parallel()
	item := toPost(here)
	row := lifecycle.RowOf(item, here)
	if lifecycle.MustLookUp(row) {
		t.Error("what was never posted is looked for")
	}
	settleDelivery(t, item, result(intend(item, here, created), failed(v1alpha1.CategoryRateLimit, created)), created)
	if lifecycle.MustLookUp(row) {
		t.Error("what was refused is looked for")
	}
	settleDelivery(t, item, result(intend(item, here, created), failed(v1alpha1.CategoryAPI, created), isUncertain), created)
	if !lifecycle.MustLookUp(row) {
		t.Error("what may have been published is not looked for")
	}
	settleDelivery(t, item, result(row, posted), created)
	if lifecycle.MustLookUp(row) {
		t.Error("what is done is looked for")
	}
	retried := toPost(here)
	deliver(t, retried, here, created, unverifiable)
	release(t, retried, "again", created)
	if !lifecycle.MustLookUp(lifecycle.RowOf(retried, here)) {
		t.Error("what may have been published, was given up and is retried is not looked for")
	}
}

// R4.4: where the other side cannot be asked, the key protects a post for 50 minutes.
func TestAKeyIsTrustedForFiftyMinutes(t *testing.T) {
	t.Parallel()
	item := toPost(here)
	row := intend(item, here, created)
	if !row.FirstAttemptTime.Time.Equal(created) {
		t.Fatalf("first attempt at %v", row.FirstAttemptTime)
	}
	for name, test := range map[string]struct {
		honoured     bool
		after, known time.Duration
		want         bool
	}{
		"at once":                         {true, 0, 0, true},
		"a second before the end":         {true, lifecycle.TrustKeyFor - time.Second, lifecycle.TrustKeyFor - time.Second, true},
		"at the end":                      {true, lifecycle.TrustKeyFor, 0, false},
		"at the end, by a clock set back": {true, time.Minute, lifecycle.TrustKeyFor, false},
		"a server that ignores it":        {false, 0, 0, false},
		"a server that forgot both":       {false, time.Hour, 0, false},
	} {
		if got := lifecycle.MayRepeat(row, test.honoured, created.Add(test.after), test.known); got != test.want {
			t.Errorf("%s: got %t", name, got)
		}
	}
	if lifecycle.TrustKeyFor != 50*time.Minute {
		t.Errorf("a key is trusted for %s", lifecycle.TrustKeyFor)
	}
}

// R3.4, R4.4: a protected delivery is posted again when its retry is due, and not before.
func TestAProtectedDeliveryWaitsForItsRetry(t *testing.T) {
	t.Parallel()
	item := toPost(here)
	ended := created.Add(10 * time.Second)
	row := intend(item, here, created)
	if lifecycle.Postpones(row, item, posting, row.NextRetryTime.Time) {
		t.Error("a cut-off delivery waits for more than its settle time")
	}
	settleDelivery(t, item, result(row, failed(v1alpha1.CategoryAPI, ended), isUncertain), ended)
	looked := row.NextRetryTime.Time
	if !lifecycle.Postpones(row, item, posting, looked) {
		t.Fatal("it is posted again at once")
	}
	settleDelivery(t, item, result(row, protected), looked)
	at := row.NextRetryTime.Time
	if !lifecycle.Postpones(row, item, posting, at.Add(-time.Second)) || lifecycle.Postpones(row, item, posting, at) {
		t.Errorf("it is not posted again at %s", at)
	}
	if !lifecycle.MustLookUp(row) {
		t.Error("it is forgotten that it may have been published")
	}
}

// R4.4: what a call that trusts in the key has come to says nothing of the calls before it.
func TestARepeatedPostStaysInDoubt(t *testing.T) {
	t.Parallel()
	type change = func(*lifecycle.DeliveryOutcome)
	for name, outcome := range map[string][]change{
		"a refusal for now":            {failed(v1alpha1.CategoryRateLimit, created)},
		"a refusal for good":           {failed(v1alpha1.CategoryValidation, created)},
		"refused credentials":          {failed(v1alpha1.CategoryAuth, created)},
		"one that does not count":      {again},
		"one that may have worked too": {failed(v1alpha1.CategoryNetwork, created), isUncertain},
	} {
		for how, before := range map[string][]change{
			"a failed call": {failed(v1alpha1.CategoryNetwork, created), isUncertain}, "a cut-off": nil,
		} {
			t.Run(name+" after "+how, func(t *testing.T) {
				t.Parallel()
				item := toPost(here)
				row := intend(item, here, created)
				if before != nil {
					settleDelivery(t, item, result(row, before...), created)
				}
				repeated := created.Add(10 * time.Minute)
				intend(item, here, repeated)
				if item.Status.Phase != v1alpha1.PhasePending || item.Status.Reason != v1alpha1.ReasonNone {
					t.Errorf("%s/%s while it is posted again", item.Status.Phase, item.Status.Reason)
				}
				settleDelivery(t, item, result(row, outcome...), repeated)
				if row.State != v1alpha1.DeliveryIntent || !lifecycle.MustLookUp(row) {
					t.Errorf("%s: the earlier attempt is forgotten", row.State)
				}
				if !row.FirstAttemptTime.Time.Equal(created) {
					t.Errorf("the key is trusted anew, from %s", row.FirstAttemptTime)
				}
			})
		}
	}
}

// R3.2, R3.4, R4.4: a key is no way around the retry policy.
func TestAProtectedDeliveryEndsAtTheLimit(t *testing.T) {
	t.Parallel()
	few := posting
	few.MaxRetries, few.InitialDelay = 1, time.Second // shorter than the settle time
	for name, test := range map[string]struct {
		category v1alpha1.Category
		policy   lifecycle.DeliveryPolicy
	}{
		"by count": {v1alpha1.CategoryAPI, few}, "of a kind unknown": {v1alpha1.CategoryUnknown, posting},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			item, now := toPost(here), created
			row := lifecycle.RowOf(item, here)
			calls := 0
			for ; row.State != v1alpha1.DeliveryDead && calls < 10; calls++ {
				intend(item, here, now)
				lifecycle.SettleDelivery(item, result(row, failed(test.category, now), isUncertain), test.policy, now)
				now = row.NextRetryTime.Time
				if lifecycle.Postpones(row, item, test.policy, now) {
					lifecycle.SettleDelivery(item, result(row, protected), test.policy, now)
					if row.NextRetryTime != nil {
						now = row.NextRetryTime.Time
					}
				}
			}
			if calls != 2 || item.Status.Reason != v1alpha1.ReasonDeliveryUncertain {
				t.Errorf("%d calls, then %s", calls, item.Status.Reason)
			}
		})
	}
}

// R5.1: of a post of which nobody can say whether it was made, it is known what was answered.
func TestAPostInDoubtKeepsWhatWasAnswered(t *testing.T) {
	t.Parallel()
	item := toPost(here)
	row := intend(item, here, created)
	answered := func(outcome *lifecycle.DeliveryOutcome) {
		outcome.Failure.HTTPStatus, outcome.Failure.Message = 500, "The server answered 500."
	}
	settleDelivery(t, item, result(row, failed(v1alpha1.CategoryAPI, created), isUncertain, answered), created)
	settleDelivery(t, item, result(row, unverifiable), created.Add(time.Hour))
	if got := row.Failure; got == nil || got.Type != lifecycle.TypeUncertain || got.HTTPStatus != 500 || !slices.Equal(got.Chain, []string{"The server answered 500."}) {
		t.Errorf("%s: %+v", row.State, got)
	}
}
