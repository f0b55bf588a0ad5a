// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package derive_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/derive"
	"github.com/feed-operator/feed-operator/internal/polling"
)

// R3.14: times of a source that no rule can have set put no poll off.
func TestNoPollIsPutOffToATimeThatCannotBe(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	at := func(d time.Duration) *metav1.Time { return &metav1.Time{Time: now.Add(d)} }
	const year = 8760 * time.Hour
	for name, test := range map[string]struct {
		status v1alpha1.FeedSourceStatus
		within time.Duration
		// notBefore is how long the feed is left alone at least.
		notBefore time.Duration
	}{
		"polled last in a year":  {status: v1alpha1.FeedSourceStatus{LastPollTime: at(year)}, within: 15 * time.Minute},
		"and it has failed then": {status: v1alpha1.FeedSourceStatus{LastPollTime: at(year), ConsecutiveFailures: 3}, within: 15 * time.Minute},
		"left alone for a year":  {status: v1alpha1.FeedSourceStatus{LastPollTime: at(-time.Minute), NotBefore: at(year)}, within: 15 * time.Minute},
		"both":                   {status: v1alpha1.FeedSourceStatus{LastPollTime: at(year), NotBefore: at(year)}, within: 15 * time.Minute},
		"left alone for as long as a feed may ask that": {v1alpha1.FeedSourceStatus{LastPollTime: at(-time.Minute), NotBefore: at(24 * time.Hour)}, 24 * time.Hour, 24 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source := &v1alpha1.FeedSource{Status: test.status}
			source.UID, source.CreationTimestamp = "uid", *at(-48 * time.Hour)
			timing := derive.Timing(source, now)
			timing.FirstSeen = now
			if due := polling.Due(timing); due.After(now.Add(test.within)) || test.notBefore > 0 && due.Before(now.Add(test.notBefore)) {
				t.Errorf("polled in %s", due.Sub(now))
			}
		})
	}
}
