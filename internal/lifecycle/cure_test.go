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

// R2.2: every pair of phase and reason is in the documentation of Reason.
func TestPhasesAndReasonsAreDocumented(t *testing.T) {
	t.Parallel()
	rows := documented(t)
	for name, s := range stories() {
		if s.reason != v1alpha1.ReasonNone && !slices.Contains(rows[s.reason], s.phase) {
			t.Errorf("%s: %s/%s is not documented", name, s.phase, s.reason)
		}
	}
}

// R3.8: refused credentials bring an item back when they are replaced, whatever else was given up.
func TestACureRevivesWhateverElseIsDead(t *testing.T) {
	t.Parallel()
	item := toPost(here, there)
	for range 11 {
		deliver(t, item, here, created, failed(v1alpha1.CategoryAPI, created))
	}
	deliver(t, item, there, created, failed(v1alpha1.CategoryAuth, created))
	cured := func(v1alpha1.Stage, string) time.Time { return created.Add(time.Minute) }
	if !lifecycle.Revived(item, cured) {
		t.Errorf("%s/%s, and the cure of %s changes nothing", item.Status.Phase, item.Status.Reason, there)
	}
}

// R3.8, R4.5: a delivery that is cured is not held back by another that is retried for days.
func TestACureDoesNotWaitForOtherDeliveries(t *testing.T) {
	t.Parallel()
	item := toPost(here, there)
	deliver(t, item, here, created, failed(v1alpha1.CategoryAuth, created))
	for range 8 {
		deliver(t, item, there, created, failed(v1alpha1.CategoryAPI, created))
	}
	cured := func(v1alpha1.Stage, string) time.Time { return created.Add(time.Minute) }
	if !lifecycle.Revived(item, cured) {
		t.Errorf("%s is cured, but waits until %s has ended", here, there)
	}
}

// R3.4: what a server asks for with an error after which the post is looked for counts too.
func TestRetryAfterOfAnUncertainCall(t *testing.T) {
	t.Parallel()
	item := toPost(here)
	deliver(t, item, here, created, failed(v1alpha1.CategoryAPI, created), isUncertain, withRetryAfter(time.Hour))
	row := lifecycle.RowOf(item, here)
	settleDelivery(t, item, result(row, missing), row.NextRetryTime.Time)
	if wait := row.NextRetryTime.Sub(created); wait < time.Hour {
		t.Errorf("posted again after %s", wait)
	}
}

// R3.7: a delivery that was given up has its whole budget back, also for looking, also after a week.
func TestAReleasedDeliveryIsLookedForMoreThanOnce(t *testing.T) {
	t.Parallel()
	item := toPost(here)
	deliver(t, item, here, created, unverifiable)
	now := created.Add(8 * 24 * time.Hour)
	release(t, item, "again", now)
	row := lifecycle.RowOf(item, here)
	settleDelivery(t, item, result(row, lookingFailed(now)), now)
	if row.State == v1alpha1.DeliveryDead {
		t.Error("given up after the first look-up that failed")
	}
}

// R4.4: the last call may have worked, and one failed look is not whatever it takes to know.
func TestTheLastAttemptIsLookedForMoreThanOnce(t *testing.T) {
	t.Parallel()
	item := toPost(here)
	row := lifecycle.RowOf(item, here)
	for range 10 {
		deliver(t, item, here, created, failed(v1alpha1.CategoryRateLimit, created))
	}
	deliver(t, item, here, created, failed(v1alpha1.CategoryAPI, created), isUncertain)
	settleDelivery(t, item, result(row, lookingFailed(created)), created)
	if row.State == v1alpha1.DeliveryDead {
		t.Errorf("%s with %d of 10 retries after the first look-up that failed", item.Status.Reason, item.Status.RetryCount)
	}
}

// R2.8: the result of an uncertain call counts once, also when it is written again because the answer
// of the API server was lost.
func TestAnUncertainResultCountsOnce(t *testing.T) {
	t.Parallel()
	item := toPost(here)
	outcome := result(intend(item, here, created), failed(v1alpha1.CategoryAPI, created), isUncertain)
	settleDelivery(t, item, outcome, created)
	if lifecycle.SettleDelivery(item, outcome, posting, created) {
		t.Error("settled again")
	}
	if row := lifecycle.RowOf(item, here); row.FailedAttempts != 1 {
		t.Errorf("%d failed attempts", row.FailedAttempts)
	}
}
