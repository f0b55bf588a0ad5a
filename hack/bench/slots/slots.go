// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package slots is about whether feeds were polled when their slots were: neither early nor late, each once.
//
// It is given the times of polls. It knows nothing of who has polled, or of servers.
package slots

import (
	"fmt"
	"time"

	"github.com/feed-operator/feed-operator/hack/bench/figure"
	"github.com/feed-operator/feed-operator/internal/polling"
)

// Record is how the polls of a crowd lie to their slots. The poll times of a source lie one
// interval apart (polling.Slot), and each is for one poll.
type Record struct {
	// Interval is that of all sources.
	Interval time.Duration
	// first is the first poll of all after the stop.
	first time.Time
	// after is, by source, which of the polls came after the stop, each with its slot.
	after []kept
}

// kept are the slots that a source has kept.
type kept struct {
	uid string
	// before is the slot of the last poll before the stop.
	before time.Time
	polls  []time.Time
}

// Add takes in the polls of one source.
func (p *Record) Add(uid string, polls []time.Time, stopped time.Time) {
	one := kept{uid: uid}
	for _, at := range polls {
		if at.Before(stopped) {
			one.before = polling.Slot(uid, p.Interval, at)
			continue
		}
		one.polls = append(one.polls, at)
		if p.first.IsZero() || at.Before(p.first) {
			p.first = at
		}
	}
	p.after = append(p.after, one)
}

// verdicts on the polls after a restart.
type verdicts struct {
	polls int
	// early polls are for a slot that was polled already; missed slots have none, though the operator
	// was at work all the time from the slot to the end.
	early, missed int
	// margin is the least time from a slot to its poll, and late the most.
	margin, late time.Duration
	lateness     []time.Duration
}

// judge looks at the polls up to the end of the measurement. What is due within grace of it may come later.
func (p *Record) judge(end time.Time, grace time.Duration) (v verdicts) {
	for _, one := range p.after {
		last, had := one.before, map[int64]bool{} // by nanoseconds: the times of this process hold more than that
		for _, at := range one.polls {
			v.polls++
			slot := polling.Slot(one.uid, p.Interval, at)
			if !slot.After(last) {
				v.early++
				continue
			}
			last, had[slot.UnixNano()] = slot, true
			v.lateness = append(v.lateness, at.Sub(slot))
		}
		for slot := polling.NextSlot(one.uid, p.Interval, p.first); slot.Before(end.Add(-grace)); slot = slot.Add(p.Interval) {
			if !had[slot.UnixNano()] {
				v.missed++
			}
		}
	}
	for i, late := range v.lateness {
		v.late = max(v.late, late)
		if i == 0 || late < v.margin {
			v.margin = late
		}
	}
	return v
}

// Rows shows how punctual the polls were.
func (p *Record) Rows(sources int, end time.Time) []figure.Row {
	const grace = 5 * time.Second
	v := p.judge(end, grace)
	count := func(what string, n int) figure.Row { return figure.AtMost(what, fmt.Sprint(n), float64(n), 0, "") }
	rows := []figure.Row{
		count(fmt.Sprintf("polls after a restart with %d sources that were early (of %d)", sources, v.polls), v.early),
		count("slots after the restart that were missed", v.missed),
		figure.AtMost("the latest poll, after its slot", v.late.Round(time.Millisecond).String(), v.late.Seconds(), grace.Seconds(), " s"),
		figure.Note("the earliest poll, after its slot", "%s", v.margin.Round(100*time.Microsecond)),
	}
	if len(v.lateness) > 0 {
		rows = append(rows, figure.Note("the median", "%s", figure.Median(v.lateness).Round(100*time.Microsecond)))
	}
	return rows
}
