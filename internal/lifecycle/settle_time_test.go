// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle_test

import (
	"testing"
	"time"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
)

// longest is how long after the end of its connection a server may still publish a post, and an operator that was replaced may still be
// in its call. It is a figure of its own, and not lifecycle.SettleTime: whoever shortens that makes posts twice.
const longest = 30 * time.Second

// R4.4: what may have been posted is looked for half a minute after its call has to have ended, whatever has become of the call, and
// whoever asks for it.
func TestWhatMayHaveBeenPostedHasHalfAMinuteToSettle(t *testing.T) {
	t.Parallel()
	ended := created.Add(10 * time.Second)
	release := func(_ *testing.T, item *v1alpha1.FeedItem) {
		token("again")(item)
		lifecycle.RetryNow(item, usual, ended)
	}
	for name, then := range map[string]func(*testing.T, *v1alpha1.FeedItem){
		"nobody has seen its end": func(*testing.T, *v1alpha1.FeedItem) {},
		"its answer was lost": func(t *testing.T, item *v1alpha1.FeedItem) {
			settleDelivery(t, item, result(lifecycle.RowOf(item, here), failed(v1alpha1.CategoryNetwork, ended), isUncertain), ended)
		},
		"a person wants it retried": release,
		"its answer was lost, and a person wants it retried": func(t *testing.T, item *v1alpha1.FeedItem) {
			settleDelivery(t, item, result(lifecycle.RowOf(item, here), failed(v1alpha1.CategoryNetwork, ended), isUncertain), ended)
			release(t, item)
		},
		"a person wants all of its source retried": func(t *testing.T, item *v1alpha1.FeedItem) {
			settleDelivery(t, item, result(lifecycle.RowOf(item, here), failed(v1alpha1.CategoryNetwork, ended), isUncertain), ended)
			lifecycle.RetryRequests{Source: ended.Add(time.Second)}.Apply(item, ended.Add(time.Second))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			item := toPost(here)
			row := intend(item, here, created)
			settled := row.NotAfter.Add(longest)
			then(t, item)
			if row = lifecycle.RowOf(item, here); row.State != v1alpha1.DeliveryIntent {
				t.Fatalf("delivery %+v", row)
			}
			for _, releases := range []lifecycle.RetryRequests{{}, {Source: ended.Add(time.Minute)}} {
				early := settled.Add(-time.Second)
				if step := releases.Next(item, lifecycle.Next(item, early), early); step.Action != lifecycle.Wait || !step.Until.Equal(settled) {
					t.Errorf("a second before it has settled: %+v, want to wait until %s", step, settled)
				}
				if step := releases.Next(item, lifecycle.Next(item, settled), settled); step.Action != lifecycle.Deliver {
					t.Errorf("when it has settled: %+v", step)
				}
			}
		})
	}
}
