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
	"github.com/feed-operator/feed-operator/internal/portion"
)

func init() { portion.Draws(25) }

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
	days := func(title string, days int) feed.Entry { return dated(title, days*24) }
	since := []feed.Entry{
		days("after 22", 22), dated("undated", 0), days("before 17", 17), days("before 18", 18), days("after 21", 21), days("before 2", 2),
	}
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
		"of a feed that listed nothing at first, all that was published since is new": {
			shuffled, polling.First{Poll: true, Since: start, Items: 1}, 100, []string{"first", "second", "third", "fourth"}, []string{}, 0,
		},
		"of what was published before, the newest only": {
			since, polling.First{Poll: true, Since: start.AddDate(0, 0, 20), Items: 1}, 100,
			[]string{"before 18", "after 21", "undated", "after 22"}, []string{"before 17", "before 2"}, 0,
		},
		"what an earlier try has made is of what was published before": {
			since, polling.First{Poll: true, Since: start.AddDate(0, 0, 20)}, 100,
			[]string{"after 21", "undated", "after 22"}, []string{"before 18", "before 17", "before 2"}, 0,
		},
		"without room, the new ones wait behind": {
			since, polling.First{Poll: true, Since: start.AddDate(0, 0, 20), Items: 2}, 3,
			[]string{"before 17", "before 18", "after 21"}, []string{"before 2"}, 2,
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
		if rapid.Bool().Draw(t, "read before") {
			first.Since = start.Add(time.Duration(rapid.IntRange(36, 42).Draw(t, "since")) * time.Hour)
		}
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

// R1.5: a feed that began empty loses none of its news to a date that says less than the time, or to a wrong zone; and
// what is older is told from it.
func TestWhatWasPublishedBeforeAFeedWasReadFirst(t *testing.T) {
	t.Parallel()
	first := time.Date(2026, time.March, 10, 9, 0, 0, 0, time.UTC)
	zone := func(hours int) *time.Location { return time.FixedZone("", hours*3600) }
	for name, test := range map[string]struct {
		published time.Time
		want      bool
	}{
		"an hour later":                      {first.Add(time.Hour), false},
		"that day, without a time":           {time.Date(2026, time.March, 10, 0, 0, 0, 0, time.UTC), false},
		"that day on Samoa, without a time":  {time.Date(2026, time.March, 9, 0, 0, 0, 0, time.UTC), false},
		"that day in Tokyo, without a time":  {time.Date(2026, time.March, 10, 0, 0, 0, 0, zone(9)), false},
		"a local time in Hawaii, said UTC":   {first.Add(-10 * time.Hour), false},
		"a time of UTC, said to be of Tonga": {time.Date(2026, time.March, 10, 9, 0, 0, 0, zone(14)), false},
		"no date":                            {time.Time{}, false},
		"two days before":                    {first.AddDate(0, 0, -2), true},
		"years before":                       {first.AddDate(-5, 0, 0), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			entry := feed.Entry{Published: test.published}
			if got := (polling.First{Poll: true, Since: first}).Backlog(entry); got != test.want {
				t.Errorf("backlog: %t", got)
			}
			if !(polling.First{Poll: true}).Backlog(entry) || (polling.First{Since: first}).Backlog(entry) {
				t.Error("at a first poll all is backlog, and nothing once an entry was found")
			}
		})
	}
}
