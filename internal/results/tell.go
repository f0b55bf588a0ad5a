// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package results

import (
	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/itemcache"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
	"github.com/feed-operator/feed-operator/internal/telemetry"
)

// EmitEvents makes known what an item has become, beside what its attempts came to.
func (r *Results) EmitEvents(before, after *v1alpha1.FeedItem) {
	for _, by := range lifecycle.Refusals(after) { // the credentials may have been replaced while this was written
		r.Waker.ServiceChanged(itemcache.Refuser(after, by), false)
	}
	switch after.Status.Phase {
	case v1alpha1.PhaseFailed:
		if after.Status.Reason != v1alpha1.ReasonAuthenticationFailed { // one expired key is one Event, not five hundred
			telemetry.ItemFailed(r.Recorder, after)
		}
	case v1alpha1.PhaseDeferred:
		if before.Status.FirstFailureTime == nil {
			telemetry.ItemDeferred(r.Recorder, after)
		}
	case v1alpha1.PhaseUnprocessed, v1alpha1.PhasePending, v1alpha1.PhaseProcessed:
	}
	if after.Terminal() && (before.Status.Phase != after.Status.Phase || lifecycle.DeadLetter(&before.Status, after)) {
		r.Stream.ItemEnded(after, r.Clock.Now())
	}
}
