// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package crowds

import (
	"context"
	"fmt"
	"time"

	"github.com/feed-operator/feed-operator/hack/bench/figure"
	"github.com/feed-operator/feed-operator/hack/bench/rig"
	"github.com/feed-operator/feed-operator/internal/polling"
)

// Restart stops and starts an operator that polls thousands of feeds, and looks at when they
// are polled then: none early, none twice, none late, and a new source at once.
func Restart(ctx context.Context, p *rig.Plane, s rig.Scale) ([]figure.Row, error) {
	crowd, err := newCrowd(ctx, p, s.Sources)
	if err != nil {
		return nil, err
	}
	defer crowd.close(ctx)
	if err := crowd.start(ctx); err != nil {
		return nil, err
	}
	rig.Progress("First polls of %d sources …", s.Sources)
	if err := crowd.untilPolled(ctx); err != nil {
		return nil, err
	}
	if err := rig.Pause(ctx, pollInterval); err != nil { // one round as usual
		return nil, err
	}

	rig.Progress("A restart with %d sources, and two rounds after it …", s.Sources)
	crowd.manager.Stop(ctx)
	stopped := time.Now()
	if err := crowd.start(ctx); err != nil {
		return nil, err
	}
	fresh, err := crowd.newcomer(ctx)
	if err != nil {
		return nil, err
	}
	if err := rig.Pause(ctx, 2*pollInterval+pollInterval/2); err != nil {
		return nil, crowd.manager.Explain(err)
	}
	sources, err := crowd.sources(ctx)
	if err != nil {
		return nil, err
	}
	uids := map[string]string{}
	for i := range sources {
		uids[sources[i].Name] = string(sources[i].UID)
	}
	times, seen := crowd.hosts.Times(), punctuality{}
	for number, polls := range times[:s.Sources] {
		seen.add(uids[memberName(number)], polls, stopped)
	}
	return append(seen.rows(s.Sources, time.Now()),
		figure.Note("from the creation of a source just after the restart until its first poll", "%s", fresh.Round(10*time.Millisecond))), nil
}

// newcomer creates one more source, and returns how long it took until its feed was asked for.
func (c *crowd) newcomer(ctx context.Context) (time.Duration, error) {
	number := c.hosts.More()
	created := time.Now()
	if err := c.create(ctx, number); err != nil {
		return 0, err
	}
	var polled time.Time
	err := rig.Until(ctx, func(context.Context) (bool, error) {
		if polls := c.hosts.Times()[number]; len(polls) > 0 {
			polled = polls[0]
		}
		return !polled.IsZero(), nil
	})
	if err != nil {
		return 0, c.manager.Explain(fmt.Errorf("a source that was created after the restart is not polled: %w", err))
	}
	return polled.Sub(created), nil
}

// punctuality is how the polls of a crowd lie to their slots. The poll times of a source lie one
// interval apart (polling.Slot), and each is for one poll.
type punctuality struct {
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

// add takes in the polls of one source.
func (p *punctuality) add(uid string, polls []time.Time, stopped time.Time) {
	one := kept{uid: uid}
	for _, at := range polls {
		if at.Before(stopped) {
			one.before = polling.Slot(uid, pollInterval, at)
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
func (p *punctuality) judge(end time.Time, grace time.Duration) (v verdicts) {
	for _, one := range p.after {
		last, had := one.before, map[int64]bool{} // by nanoseconds: the times of this process hold more than that
		for _, at := range one.polls {
			v.polls++
			slot := polling.Slot(one.uid, pollInterval, at)
			if !slot.After(last) {
				v.early++
				continue
			}
			last, had[slot.UnixNano()] = slot, true
			v.lateness = append(v.lateness, at.Sub(slot))
		}
		for slot := polling.NextSlot(one.uid, pollInterval, p.first); slot.Before(end.Add(-grace)); slot = slot.Add(pollInterval) {
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

// rows shows how punctual the polls were.
func (p *punctuality) rows(sources int, end time.Time) []figure.Row {
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
