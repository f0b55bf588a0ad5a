// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package polling

import (
	"hash/fnv"
	"time"
)

// Heartbeat is how often a poll without news is written down.
const Heartbeat = time.Hour

// maxCatchUp is within which time a slot is made up for that was missed while the operator, or the
// network, was down.
const maxCatchUp = 10 * time.Minute

// Slot returns the latest poll time of a source at or before now. The poll times of a source lie
// one interval apart; where among them the source lies follows from its UID alone. So poll times
// survive a restart without being stored, and the sources are spread over the interval.
func Slot(uid string, interval time.Duration, now time.Time) time.Time {
	interval = max(interval, time.Second)
	offset := now.Add(-phase(uid, interval)).UnixNano()
	return now.Add(-time.Duration(modulo(offset, int64(interval))))
}

// NextSlot returns the first poll time of a source after the given time.
func NextSlot(uid string, interval time.Duration, after time.Time) time.Time {
	return Slot(uid, interval, after).Add(max(interval, time.Second))
}

// phase is where in the interval a source is polled.
func phase(uid string, interval time.Duration) time.Duration {
	return time.Duration(hash(uid) % uint64(interval)) //nolint:gosec // below interval, which is an int64
}

func hash(uid string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(uid))
	return h.Sum64()
}

// modulo is never negative, unlike %.
func modulo(a, b int64) int64 {
	if m := a % b; m >= 0 {
		return m
	}
	return a%b + b
}

// Timing is what is known of a source when the time of its next poll is asked for.
type Timing struct {
	// UID of the source.
	UID string
	// Interval in force.
	Interval time.Duration
	// Declared is set where the interval is longer than the source's own because the feed says for
	// how long it will not change. Then it is kept from one poll to the next, as well as slots allow.
	Declared bool
	// Failing is set while the last poll has failed. Then the next one follows a whole interval
	// after it, instead of at the next slot.
	Failing bool
	// Changed is set while the spec in force was never polled, or a poll was asked for by hand.
	Changed bool
	// NotBefore is until when the server asked for a pause, or zero.
	NotBefore time.Time
	// LastPoll is when this process polled the source last; zero when it has not yet.
	LastPoll time.Time
	// RecordedPoll is the last poll that was written down, by any process. It may be older than
	// the last poll by up to Heartbeat.
	RecordedPoll time.Time
	// FirstSeen is from when on this process polls the source: since it works, or since there is the source.
	FirstSeen time.Time
	// NetworkBack is when the last outage of the network has ended; zero when there was none.
	NetworkBack time.Time
}

// Due returns when a source is to be polled next. A time that is not after now means: now.
func Due(t Timing) time.Time {
	due := t.slot()
	switch {
	case t.Changed:
		due = t.FirstSeen
	case due.Before(t.NetworkBack): // all who wait are due at once then
		due = t.spread(t.NetworkBack)
	}
	if due.Before(t.NotBefore) {
		return t.NotBefore
	}
	return due
}

func (t Timing) slot() time.Time {
	if t.Failing && !t.RecordedPoll.IsZero() { // every failed poll is written down
		last := t.RecordedPoll
		if t.LastPoll.After(last) { // what was read of the status may be behind
			last = t.LastPoll
		}
		return last.Add(t.Interval)
	}
	if !t.LastPoll.IsZero() {
		return NextSlot(t.UID, t.Interval, t.rested(t.LastPoll))
	}
	if t.RecordedPoll.IsZero() {
		return t.FirstSeen
	}
	// This process has just started. What was due while no process ran is made up for, spread
	// over a few minutes; all else waits for its slot.
	rested := t.rested(t.RecordedPoll)
	missed := Slot(t.UID, t.Interval, t.FirstSeen)
	if t.RecordedPoll.Add(Heartbeat).Before(missed) && rested.Before(missed) {
		return t.spread(t.FirstSeen)
	}
	if rested.After(t.FirstSeen) {
		return NextSlot(t.UID, t.Interval, rested)
	}
	return NextSlot(t.UID, t.Interval, t.FirstSeen)
}

// rested is after when the next slot may be used. The first poll of a source is not at one of its
// slots, and the next one after it may be near; a tenth allows for polls that are late.
func (t Timing) rested(poll time.Time) time.Time {
	if !t.Declared {
		return poll
	}
	return poll.Add(t.Interval - t.Interval/10)
}

// spread is when a source is made up for that was missed, so that not all of them are at once.
func (t Timing) spread(from time.Time) time.Time {
	return from.Add(phase(t.UID, min(maxCatchUp, max(t.Interval, time.Second))))
}
