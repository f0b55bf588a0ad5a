// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package itemcache

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
		counted, there := &Tally{}, map[int]*v1alpha1.FeedItem{}
		seen := map[types.UID]int64{}
		for range rapid.IntRange(0, 50).Draw(t, "events") {
			name := rapid.IntRange(0, 9).Draw(t, "item")
			var next *v1alpha1.FeedItem
			if !rapid.Bool().Draw(t, "deleted") {
				next = &v1alpha1.FeedItem{}
				next.Spec.SourceRef.UID = rapid.SampledFrom(sources).Draw(t, "source") // one of the same name may follow
				next.Status.Phase = rapid.SampledFrom(phases).Draw(t, "phase")
			}
			before := there[name]
			counted.Change(before, next)
			there[name] = next
			if next != nil && (before == nil || before.Spec.SourceRef.UID != next.Spec.SourceRef.UID) {
				seen[next.Spec.SourceRef.UID]++
			}
			for _, source := range sources {
				if counted.Of(source) == (v1alpha1.ItemCounts{}) {
					seen[source] = 0
				}
			}
		}
		for _, source := range sources {
			var items []v1alpha1.FeedItem
			for _, item := range there {
				if item != nil && item.Spec.SourceRef.UID == source {
					items = append(items, *item)
				}
			}
			if got, want := counted.Of(source), CountByPhase(items); got != want {
				t.Fatalf("source %s: counted %+v, there are %+v", source, got, want)
			}
			if got := counted.Seen(source); got != seen[source] {
				t.Fatalf("source %s: %d items were seen, and not %d", source, got, seen[source])
			}
			now := counted.Of(source)
			if got, want := counted.Settled(source, seen[source]), now.Unprocessed+now.Pending == 0; got != want {
				t.Fatalf("source %s: settled %t with %+v", source, got, now)
			}
			if counted.Settled(source, seen[source]+1) {
				t.Fatalf("source %s: an item that was never seen counts as settled", source)
			}
			if _, kept := counted.bySource[source]; kept && len(items) == 0 {
				t.Fatalf("source %s has no items and is kept", source)
			}
		}
	})
}
