// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package items

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/hack/bench/figure"
	"github.com/feed-operator/feed-operator/hack/bench/rig"
)

// calm is how long a started operator is paused before its memory is looked at.
const calm = time.Minute

// Memory looks at the operator's own process, which holds many processed items.
func Memory(ctx context.Context, p *rig.Plane, s rig.Scale) ([]figure.Row, error) {
	sources := min(100, s.Items)
	feeds, err := rig.ServeFeeds(ctx)
	if err != nil {
		return nil, err
	}
	defer feeds.Close()
	namespace, err := p.Namespace(ctx)
	if err != nil {
		return nil, err
	}
	services, err := rig.StartServices(ctx, s.Items)
	if err != nil {
		return nil, err
	}
	defer services.Close()
	if err := p.CreateServices(ctx, services, namespace, v1alpha1.DefaultDestinationConcurrency); err != nil {
		return nil, err
	}
	perSource := s.Items / sources
	if err := populate(ctx, p, feeds, namespace, sources, perSource); err != nil {
		return nil, err
	}

	manager, err := rig.StartManager(ctx, p, namespace, rig.FeedsOnOneHost...)
	if err != nil {
		return nil, err
	}
	defer manager.Stop(ctx)
	started := time.Now()
	if err := untilCounted(ctx, p, namespace, sources, perSource); err != nil {
		return nil, manager.Explain(err)
	}
	ready, wait := time.Since(started), calm
	if s.Short {
		wait = 5 * time.Second
	}
	rig.Progress("The operator holds %d items after %s; waiting %s …", s.Items, ready.Round(time.Second), wait)
	if err := rig.Pause(ctx, wait); err != nil {
		return nil, err
	}
	memory, err := manager.Memory()
	if err != nil {
		return nil, err
	}
	again := len(services.Posts())
	return []figure.Row{
		figure.AtMost(fmt.Sprintf("resident memory of the operator with %d processed items, each posted to one destination", sources*perSource),
			fmt.Sprintf("%.0f MB", figure.Megabytes(memory.Resident)), figure.Megabytes(memory.Resident), 300, " MB"),
		figure.AtMost("items that were posted already, and were posted again", strconv.Itoa(again), float64(again), 0, ""),
		figure.Note("the most that it was since its start", "%.0f MB", figure.Megabytes(memory.Peak)),
		figure.Note("from its start until every source was polled and counted", "%s", ready.Round(time.Second)),
	}, nil
}
