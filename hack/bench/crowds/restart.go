// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package crowds

import (
	"context"
	"fmt"
	"time"

	"github.com/feed-operator/feed-operator/hack/bench/figure"
	"github.com/feed-operator/feed-operator/hack/bench/rig"
	"github.com/feed-operator/feed-operator/hack/bench/slots"
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
	times, seen := crowd.hosts.Times(), slots.Record{Interval: pollInterval}
	for number, polls := range times[:s.Sources] {
		seen.Add(uids[memberName(number)], polls, stopped)
	}
	return append(seen.Rows(s.Sources, time.Now()),
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
