// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
)

func release(t *testing.T, item *v1alpha1.FeedItem, value string, at time.Time) {
	t.Helper()
	token(value)(item)
	if step := lifecycle.Next(item, at); step.Action != lifecycle.Reset {
		t.Fatalf("the token leads to %+v", step)
	}
	lifecycle.RetryNow(item, usual, at)
	checkConditions(t, item)
	if item.Status.LastHandledRetry != value {
		t.Error("the token is not noted")
	}
}

// R3.7: a failed item gets its whole retry budget back.
func TestAReleasedDeliveryHasItsWholeBudget(t *testing.T) {
	t.Parallel()
	item := toPost(here, there)
	deliver(t, item, there, created, posted)
	done := *lifecycle.RowOf(item, there)
	for range 11 {
		deliver(t, item, here, created, failed(v1alpha1.CategoryAPI, created))
	}
	if item.Status.Phase != v1alpha1.PhaseFailed {
		t.Fatalf("phase %s", item.Status.Phase)
	}
	now := created.Add(30 * 24 * time.Hour) // long after the seven days
	release(t, item, "again", now)
	if item.Status.Phase != v1alpha1.PhasePending || item.Status.RetryCount != 0 || item.Status.FirstFailureTime != nil {
		t.Errorf("%s with %d retries, failed first at %v", item.Status.Phase, item.Status.RetryCount, item.Status.FirstFailureTime)
	}
	if row := lifecycle.RowOf(item, here); lifecycle.MustLookUp(row) || row.Failure != nil {
		t.Errorf("a post that was refused is to be looked for: %+v", row)
	}
	for want := range int32(10) {
		deliver(t, item, here, now, failed(v1alpha1.CategoryAPI, now))
		if item.Status.Phase != v1alpha1.PhaseDeferred || item.Status.RetryCount != want {
			t.Fatalf("%s with %d retries, want %d", item.Status.Phase, item.Status.RetryCount, want)
		}
	}
	deliver(t, item, here, now, failed(v1alpha1.CategoryAPI, now))
	if item.Status.Phase != v1alpha1.PhaseFailed {
		t.Errorf("%s after eleven more attempts", item.Status.Phase)
	}
	if diff := cmp.Diff(done, *lifecycle.RowOf(item, there)); diff != "" { // R2.8
		t.Errorf("the post that was made: %s", diff)
	}
}

// R3.7: the item's own waiting time is ignored; that of a call of which nobody knows is not.
func TestAForcedRetryMakesDue(t *testing.T) {
	t.Parallel()
	later := created.Add(time.Minute)
	for name, test := range map[string]struct {
		do         func(*testing.T, *v1alpha1.FeedItem)
		wantState  v1alpha1.DeliveryState
		wantLook   bool
		wantAction lifecycle.Action
	}{
		"one that waits": {func(t *testing.T, item *v1alpha1.FeedItem) {
			deliver(t, item, here, created, failed(v1alpha1.CategoryAPI, created))
		}, v1alpha1.DeliveryQueued, false, lifecycle.Deliver},
		"one that is under way": {func(_ *testing.T, item *v1alpha1.FeedItem) {
			intend(item, here, later)
		}, v1alpha1.DeliveryIntent, true, lifecycle.Wait},
		"one that is to be looked for": {func(t *testing.T, item *v1alpha1.FeedItem) {
			deliver(t, item, here, later, failed(v1alpha1.CategoryAPI, later), isUncertain)
		}, v1alpha1.DeliveryIntent, true, lifecycle.Wait},
		"one that was given up": {func(t *testing.T, item *v1alpha1.FeedItem) {
			deliver(t, item, here, created, failed(v1alpha1.CategoryAuth, created))
		}, v1alpha1.DeliveryQueued, false, lifecycle.Deliver},
		"one of which nobody knows": {func(t *testing.T, item *v1alpha1.FeedItem) {
			deliver(t, item, here, created, unverifiable)
		}, v1alpha1.DeliveryQueued, true, lifecycle.Deliver},
		"one that is not wanted any more": {func(t *testing.T, item *v1alpha1.FeedItem) {
			settleDelivery(t, item, result(lifecycle.RowOf(item, here), dropped), created)
			lifecycle.RowOf(item, there).State = v1alpha1.DeliveryDead
			lifecycle.Complete(item, usual, created)
			lifecycle.RowOf(item, there).State = v1alpha1.DeliveryDropped
		}, v1alpha1.DeliveryDropped, false, lifecycle.Finish},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			item := toPost(here, there)
			if name != "one that is not wanted any more" {
				deliver(t, item, there, created, posted)
			}
			test.do(t, item)
			release(t, item, "again", later)
			row := lifecycle.RowOf(item, here)
			if row.State != test.wantState || lifecycle.MustLookUp(row) != test.wantLook {
				t.Errorf("%s, to be looked for: %t", row.State, lifecycle.MustLookUp(row))
			}
			if step := lifecycle.Next(item, later); step.Action != test.wantAction {
				t.Errorf("then %+v, want action %d", step, test.wantAction)
			}
		})
	}
}

