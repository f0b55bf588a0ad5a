// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package polling_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/feed-operator/feed-operator/internal/polling"
	"github.com/feed-operator/feed-operator/internal/portion"
)

// catchUp is within which time of a start everything is made up for that was missed before.
const catchUp = 10 * time.Minute

// life of an operator's process.
type life struct{ from, to time.Time }

// lives are those of processes that end at odd times, most of them soon, with pauses between them that are
// mostly short: rollouts, crashes, and a night without a cluster.
func lives(random *rand.Rand, until time.Time) (all []life) {
	for at := start; at.Before(until); {
		one := life{from: at, to: at.Add(time.Duration(random.ExpFloat64() * float64(40*time.Minute)))}
		all = append(all, one)
		pause := time.Duration(random.ExpFloat64() * float64(20*time.Second))
		if random.IntN(10) == 0 {
			pause = time.Duration(random.Int64N(int64(9 * time.Hour)))
		}
		at = one.to.Add(pause)
	}
	return all
}

// polledSource is a source, and what the API server holds of its polls.
type polledSource struct {
	uid      string
	interval time.Duration
	recorded time.Time
	last     time.Time // not recorded anywhere: what the feed's server has seen
}

// live has a source polled for one life of the operator, and returns when.
func (s *polledSource) live(now life) (polls []time.Time) {
	timing := polling.Timing{UID: s.uid, Interval: s.interval, FirstSeen: now.from}
	for {
		timing.RecordedPoll = s.recorded
		due := polling.Due(timing)
		if due.Before(now.from) {
			due = now.from
		}
		if !due.Before(now.to) {
			return polls
		}
		polls = append(polls, due)
		timing.LastPoll = due
		if s.recorded.IsZero() || due.Sub(s.recorded) >= polling.Heartbeat {
			s.recorded = due.Truncate(time.Second) // times in a status are of whole seconds
		}
	}
}

// R1.3: a restart with 10,000 sources polls none of them early, all of them on time, and not all at once.
func TestARestartPollsNoneOfTenThousandSourcesEarlyAndAllOfThemOnTime(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2)) // the same each time
	intervals := []time.Duration{time.Minute, 5 * time.Minute, 15 * time.Minute, 15*time.Minute + 7*time.Second, time.Hour, 6 * time.Hour, 24 * time.Hour}
	sources := make([]polledSource, portion.Of(10_000, 700))
	for i := range sources {
		sources[i] = polledSource{uid: fmt.Sprintf("%08x-7c1f", random.Uint32()), interval: intervals[i%len(intervals)]}
	}
	for number, now := range lives(random, start.Add(36*time.Hour)) {
		perSecond := map[int64]int{}
		for i := range sources {
			source := &sources[i]
			polls := source.live(now)
			if number > 0 {
				source.check(t, now, polls)
			}
			for _, at := range polls {
				source.last = at
				perSecond[at.Unix()]++
			}
		}
		if number == 0 {
			continue // all are new, and polled at once
		}
		for second, count := range perSecond {
			if count > len(sources)/66 { // of 10,000, 24 a second of those with one minute, 14 of all others at most; never all at once
				t.Fatalf("%d polls in one second, %s after the start of process %d", count, time.Unix(second, 0).Sub(now.from), number)
			}
		}
	}
}

// check looks at the polls of one source in one life of the operator.
func (s *polledSource) check(t *testing.T, now life, polls []time.Time) {
	t.Helper()
	slot := func(at time.Time) time.Time { return polling.Slot(s.uid, s.interval, at) }
	last := s.last
	for _, at := range polls {
		if !slot(at).After(slot(last)) {
			t.Fatalf("a source with the interval %s is polled at %s, early: it was at %s, and its slot is at %s", s.interval, at, last, slot(at))
		}
		last = at
	}
	// In each interval that the process lives through from its slot on there is a poll: at the slot, or, of
	// what was missed before the start, within minutes of the start.
	next := 0
	for due := polling.NextSlot(s.uid, s.interval, now.from); due.Add(catchUp).Before(now.to); due = due.Add(s.interval) {
		for next < len(polls) && polls[next].Before(due) {
			next++
		}
		late := due
		if due.Before(now.from.Add(catchUp)) {
			late = now.from.Add(catchUp)
		}
		madeUp := next > 0 && !slot(polls[next-1]).Before(due)
		if !madeUp && (next == len(polls) || polls[next].After(late)) {
			t.Fatalf("a source with the interval %s is not polled at its slot %s: %s after the start at %s; polls %s", s.interval, due, due.Sub(now.from), now.from, polls)
		}
	}
	// What was missed for longer than the heartbeat may hide is made up for at once.
	missed := slot(now.from).Sub(s.last) > polling.Heartbeat+s.interval
	if missed && now.to.Sub(now.from) > catchUp && (len(polls) == 0 || polls[0].After(now.from.Add(catchUp))) {
		t.Fatalf("a source with the interval %s, polled last at %s, is not polled within %s of the start at %s: %s", s.interval, s.last, catchUp, now.from, polls)
	}
}
