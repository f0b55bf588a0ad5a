// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package itemcache

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
)

// R5.1, R1.5: whatever happens to items, the counts are those of the items that there are, and those that were made and not told of are unfinished.
func TestATallyIsTheCountOfTheItemsThatThereAre(t *testing.T) {
	t.Parallel()
	phases := []v1alpha1.Phase{
		"", v1alpha1.PhaseUnprocessed, v1alpha1.PhaseDeferred, v1alpha1.PhasePending, v1alpha1.PhaseProcessed, v1alpha1.PhaseFailed,
	}
	sources := []*v1alpha1.FeedSource{ // the last one has followed the first
		{ObjectMeta: metav1.ObjectMeta{Namespace: "news", Name: "one", UID: "one"}}, {ObjectMeta: metav1.ObjectMeta{Namespace: "news", Name: "two", UID: "two"}},
		{ObjectMeta: metav1.ObjectMeta{Namespace: "news", Name: "one", UID: "three"}},
	}
	now := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		counted, there, expected := &Tally{}, map[string]*v1alpha1.FeedItem{}, map[types.UID]map[string]bool{}
		for _, source := range sources {
			expected[source.UID] = map[string]bool{}
		}
		for range rapid.IntRange(0, 50).Draw(t, "events") {
			next := &v1alpha1.FeedItem{}
			source := rapid.SampledFrom(sources).Draw(t, "source")
			next.Namespace, next.Name = source.Namespace, rapid.StringMatching("[a-j]").Draw(t, "item")
			next.Spec.SourceRef = v1alpha1.SourceReference{Name: source.Name, UID: source.UID}
			next.Status.Phase = rapid.SampledFrom(phases).Draw(t, "phase")
			made := expected[source.UID]
			switch before := there[next.Name]; rapid.IntRange(0, 3).Draw(t, "what") {
			case 0:
				counted.Expect(next, now)
				made[next.Name] = true
			case 1:
				counted.NotMade(next)
				delete(made, next.Name)
			case 2:
				counted.Change(before, next)
				there[next.Name] = next
				delete(made, next.Name)
			default:
				counted.Change(before, nil)
				delete(there, next.Name)
			}
		}
		for _, source := range sources {
			var want v1alpha1.ItemCounts
			for _, item := range there {
				if item.Spec.SourceRef.UID == source.UID {
					want.Add(item.Status.Phase, 1)
				}
			}
			if got := counted.Of(source); got != want {
				t.Fatalf("source %s: counted %+v, there are %+v", source.UID, got, want)
			}
			if got, want := counted.Active(source), int(want.Active())+len(expected[source.UID]); got != want {
				t.Fatalf("source %s: %d are unfinished, and not %d", source.UID, want, got)
			}
			if got, want := counted.Settled(source), want.Unprocessed+want.Pending == 0 && len(expected[source.UID]) == 0; got != want {
				t.Fatalf("source %s: settled %t with %+v and %d that were not told of", source.UID, got, counted.Of(source), len(expected[source.UID]))
			}
			if _, kept := counted.bySource[idOf(source)]; kept && want == (v1alpha1.ItemCounts{}) {
				t.Fatalf("source %s has no items and is kept", source.UID)
			}
			if _, kept := counted.expected[idOf(source)]; kept && len(expected[source.UID]) == 0 {
				t.Fatalf("nothing is expected of source %s, and it is kept", source.UID)
			}
		}
	})
}
