// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package overview_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/overview"
)

// R5.3: a feed that declares how long it stays fresh is stale by that, and one that fails by its own interval.
func TestASourceIsStaleByTheIntervalThatItsFeedDeclares(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		read, effective time.Duration
		failures        int32
		changed         bool
		want            overview.SourceState
	}{
		"within three declared days and an hour": {read: 73 * time.Hour, effective: 24 * time.Hour, want: overview.SourceNotReady},
		"after them":                             {read: 73*time.Hour + time.Second, effective: 24 * time.Hour, want: overview.SourceStale},
		"a first failure of such a feed":         {read: 25 * time.Hour, effective: 24 * time.Hour, failures: 1, want: overview.SourceNotReady},
		"failures that make the interval longer": {read: 2 * time.Hour, effective: time.Hour, failures: 2, want: overview.SourceStale},
		"declared by what another URL listed":    {read: 25 * time.Hour, effective: 24 * time.Hour, changed: true, want: overview.SourceStale},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source := &v1alpha1.FeedSource{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(now.Add(-1000 * time.Hour))}}
			source.Spec.Interval = &metav1.Duration{Duration: 15 * time.Minute}
			source.Status.LastSuccessTime = new(metav1.NewTime(now.Add(-test.read)))
			source.Status.EffectiveInterval, source.Status.ConsecutiveFailures = &metav1.Duration{Duration: test.effective}, test.failures
			if test.changed {
				source.Generation = 2
			}
			if got := overview.StateOf(source, now); got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
}
