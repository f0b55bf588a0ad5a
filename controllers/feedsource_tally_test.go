// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
)

// R5.1, R1.5: whatever happens to items, the counts are those of the items that there are.
func TestATallyIsTheCountOfTheItemsThatThereAre(t *testing.T) {
	t.Parallel()
	phases := []v1alpha1.Phase{
		"", v1alpha1.PhaseUnprocessed, v1alpha1.PhaseDeferred, v1alpha1.PhasePending, v1alpha1.PhaseProcessed, v1alpha1.PhaseFailed,
	}
	sources := []types.UID{"one", "two"}
	rapid.Check(t, func(t *rapid.T) {
		counted, there := &itemTally{}, map[int]*v1alpha1.FeedItem{}
		for range rapid.IntRange(0, 50).Draw(t, "events") {
			name := rapid.IntRange(0, 9).Draw(t, "item")
			var next *v1alpha1.FeedItem
			if !rapid.Bool().Draw(t, "deleted") {
				next = &v1alpha1.FeedItem{}
				next.Spec.SourceRef.UID = rapid.SampledFrom(sources).Draw(t, "source") // one of the same name may follow
				next.Status.Phase = rapid.SampledFrom(phases).Draw(t, "phase")
			}
			counted.change(there[name], next)
			there[name] = next
		}
		for _, source := range sources {
			var items []v1alpha1.FeedItem
			for _, item := range there {
				if item != nil && item.Spec.SourceRef.UID == source {
					items = append(items, *item)
				}
			}
			if got, want := counted.of(source), countByPhase(items); got != want {
				t.Fatalf("source %s: counted %+v, there are %+v", source, got, want)
			}
			if _, kept := counted.bySource[source]; kept && len(items) == 0 {
				t.Fatalf("source %s has no items and is kept", source)
			}
		}
	})
}
