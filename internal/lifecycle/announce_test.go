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

// R4.4: a post is announced by an intent that has an end; each one that is new counts, and nothing else does.
func TestWhatAnnouncesAPost(t *testing.T) {
	t.Parallel()
	until := func(after time.Duration) *metav1.Time { return &metav1.Time{Time: created.Add(after)} }
	with := func(state v1alpha1.DeliveryState, notAfter *metav1.Time) *v1alpha1.FeedItem {
		item := newItem()
		item.Status.Deliveries = []v1alpha1.Delivery{{Destination: here, State: state, NotAfter: notAfter}}
		return item
	}
	for name, test := range map[string]struct {
		before, after *v1alpha1.FeedItem
		want          bool
	}{
		"the first intent":               {newItem(), with(v1alpha1.DeliveryIntent, until(time.Minute)), true},
		"one of a delivery that waited":  {with(v1alpha1.DeliveryQueued, nil), with(v1alpha1.DeliveryIntent, until(time.Minute)), true},
		"another after one that failed":  {with(v1alpha1.DeliveryIntent, until(time.Minute)), with(v1alpha1.DeliveryIntent, until(time.Hour)), true},
		"the same":                       {with(v1alpha1.DeliveryIntent, until(time.Minute)), with(v1alpha1.DeliveryIntent, until(time.Minute)), false},
		"a result":                       {with(v1alpha1.DeliveryIntent, until(time.Minute)), with(v1alpha1.DeliveryDone, nil), false},
		"an intent of which no end left": {with(v1alpha1.DeliveryQueued, nil), with(v1alpha1.DeliveryIntent, nil), false},
	} {
		if got := lifecycle.Announces(test.before, test.after); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	if lifecycle.Announced(nil) {
		t.Error("a delivery that is not there is announced")
	}
}