// R3.7: a token is for the whole item, whichever of its deliveries are due by themselves.
func TestATokenReachesAllDeliveries(t *testing.T) {
	t.Parallel()
	item := toPost(here, there)
	deliver(t, item, here, created, failed(v1alpha1.CategoryAuth, created))
	item.Status.Deliveries = append(item.Status.Deliveries, v1alpha1.Delivery{
		Destination: "third", State: v1alpha1.DeliveryQueued, NextRetryTime: &metav1.Time{Time: created.Add(time.Hour)},
	})
	release(t, item, "again", created)
	for i := range item.Status.Deliveries {
		row := &item.Status.Deliveries[i]
		if at, open := lifecycle.Due(row, created); !open || at.After(created) {
			t.Errorf("%s is %s, due at %s", row.Destination, row.State, at)
		}
	}
	if step := lifecycle.Next(item, created); step.Action != lifecycle.Deliver {
		t.Errorf("then %+v", step)
	}
}

// R4.4: after a forced retry, what may have been published is looked for, and posted again only if
// it is not there or nobody can look.
func TestAReleasedUncertainDelivery(t *testing.T) {
	t.Parallel()
	now := created.Add(8 * 24 * time.Hour)
	released := func(t *testing.T) (*v1alpha1.FeedItem, *v1alpha1.Delivery) {
		t.Helper()
		item := toPost(here)
		deliver(t, item, here, created, unverifiable)
		release(t, item, "again", now)
		return item, lifecycle.RowOf(item, here)
	}
	t.Run("is found", func(t *testing.T) {
		t.Parallel()
		item, row := released(t)
		settleDelivery(t, item, result(row, posted), now)
		if item.Status.Phase != v1alpha1.PhaseProcessed {
			t.Errorf("%s", item.Status.Phase)
		}
	})
	t.Run("is missing, and starts anew", func(t *testing.T) {
		t.Parallel()
		item, row := released(t)
		settleDelivery(t, item, result(row, missing), now)
		if step := lifecycle.Next(item, now); step.Action != lifecycle.Deliver || lifecycle.MustLookUp(row) {
			t.Errorf("then %+v, to be looked for: %t", step, lifecycle.MustLookUp(row))
		}
		deliver(t, item, here, now, failed(v1alpha1.CategoryAPI, now))
		if item.Status.Phase != v1alpha1.PhaseDeferred {
			t.Errorf("%s after its first failure", item.Status.Phase)
		}
	})
	t.Run("cannot be looked for, and a person has decided", func(t *testing.T) {
		t.Parallel()
		item, row := released(t)
		if !lifecycle.MayRepeat(row, false, now, 0) || lifecycle.Postpones(row, item, posting, now) {
			t.Fatal("it is not posted")
		}
		deliver(t, item, here, now, failed(v1alpha1.CategoryAPI, now))
		if row.State != v1alpha1.DeliveryQueued || lifecycle.MustLookUp(row) {
			t.Errorf("%s after its first failure, to be looked for: %t", row.State, lifecycle.MustLookUp(row))
		}
	})
	t.Run("is still looked for after a look-up that failed", func(t *testing.T) {
		t.Parallel()
		item := toPost(here)
		deliver(t, item, here, created, unverifiable)
		soon := created.Add(time.Hour)
		release(t, item, "again", soon)
		row := lifecycle.RowOf(item, here)
		for range 3 {
			settleDelivery(t, item, result(row, lookingFailed(soon)), soon)
			if row.State != v1alpha1.DeliveryQueued || !lifecycle.MustLookUp(row) {
				t.Fatalf("%s, to be looked for: %t", row.State, lifecycle.MustLookUp(row))
			}
			if item.Status.Phase != v1alpha1.PhaseDeferred || row.NextRetryTime.Sub(soon) < 5*time.Minute {
				t.Errorf("%s until %s", item.Status.Phase, row.NextRetryTime)
			}
			soon = row.NextRetryTime.Time
		}
	})
}

