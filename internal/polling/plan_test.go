// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package polling_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/feed-operator/feed-operator/internal/feed"
	"github.com/feed-operator/feed-operator/internal/polling"
)

// dated makes an entry that was published so many hours after the start; at 0, without a date.
func dated(title string, hours int) feed.Entry {
	entry := feed.Entry{Title: title}
	if hours != 0 {
		entry.Published = start.Add(time.Duration(hours) * time.Hour)
	}
	return entry
}

func titlesOf(entries []feed.Entry) []string {
	titles := []string{}
	for _, entry := range entries {
		titles = append(titles, entry.Title)
	}
	return titles
}

// R1.5
func TestPlanFresh(t *testing.T) {
	t.Parallel()
	shuffled := []feed.Entry{dated("second", 2), dated("fourth", 4), dated("first", 1), dated("third", 3)}
	undated := []feed.Entry{dated("newest", 0), dated("middle", 5), dated("oldest", 0)}
	for name, test := range map[string]struct {
		fresh        []feed.Entry
		first        polling.First
		room         int
		wantCreate   []string
		wantRemember []string
		wantHeld     int
	}{
		"the oldest is created first": {
			shuffled, polling.First{}, 100, []string{"first", "second", "third", "fourth"}, []string{}, 0,
		},
		"the first poll takes the newest only": {
			shuffled, polling.First{Poll: true, Items: 2}, 100, []string{"third", "fourth"}, []string{"second", "first"}, 0,
		},
		"a first poll may take none": {
			shuffled, polling.First{Poll: true}, 100, []string{}, []string{"fourth", "third", "second", "first"}, 0,
		},
		"without a date on each, the document's order counts, the newest first": {
			undated, polling.First{Poll: true, Items: 2}, 100, []string{"middle", "newest"}, []string{"oldest"}, 0,
		},
		"without room the oldest go first, the others wait": {
			shuffled, polling.First{}, 3, []string{"first", "second", "third"}, []string{}, 1,
		},
		"no room at all": {
			shuffled, polling.First{}, -4, []string{}, []string{}, 4,
		},
		"what waits at the first poll is among its newest": {
			shuffled, polling.First{Poll: true, Items: 3}, 1, []string{"second"}, []string{"first"}, 2,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plan := polling.PlanFresh(test.fresh, test.first, test.room)
			if diff := cmp.Diff(test.wantCreate, titlesOf(plan.Create)); diff != "" {
				t.Errorf("created: %s", diff)
			}
			if diff := cmp.Diff(test.wantRemember, titlesOf(plan.Remember)); diff != "" {
				t.Errorf("remembered: %s", diff)
			}
			if plan.Held != test.wantHeld {
				t.Errorf("%d held, want %d", plan.Held, test.wantHeld)
			}
		})
	}
}

// Each entry is created, remembered or held, and never two of these.
func TestPlanFreshLosesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		hours := rapid.SliceOf(rapid.IntRange(0, 5)).Draw(t, "hours")
		var fresh []feed.Entry
		for i, h := range hours {
			fresh = append(fresh, dated(fmt.Sprint(i), h))
		}
		first := polling.First{Poll: rapid.Bool().Draw(t, "first"), Items: rapid.IntRange(0, 10).Draw(t, "items")}
		plan := polling.PlanFresh(fresh, first, rapid.IntRange(-1, 10).Draw(t, "room"))
		seen := map[string]bool{}
		for _, entry := range append(plan.Create, plan.Remember...) {
			if seen[entry.Title] {
				t.Fatalf("entry %s is there twice", entry.Title)
			}
			seen[entry.Title] = true
		}
		if len(seen)+plan.Held != len(fresh) {
			t.Fatalf("%d created or remembered, %d held, of %d", len(seen), plan.Held, len(fresh))
		}
	})
}
