// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package itemcache

import (
	"testing"
	"time"

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
	sources := []types.UID{"one", "two"}
	now := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		counted, there, expected := &Tally{}, map[string]*v1alpha1.FeedItem{}, map[types.UID]map[string]bool{}
		for _, source := range sources {
			expected[source] = map[string]bool{}
		}
		for range rapid.IntRange(0, 50).Draw(t, "events") {
			next := &v1alpha1.FeedItem{}
			next.Name = rapid.StringMatching("[a-j]").Draw(t, "item")
			next.Spec.SourceRef.UID = rapid.SampledFrom(sources).Draw(t, "source") // one of the same name may follow
			next.Status.Phase = rapid.SampledFrom(phases).Draw(t, "phase")
			made := expected[next.Spec.SourceRef.UID]
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
				if item.Spec.SourceRef.UID == source {
					want.Add(item.Status.Phase, 1)
				}
			}
			if got := counted.Of(source); got != want {
				t.Fatalf("source %s: counted %+v, there are %+v", source, got, want)
			}
			if got, want := counted.Active(source, now), int(want.Active())+len(expected[source]); got != want {
				t.Fatalf("source %s: %d are unfinished, and not %d", source, want, got)
			}
			if got, want := counted.Settled(source), want.Unprocessed+want.Pending == 0 && len(expected[source]) == 0; got != want {
				t.Fatalf("source %s: settled %t with %+v and %d that were not told of", source, got, counted.Of(source), len(expected[source]))
			}
			if _, kept := counted.bySource[source]; kept && want == (v1alpha1.ItemCounts{}) {
				t.Fatalf("source %s has no items and is kept", source)
			}
			if _, kept := counted.expected[source]; kept && len(expected[source]) == 0 {
				t.Fatalf("nothing is expected of source %s, and it is kept", source)
			}
		}
	})
}

// R1.5: an item of which nobody ever tells, because it was deleted while the cache listed all anew, takes room for some minutes, not for good; nor
// does it where the clock was set back.
func TestWhatNobodyTellsOfIsNotExpectedForever(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	lost, later := &v1alpha1.FeedItem{}, &v1alpha1.FeedItem{}
	lost.Name, later.Name = "lost", "later"
	for name, test := range map[string]struct {
		now  time.Time
		want int
	}{
		"soon after":                    {noon.Add(expectedFor - time.Second), 2},
		"minutes after":                 {noon.Add(expectedFor), 1},
		"minutes after the later one":   {noon.Add(expectedFor + time.Minute), 0},
		"the clock is set back an hour": {noon.Add(-time.Hour), 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			counted := &Tally{}
			counted.Expect(lost, noon)
			counted.Expect(later, noon.Add(time.Minute))
			if got := counted.Active("", test.now); got != test.want {
				t.Errorf("%d are unfinished, want %d", got, test.want)
			}
		})
	}
}
