// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"time"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/hack/bench/figure"
	"github.com/feed-operator/feed-operator/hack/bench/rig"
)

// linux is where the figures of processes can be read.
const linux = "linux"

// calm is how long a started operator is paused before its memory is looked at.
const calm = time.Minute

// measureMemory looks at the operator's own process, which holds many processed items.
func measureMemory(ctx context.Context, p *rig.Plane, o options) ([]figure.Row, error) {
	if runtime.GOOS != linux {
		return []figure.Row{figure.Note("resident memory", "not measured: it needs Linux")}, nil
	}
	sources := min(100, o.items)
	feeds, err := rig.ServeFeeds(ctx)
	if err != nil {
		return nil, err
	}
	defer feeds.Close()
	namespace, err := p.Namespace(ctx)
	if err != nil {
		return nil, err
	}
	services, err := rig.StartServices(ctx, o.items)
	if err != nil {
		return nil, err
	}
	defer services.Close()
	if err := p.CreateServices(ctx, services, namespace, v1alpha1.DefaultDestinationConcurrency); err != nil {
		return nil, err
	}
	perSource := o.items / sources
	if err := populate(ctx, p, feeds, namespace, sources, perSource); err != nil {
		return nil, err
	}

	manager, err := rig.StartManager(ctx, p, namespace, rig.FeedsOnOneHost)
	if err != nil {
		return nil, err
	}
	defer manager.Stop(ctx)
	started := time.Now()
	if err := untilCounted(ctx, p, namespace, sources, perSource); err != nil {
		return nil, manager.Explain(err)
	}
	ready, wait := time.Since(started), calm
	if o.short {
		wait = 5 * time.Second
	}
	rig.Progress("The operator holds %d items after %s; waiting %s …", o.items, ready.Round(time.Second), wait)
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