// R3.8: items that failed for refused credentials, and only they, revive when these are replaced.
func TestRevived(t *testing.T) {
	t.Parallel()
	type stage = v1alpha1.Stage
	refusedProvider := func(item *v1alpha1.FeedItem) {
		lifecycle.Settle(item, lifecycle.Outcome{
			Failure: failure(v1alpha1.CategoryAuth, false), Reason: v1alpha1.ReasonAPIFailed,
			ProviderFailures: []v1alpha1.ProviderFailure{
				{Name: "openai", Category: v1alpha1.CategoryValidation, Count: 1, Time: metav1.NewTime(created)},
				{Name: "gemini", Category: v1alpha1.CategoryAuth, Count: 1, Time: metav1.NewTime(created)},
			},
		}, usual, created)
	}
	refusedProviderItem := func(*testing.T) *v1alpha1.FeedItem { return newItem(refusedProvider) }
	refusedDelivery := func(t *testing.T) *v1alpha1.FeedItem {
		t.Helper()
		item := toPost(here, there)
		deliver(t, item, here, created, failed(v1alpha1.CategoryAuth, created))
		deliver(t, item, there, created, posted)
		return item
	}
	for name, test := range map[string]struct {
		item  func(*testing.T) *v1alpha1.FeedItem
		stage stage
		name  string
		cured time.Duration // after the failure
		want  bool
	}{
		"the provider was cured":                     {refusedProviderItem, v1alpha1.StageSummarize, "gemini", time.Second, true},
		"the provider was cured before":              {refusedProviderItem, v1alpha1.StageSummarize, "gemini", -time.Second, false},
		"the provider was cured in the same instant": {refusedProviderItem, v1alpha1.StageSummarize, "gemini", 0, false},
		"a provider that failed for another reason":  {refusedProviderItem, v1alpha1.StageSummarize, "openai", time.Second, false},
		"a provider that was never asked":            {refusedProviderItem, v1alpha1.StageSummarize, "claude", time.Second, false},
		"a destination of the provider's name":       {refusedProviderItem, v1alpha1.StageDeliver, "gemini", time.Second, false},
		"the destination was cured":                  {refusedDelivery, v1alpha1.StageDeliver, here, time.Second, true},
		"the destination was cured before":           {refusedDelivery, v1alpha1.StageDeliver, here, -time.Second, false},
		"a destination that works":                   {refusedDelivery, v1alpha1.StageDeliver, there, time.Second, false},
		"a provider of the destination's name":       {refusedDelivery, v1alpha1.StageSummarize, here, time.Second, false},
		"a provider of an item that has its summary": {func(t *testing.T) *v1alpha1.FeedItem {
			t.Helper()
			item := refusedDelivery(t)
			item.Status.ProviderFailures = newItem(refusedProvider).Status.ProviderFailures
			return item
		}, v1alpha1.StageSummarize, "gemini", time.Second, false},
		"the item is going": {func(*testing.T) *v1alpha1.FeedItem {
			return newItem(refusedProvider, phase(v1alpha1.PhaseDeferred))
		}, v1alpha1.StageSummarize, "gemini", time.Second, false},
		"the item failed for another reason": {func(*testing.T) *v1alpha1.FeedItem {
			return newItem(refusedProvider, func(item *v1alpha1.FeedItem) { item.Status.Reason = v1alpha1.ReasonRetryLimitExceeded })
		}, v1alpha1.StageSummarize, "gemini", time.Second, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := lifecycle.Revived(test.item(t), func(stage v1alpha1.Stage, name string) time.Time {
				if stage != test.stage || name != test.name {
					return time.Time{}
				}
				return created.Add(test.cured)
			})
			if got != test.want {
				t.Errorf("revived: %t", got)
			}
		})
	}
}

