// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package overview

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/derive"
)

// SourceState is how the polling of a source goes.
type SourceState string

// The states of sources.
const (
	SourceReady     SourceState = "Ready"
	SourceNotReady  SourceState = "NotReady"
	SourceStale     SourceState = "Stale"
	SourceSuspended SourceState = "Suspended"
)

// SourceStates are all of them.
var SourceStates = []SourceState{SourceReady, SourceNotReady, SourceStale, SourceSuspended}

// staleAfter is for how long a source may not be read before somebody should look at it: three of its intervals and an hour (R5.3). The hour is also
// for polls without news, of which one an hour is written down.
func staleAfter(source *v1alpha1.FeedSource) time.Duration {
	return 3*derive.IntervalWithoutFailures(source) + time.Hour
}

// StateOf is how the polling of a source goes. One that never was read counts from when it was created.
func StateOf(source *v1alpha1.FeedSource, now time.Time) SourceState {
	if source.Spec.Suspend {
		return SourceSuspended
	}
	last := source.CreationTimestamp.Time
	if read := source.Status.LastSuccessTime; read != nil {
		last = read.Time
	}
	switch {
	case now.Sub(last) > staleAfter(source):
		return SourceStale
	case !meta.IsStatusConditionTrue(source.Status.Conditions, v1alpha1.ConditionReady):
		return SourceNotReady
	}
	return SourceReady
}
