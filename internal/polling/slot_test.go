// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package polling_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/feed-operator/feed-operator/internal/polling"
)

var start = time.Date(2026, 4, 1, 9, 0, 0, 0, time.UTC)

// R1.3
func TestSlotsLieOneIntervalApartAndSurviveARestart(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		uid := rapid.StringMatching(`[0-9a-f]{8}`).Draw(t, "uid")
		interval := time.Duration(rapid.Int64Range(int64(time.Minute), int64(7*24*time.Hour)).Draw(t, "interval"))
		now := start.Add(time.Duration(rapid.Int64Range(0, int64(1000*time.Hour)).Draw(t, "now")))

		slot := polling.Slot(uid, interval, now)
		next := polling.NextSlot(uid, interval, now)
		if slot.After(now) || !next.After(now) || next.Sub(slot) != interval {
			t.Fatalf("slot %s, now %s, next %s", slot, now, next)
		}
		if again := polling.NextSlot(uid, interval, slot); !again.Equal(next) {
			t.Fatalf("the slot after %s is %s for one process and %s for another", slot, next, again)
		}
	})
}

// R1.3: not all at once.
func TestSourcesAreSpreadOverTheInterval(t *testing.T) {
	t.Parallel()
	perMinute := map[int]int{}
	for i := range 1500 {
		uid := time.Duration(i).String()
		perMinute[int(polling.NextSlot(uid, 15*time.Minute, start).Sub(start)/time.Minute)]++
	}
	for minute, count := range perMinute {
		if count > 200 {
			t.Errorf("%d of 1500 sources are polled in minute %d", count, minute)
		}
	}
}

// R1.3, R1.4
func TestDue(t *testing.T) {
	t.Parallel()
	const uid, interval = "3f6c", 15 * time.Minute
	usual := polling.Timing{UID: uid, Interval: interval, FirstSeen: start}
	with := func(change func(*polling.Timing)) polling.Timing {
		timing := usual
		change(&timing)
		return timing
	}
	long := func(t *polling.Timing) { t.Interval = 6 * time.Hour }
	for name, test := range map[string]struct {
		timing polling.Timing
		want   time.Time
	}{
		"a new source is polled at once": {usual, start},
		"after a poll, the next slot": {
			with(func(t *polling.Timing) { t.LastPoll, t.RecordedPoll = start, start }), polling.NextSlot(uid, interval, start),
		},
		"after a restart, the next slot": {
			with(func(t *polling.Timing) { t.RecordedPoll = start.Add(-5 * time.Minute) }), polling.NextSlot(uid, interval, start),
		},
		"a changed spec is polled at once": {
			with(func(t *polling.Timing) { t.LastPoll, t.RecordedPoll, t.Changed = start, start, true }), start,
		},
		"a pause that the server asked for holds": {
			with(func(t *polling.Timing) { t.LastPoll, t.RecordedPoll, t.NotBefore = start, start, start.Add(time.Hour) }), start.Add(time.Hour),
		},
		"a pause that the server asked for holds against a person": {
			with(func(t *polling.Timing) { t.RecordedPoll, t.Changed, t.NotBefore = start, true, start.Add(time.Hour) }), start.Add(time.Hour),
		},
		"after a failure, a whole interval": {
			with(func(t *polling.Timing) { t.RecordedPoll, t.Failing, t.Interval = start, true, 30*time.Minute }), start.Add(30 * time.Minute),
		},
		"a long interval keeps its slot over a restart": {
			with(func(t *polling.Timing) { long(t); t.RecordedPoll = polling.Slot(uid, t.Interval, start) }), polling.NextSlot(uid, 6*time.Hour, start),
		},
		"what a feed declares is waited for after a poll that was at no slot of its own": {
			with(func(t *polling.Timing) {
				long(t)
				t.Declared = true
				t.LastPoll = polling.NextSlot(uid, t.Interval, start).Add(-time.Minute)
			}),
			polling.NextSlot(uid, 6*time.Hour, start).Add(6 * time.Hour),
		},
		"and the same after a restart": {
			with(func(t *polling.Timing) {
				long(t)
				t.Declared = true
				t.RecordedPoll = polling.NextSlot(uid, t.Interval, start).Add(-time.Minute)
			}),
			polling.NextSlot(uid, 6*time.Hour, start).Add(6 * time.Hour),
		},
		"a slot that was not to be used was not missed": {
			with(func(t *polling.Timing) {
				long(t)
				t.Declared = true
				slot := polling.NextSlot(uid, t.Interval, start)
				t.RecordedPoll, t.FirstSeen = slot.Add(-2*time.Hour), slot.Add(5*time.Hour)
			}),
			polling.NextSlot(uid, 6*time.Hour, start).Add(6 * time.Hour),
		},
		"a poll that was a little late costs no slot": {
			with(func(t *polling.Timing) {
				long(t)
				t.Declared = true
				t.LastPoll = polling.Slot(uid, t.Interval, start).Add(time.Minute)
			}),
			polling.NextSlot(uid, 6*time.Hour, start),
		},
		"a source that is due after an outage keeps its slot": {
			with(func(t *polling.Timing) { t.LastPoll, t.NetworkBack = start, start.Add(time.Second) }), polling.NextSlot(uid, interval, start),
		},
		"a person does not wait for the others after an outage": {
			with(func(t *polling.Timing) { t.LastPoll, t.Changed, t.NetworkBack = start, true, start.Add(time.Hour) }), start,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := polling.Due(test.timing); !got.Equal(test.want) {
				t.Errorf("due at %s, want %s", got, test.want)
			}
		})
	}
}

// R1.3: a slot that went by while the operator was down is made up for within minutes, and not
// by everybody at once.
func TestAMissedSlotIsMadeUpForSoon(t *testing.T) {
	t.Parallel()
	seen := map[time.Time]bool{}
	for i := range 50 {
		due := polling.Due(polling.Timing{
			UID: time.Duration(i).String(), Interval: 24 * time.Hour,
			FirstSeen: start, RecordedPoll: start.Add(-50 * time.Hour),
		})
		if due.Before(start) || due.After(start.Add(10*time.Minute)) {
			t.Errorf("due at %s", due)
		}
		seen[due.Truncate(time.Second)] = true
	}
	if len(seen) < 25 {
		t.Errorf("50 sources are made up for at %d times", len(seen))
	}
}

// R1.4: what an outage of the network has held up is made up for soon after it, not all at once.
func TestWhatAnOutageHasHeldUpIsSpread(t *testing.T) {
	t.Parallel()
	back, seen := start.Add(3*time.Hour), map[time.Time]bool{}
	for i := range 50 {
		due := polling.Due(polling.Timing{UID: time.Duration(i).String(), Interval: time.Hour, FirstSeen: start, LastPoll: start, NetworkBack: back})
		if due.Before(back) || due.After(back.Add(10*time.Minute)) {
			t.Errorf("due at %s", due)
		}
		seen[due.Truncate(time.Second)] = true
	}
	if len(seen) < 25 {
		t.Errorf("50 sources are made up for at %d times", len(seen))
	}
}