// R3.8, R4.4: a cure brings back what it cures. It is not a person who has looked.
func TestACureLeavesOtherDeadDeliveries(t *testing.T) {
	t.Parallel()
	item := toPost(here, there)
	deliver(t, item, here, created, failed(v1alpha1.CategoryAuth, created))
	deliver(t, item, there, created, unverifiable)
	item.Status.LastHandledRetry = "old"
	token("old")(item)
	cured := created.Add(time.Minute)
	if !lifecycle.Revived(item, func(v1alpha1.Stage, string) time.Time { return cured }) {
		t.Fatalf("%s/%s is not revived", item.Status.Phase, item.Status.Reason)
	}
	lifecycle.RetryNow(item, usual, cured)
	checkConditions(t, item)
	if row := lifecycle.RowOf(item, here); row.State != v1alpha1.DeliveryQueued || row.FailedAttempts != 0 {
		t.Errorf("%s is %s with %d failed attempts", here, row.State, row.FailedAttempts)
	}
	if row := lifecycle.RowOf(item, there); row.State != v1alpha1.DeliveryDead {
		t.Errorf("%s is %s, and nobody has looked", there, row.State)
	}
	deliver(t, item, here, cured, posted)
	if item.Status.Phase != v1alpha1.PhaseFailed || item.Status.Reason != v1alpha1.ReasonDeliveryUncertain {
		t.Errorf("then %s/%s", item.Status.Phase, item.Status.Reason)
	}
}

// R3.7: the same token never fires twice.
func TestATokenNeverActsTwice(t *testing.T) {
	t.Parallel()
	t.Run("when the annotation was taken away and comes back", func(t *testing.T) {
		t.Parallel()
		item := newItem(token("1"))
		broken := failure(v1alpha1.CategoryAPI, true)
		lifecycle.Settle(item, lifecycle.Outcome{Token: "1", Failure: broken}, usual, created)
		item.Annotations = nil
		lifecycle.Settle(item, lifecycle.Outcome{Failure: broken}, usual, created)
		token("1")(item)
		if step := lifecycle.Next(item, created); step.Action != lifecycle.Wait {
			t.Errorf("got %+v", step)
		}
	})
	t.Run("when a result comes late", func(t *testing.T) {
		t.Parallel()
		item := toPost(here, there)
		item.Annotations = map[string]string{v1alpha1.AnnotationRetry: "1"}
		late := result(intend(item, here, created), failed(v1alpha1.CategoryAPI, created))
		late.Token = "1"
		release(t, item, "2", created)
		settleDelivery(t, item, late, created)
		deliver(t, item, there, created, failed(v1alpha1.CategoryAPI, created))
		if step := lifecycle.Next(item, created); step.Action != lifecycle.Wait {
			t.Errorf("the second token acts again: %+v", step)
		}
	})
	t.Run("when all is done", func(t *testing.T) {
		t.Parallel()
		item := toPost(here)
		outcome := result(intend(item, here, created), posted)
		token("late")(item)
		settleDelivery(t, item, outcome, created)
		if step := lifecycle.Next(item, created); step.Action != lifecycle.Rest {
			t.Errorf("got %+v", step)
		}
	})
}
