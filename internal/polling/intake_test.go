// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package polling_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/feed-operator/feed-operator/internal/polling"
)

// R1.10: what a day has taken in counts until midnight UTC, whatever the clock does.
func TestIntake(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	today := noon.Truncate(24 * time.Hour)
	tests := map[string]struct {
		held polling.Intake
		now  time.Time
		want int
	}{
		"a source that has created nothing may create all":   {polling.Intake{}, noon, 500},
		"what was created today is taken away":               {polling.Intake{Day: today, Created: 120}, noon, 380},
		"a limit that was lowered leaves nothing":            {polling.Intake{Day: today, Created: 700}, noon, 0},
		"in the last second it still counts":                 {polling.Intake{Day: today, Created: 500}, today.Add(24*time.Hour - time.Second), 0},
		"at midnight it begins anew":                         {polling.Intake{Day: today, Created: 500}, today.Add(24 * time.Hour), 500},
		"the midnight is that of UTC":                        {polling.Intake{Day: today, Created: 500}, today.Add(24*time.Hour - time.Second).In(time.FixedZone("", 14*3600)), 0},
		"a clock that goes back stays in the later day":      {polling.Intake{Day: today.Add(24 * time.Hour), Created: 500}, noon, 0},
		"what a clock that was wrong has counted is today's": {polling.Intake{Day: today.AddDate(4, 0, 0), Created: 500}, noon, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := test.held.Room(500, test.now); got != test.want {
				t.Errorf("room for %d, want %d", got, test.want)
			}
		})
	}
	t.Run("a clock that was wrong by years keeps nothing waiting for longer than to the next day", func(t *testing.T) {
		t.Parallel()
		held := polling.Intake{Day: today.AddDate(4, 0, 0), Created: 500}.Plus(0, noon)
		if got := held.Room(500, noon.Add(24*time.Hour)); got != 500 {
			t.Errorf("room for %d on the next day", got)
		}
	})
	t.Run("of two counts the larger one holds", func(t *testing.T) {
		t.Parallel()
		got := polling.Intake{Day: today, Created: 3}.AtLeast(polling.Intake{Day: today.Add(-24 * time.Hour), Created: 9}, noon)
		if got != (polling.Intake{Day: today, Created: 3}) {
			t.Errorf("a count of yesterday counts today: %+v", got)
		}
		got = polling.Intake{Day: today, Created: 3}.AtLeast(polling.Intake{Day: today, Created: 9}, noon)
		if got != (polling.Intake{Day: today, Created: 9}) {
			t.Errorf("got %+v", got)
		}
	})
}

// R1.10: however the clock runs and jumps, a source that always wants more creates no more than a day's items for
// each day that passes, and two days' for each jump: that of the day which it skips, and that of a midnight which comes earlier for it.
func TestAJumpOfTheClockGivesTwoDaysMoreAtMost(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const perDay = 10
		now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
		var held polling.Intake
		var passed time.Duration
		created, jumps := 0, 0
		for range rapid.IntRange(1, 50).Draw(t, "polls") {
			if rapid.IntRange(0, 4).Draw(t, "jumps") == 0 {
				now = now.Add(time.Duration(rapid.IntRange(-400, 400).Draw(t, "hours")) * time.Hour)
				jumps++
			} else {
				step := time.Duration(rapid.IntRange(0, 30).Draw(t, "hours")) * time.Hour
				now, passed = now.Add(step), passed+step
			}
			room := held.Room(perDay, now)
			held = held.Plus(room, now)
			created += room
		}
		days := int(passed/(24*time.Hour)) + 2 // the first and the last one are cut
		if most := (days + 2*jumps) * perDay; created > most {
			t.Fatalf("%d items in %s with %d jumps, at most %d", created, passed, jumps, most)
		}
	})
}
