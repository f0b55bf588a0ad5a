// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feeditem

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
)

// R3.10
func TestFirstAttempt(t *testing.T) {
	t.Parallel()
	item := &v1alpha1.FeedItem{}
	created := time.Date(2026, 5, 4, 10, 30, 0, 0, time.UTC)
	at := func(hours int) *metav1.Time { return &metav1.Time{Time: created.Add(time.Duration(hours) * time.Hour)} }
	check := func(want *metav1.Time) {
		t.Helper()
		if got := firstAttempt(item); !got.Equal(want.Time) {
			t.Errorf("%s, want %s", got, want)
		}
	}
	item.Status.LastCheckTime = at(9)
	check(at(9))
	item.Status.FirstFailureTime = at(5)
	check(at(5))
	item.Status.Deliveries = []v1alpha1.Delivery{{Destination: "press"}, {Destination: "chat", FirstAttemptTime: at(3)}}
	check(at(3))
}
