// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package intents

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
)

// R4.4, R3.13: an intent that is over stays forgotten where the cache hears of that later than whoever made the post, as it does for each item that is
// looked at as soon as its delivery has ended. Else one is kept for each item that was ever posted.
func TestAnIntentThatIsOverIsNotObservedAgain(t *testing.T) {
	t.Parallel()
	clock := clocktesting.NewFakeClock(time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC))
	intended := &v1alpha1.FeedItem{ObjectMeta: metav1.ObjectMeta{Namespace: "news", Name: "one", ResourceVersion: "1"}}
	intended.Status.Deliveries = []v1alpha1.Delivery{
		{Destination: "press", State: v1alpha1.DeliveryIntent, NotAfter: &metav1.Time{Time: clock.Now().Add(time.Minute)}},
	}
	ended := intended.DeepCopy()
	ended.ResourceVersion, ended.Status.Deliveries[0].State = "2", v1alpha1.DeliveryDone
	var seen Observed
	seen.Observe(intended, clock)
	seen.ForgetEnded(ended)       // as it was written just now
	seen.Observe(intended, clock) // the reconcile that the end of the delivery asked for
	seen.Observe(ended, clock)    // and the one for what the cache has heard
	if len(seen.items) != 0 {
		t.Errorf("%d items are still known, want none: %v", len(seen.items), seen.items)
	}
}
