// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package slots

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/feed-operator/feed-operator/internal/polling"
)

func TestPollsAreHeldAgainstTheirSlots(t *testing.T) {
	t.Parallel()
	const uid, interval = "0b0d7f8e", time.Minute
	slot := polling.NextSlot(uid, interval, time.Now())
	after := func(intervals int, late time.Duration) time.Time {
		return slot.Add(time.Duration(intervals)*interval + late)
	}
	stopped, end := after(0, 10*time.Second), after(3, 20*time.Second)
	before := after(0, time.Millisecond)
	tests := map[string]struct {
		polls []time.Time
		want  verdicts
	}{
		"each slot has its poll": {
			polls: []time.Time{before, after(1, 3*time.Millisecond), after(2, time.Millisecond), after(3, 2*time.Millisecond)},
			want:  verdicts{polls: 3, margin: time.Millisecond, late: 3 * time.Millisecond},
		},
		"a poll again at the start": {
			polls: []time.Time{before, after(0, 20*time.Second), after(1, 2*time.Millisecond), after(2, 2*time.Millisecond), after(3, 2*time.Millisecond)},
			want:  verdicts{polls: 4, early: 1, margin: 2 * time.Millisecond, late: 2 * time.Millisecond},
		},
		"a poll just before its slot": {
			polls: []time.Time{before, after(1, -time.Millisecond), after(2, 0), after(3, 0)},
			want:  verdicts{polls: 3, early: 1, missed: 1}, // in the slot itself there is none
		},
		"a slot without a poll": {
			polls: []time.Time{before, after(1, 0), after(3, 0)},
			want:  verdicts{polls: 2, missed: 1},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := Record{Interval: interval}
			test.polls[1] = test.polls[1].Round(0) // as one that was read from another clock
			p.Add(uid, test.polls, stopped)
			got := p.judge(end, time.Second)
			got.lateness = nil
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(verdicts{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}
