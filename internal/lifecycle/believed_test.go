// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
)

// aYear is how far a clock was ahead for a moment.
const aYear = 8760 * time.Hour

// R3.14, R4.4: a key is not trusted because the first attempt was noted by a clock that was ahead: the server has forgotten it.
func TestAKeyIsNotTrustedForAYear(t *testing.T) {
	t.Parallel()
	item := toPost(here)
	row := intend(item, here, created.Add(aYear))
	if lifecycle.MayRepeat(row, true, created.Add(2*time.Hour), 0) {
		t.Error("it is posted again in the trust in a key of which nobody knows how old it is")
	}
	if row = intend(toPost(here), here, created.Add(time.Second)); !lifecycle.MayRepeat(row, true, created, 0) {
		t.Error("two replicas that are a second apart are one clock that is wrong")
	}
}

// R3.14, R3.4: what failed by a clock that was ahead is repeated as late as any other, and does not wait a year for it.
func TestAFailureOfNextYearIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	t.Run("it was looked for, and is missing", func(t *testing.T) {
		t.Parallel()
		item := toPost(here)
		settleDelivery(t, item, result(intend(item, here, created.Add(aYear)), failed(v1alpha1.CategoryAPI, created.Add(aYear)), isUncertain), created.Add(aYear))
		settleDelivery(t, item, result(lifecycle.RowOf(item, here), missing), created)
		at, open := lifecycle.Due(lifecycle.RowOf(item, here), created)
		if wait := at.Sub(created); !open || wait < 5*time.Minute || wait > 6*time.Minute+time.Second {
			t.Errorf("open: %t, tried again in %s", open, wait)
		}
	})
	t.Run("its key protects it", func(t *testing.T) {
		t.Parallel()
		item := toPost(here)
		row := intend(item, here, created)
		settleDelivery(t, item, result(row, failed(v1alpha1.CategoryAPI, created.Add(aYear)), isUncertain), created.Add(aYear))
		row.Failure.Time = metav1.NewTime(created.Add(aYear))
		if lifecycle.Postpones(row, item, posting, created.Add(time.Minute)) {
			t.Error("it is put off for a year")
		}
	})
}

// R3.14, R3.7: a person who retries what may have been posted waits for the end of a call, and not for a year.
func TestAReleaseDoesNotWaitForNextYear(t *testing.T) {
	t.Parallel()
	item := toPost(here)
	deliver(t, item, here, created.Add(aYear), unverifiable)
	row := lifecycle.RowOf(item, here)
	row.Failure.Time = metav1.NewTime(created)
	now := created.Add(time.Hour)
	step := lifecycle.RetryRequests{Source: now}.Next(item, lifecycle.Step{Action: lifecycle.Rest}, now)
	if step.Action != lifecycle.Deliver {
		t.Errorf("then %+v", step)
	}
}

// R3.14, R4.4: what may have been posted is looked for back to its first attempt, and where what is noted of that cannot be, back to
// when the item was made.
func TestSinceWhenADeliveryWasAttempted(t *testing.T) {
	t.Parallel()
	now := created.Add(3 * time.Hour)
	for name, test := range map[string]struct{ noted, want time.Time }{
		"as it is noted":               {created.Add(time.Hour), created.Add(time.Hour)},
		"a moment ahead":               {now.Add(time.Second), now.Add(time.Second)},
		"in a year":                    {now.Add(aYear), created},
		"a year before there was one":  {created.Add(-aYear), created},
		"by a clock an hour behind":    {created.Add(-time.Hour), created.Add(-time.Hour)},
		"not at all, by somebody else": {time.Time{}, created},
	} {
		row := &v1alpha1.Delivery{}
		if !test.noted.IsZero() {
			row.FirstAttemptTime = &metav1.Time{Time: test.noted}
		}
		if got := lifecycle.AttemptedSince(newItem(), row, now); !got.Equal(test.want) {
			t.Errorf("%s: since %s, want %s", name, got, test.want)
		}
	}
	before := created.Add(-time.Hour) // the API server's clock was an hour ahead when the item was made
	if got := lifecycle.AttemptedSince(newItem(), &v1alpha1.Delivery{}, before); !got.Equal(before) {
		t.Errorf("before the item was made: since %s, want %s", got, before)
	}
}

// R3.14: an item that was worked on next year was not.
func TestWhenAnItemWasWorkedOn(t *testing.T) {
	t.Parallel()
	now := created.Add(3 * time.Hour)
	for name, test := range map[string]struct{ noted, want time.Time }{
		"as it is noted": {created.Add(time.Hour), created.Add(time.Hour)},
		"a moment ahead": {now.Add(time.Second), now.Add(time.Second)},
		"in a year":      {now.Add(aYear), created},
	} {
		item := newItem(func(item *v1alpha1.FeedItem) { item.Status.LastCheckTime = &metav1.Time{Time: test.noted} })
		if got := lifecycle.CheckedAt(item, now); !got.Equal(test.want) {
			t.Errorf("%s: at %s, want %s", name, got, test.want)
		}
	}
	if got := lifecycle.CheckedAt(newItem(), now); !got.Equal(created) {
		t.Errorf("never: at %s", got)
	}
}
