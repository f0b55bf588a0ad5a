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

// R3.4: one attempt and ten retries; the waits double up to a day.
func TestADeliveryThatAlwaysFailsEndsAfterTenRetries(t *testing.T) {
	t.Parallel()
	for name, fails := range map[string]func(item *v1alpha1.FeedItem, now time.Time) (ended time.Time){
		"refused for now": func(item *v1alpha1.FeedItem, now time.Time) time.Time {
			lifecycle.SettleDelivery(item, result(intend(item, here, now), failed(v1alpha1.CategoryRateLimit, now)), posting, now)
			return now
		},
		"uncertain, then missing": func(item *v1alpha1.FeedItem, now time.Time) time.Time {
			row := intend(item, here, now)
			lifecycle.SettleDelivery(item, result(row, failed(v1alpha1.CategoryAPI, now), isUncertain), posting, now)
			lifecycle.SettleDelivery(item, result(row, missing), posting, row.NextRetryTime.Time)
			return now
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			item, now := toPost(here), created
			row := lifecycle.RowOf(item, here)
			for attempt, minutes := range []int{5, 10, 20, 40, 80, 160, 320, 640, 1280, 1440} {
				if step := lifecycle.Next(item, now); step.Action != lifecycle.Deliver {
					t.Fatalf("attempt %d is not made: %+v", attempt+1, step)
				}
				ended := fails(item, now)
				if row.State != v1alpha1.DeliveryQueued || int(item.Status.RetryCount) != attempt {
					t.Fatalf("%s with %d retries after attempt %d", row.State, item.Status.RetryCount, attempt+1)
				}
				wait, promised := row.NextRetryTime.Sub(ended), time.Duration(minutes)*time.Minute
				if wait < promised || wait > min(promised*12/10, 24*time.Hour)+time.Second {
					t.Errorf("waits %s after attempt %d, want %s and a fifth more at most", wait, attempt+1, promised)
				}
				now = row.NextRetryTime.Time
			}
			fails(item, now)
			if row.State != v1alpha1.DeliveryDead || row.FailedAttempts != 11 {
				t.Errorf("after eleven attempts: %s, %d failed", row.State, row.FailedAttempts)
			}
			if item.Status.Phase != v1alpha1.PhaseFailed || item.Status.Reason != v1alpha1.ReasonRetryLimitExceeded || item.Status.RetryCount != 10 {
				t.Errorf("item %s/%s with %d retries", item.Status.Phase, item.Status.Reason, item.Status.RetryCount)
			}
		})
	}
}

// R3.4: at most 7 days, whatever the policy says.
func TestADeliveryIsTriedForSevenDaysAtMost(t *testing.T) {
	t.Parallel()
	const week = 7 * 24 * time.Hour
	patient := posting
	patient.MaxRetries = 100
	type change = func(*lifecycle.DeliveryOutcome)
	for name, test := range map[string]struct {
		outcome []change
		want    v1alpha1.Reason
	}{
		"a call": {[]change{failed(v1alpha1.CategoryAPI, created)}, v1alpha1.ReasonRetryLimitExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, after := range []time.Duration{week - time.Second, week} {
				item := toPost(here)
				row := intend(item, here, created)
				lifecycle.SettleDelivery(item, result(row, test.outcome...), patient, created.Add(after))
				dead := row.State == v1alpha1.DeliveryDead
				if dead != (after == week) || dead && item.Status.Reason != test.want {
					t.Errorf("%s/%s after %s", row.State, item.Status.Reason, after)
				}
			}
		})
	}
}

// R3.4, R4.4: what cannot be found out, because looking fails time and again, is left to a person.
func TestLookingForAPostEndsAtTheLimit(t *testing.T) {
	t.Parallel()
	item := toPost(here)
	row := intend(item, here, created)
	now := row.NextRetryTime.Time
	for looks := range 21 { // ten more than it may be posted: it must be known
		if row.State != v1alpha1.DeliveryIntent || !lifecycle.MustLookUp(row) {
			t.Fatalf("%s after %d look-ups", row.State, looks)
		}
		settleDelivery(t, item, result(row, lookingFailed(now)), now)
		if row.NextRetryTime != nil {
			if row.NextRetryTime.Sub(now) < 5*time.Minute {
				t.Errorf("looks again after %s", row.NextRetryTime.Sub(now))
			}
			now = row.NextRetryTime.Time
		}
	}
	if row.State != v1alpha1.DeliveryDead || item.Status.Reason != v1alpha1.ReasonDeliveryUncertain {
		t.Errorf("%s/%s after 21 look-ups", row.State, item.Status.Reason)
	}
	if diff := cmp.Diff([]string{"It broke."}, row.Failure.Chain); diff != "" {
		t.Errorf("why nobody could look: %s", diff)
	}
}

// R3.2: one retry, then it is permanent; also where it had to be looked for in between.
func TestAnUnknownFailureOfADeliveryGetsOneRetry(t *testing.T) {
	t.Parallel()
	for name, looks := range map[string]bool{"certain": false, "uncertain, then missing": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			item, now := toPost(here), created
			row := lifecycle.RowOf(item, here)
			for _, want := range []v1alpha1.DeliveryState{v1alpha1.DeliveryQueued, v1alpha1.DeliveryDead} {
				outcome := result(intend(item, here, now), failed(v1alpha1.CategoryUnknown, now))
				outcome.Uncertain = looks
				settleDelivery(t, item, outcome, now)
				if looks {
					now = row.NextRetryTime.Time
					settleDelivery(t, item, result(row, missing), now)
				}
				if row.State != want {
					t.Fatalf("%s, want %s", row.State, want)
				}
				if row.NextRetryTime != nil {
					now = row.NextRetryTime.Time
				}
			}
			if item.Status.Reason != v1alpha1.ReasonRetryLimitExceeded {
				t.Errorf("reason %s", item.Status.Reason)
			}
		})
	}
}

// R3.4: what the other side asks for moves a retry later, never earlier.
func TestRetryAfterOnlyMovesADeliveryLater(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for name, test := range map[string]struct{ asked, from, to time.Duration }{
		"shorter than the wait": {time.Second, 5 * time.Minute, 6 * time.Minute},
		"nonsense":              {-time.Hour, 5 * time.Minute, 6 * time.Minute},
		"longer than the wait":  {3 * time.Hour, 3 * time.Hour, 3 * time.Hour},
		"longer than all waits": {365 * day, 7 * day, 7 * day},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, outcome := range []func(*lifecycle.DeliveryOutcome){failed(v1alpha1.CategoryRateLimit, created), lookingFailed(created)} {
				item := toPost(here)
				row := intend(item, here, created)
				settleDelivery(t, item, result(row, outcome, withRetryAfter(test.asked)), created)
				if wait := row.NextRetryTime.Sub(created); wait < test.from || wait > test.to+time.Second {
					t.Errorf("waits %s, want %s to %s", wait, test.from, test.to)
				}
			}
		})
	}
}
