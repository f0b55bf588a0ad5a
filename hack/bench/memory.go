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
)

// linux is where the figures of processes can be read.
const linux = "linux"

// calm is how long a started operator is paused before its memory is looked at.
const calm = time.Minute

// measureMemory looks at the operator's own process, which holds many processed items.
func measureMemory(ctx context.Context, p *plane, o options) ([]figure.Row, error) {
	if runtime.GOOS != linux {
		return []figure.Row{figure.Note("resident memory", "not measured: it needs Linux")}, nil
	}
	sources := min(100, o.items)
	feeds, err := serveFeeds(ctx)
	if err != nil {
		return nil, err
	}
	defer feeds.close()
	namespace, err := p.namespace(ctx)
	if err != nil {
		return nil, err
	}
	services, err := startServices(ctx, o.items)
	if err != nil {
		return nil, err
	}
	defer services.close()
	if err := p.createServices(ctx, services, namespace, v1alpha1.DefaultDestinationConcurrency); err != nil {
		return nil, err
	}
	perSource := o.items / sources
	if err := populate(ctx, p, feeds, namespace, sources, perSource); err != nil {
		return nil, err
	}

	manager, err := startManager(ctx, p, o, namespace, fmt.Sprintf("--requests-per-host=%d", requestsPerHost))
	if err != nil {
		return nil, err
	}
	defer manager.stop(ctx)
	started := time.Now()
	if err := p.untilCounted(ctx, namespace, sources, perSource); err != nil {
		return nil, manager.explain(err)
	}
	ready, wait := time.Since(started), calm
	if o.short {
		wait = 5 * time.Second
	}
	progress("The operator holds %d items after %s; waiting %s …", o.items, ready.Round(time.Second), wait)
	if err := pause(ctx, wait); err != nil {
		return nil, err
	}
	memory, err := manager.memory()
	if err != nil {
		return nil, err
	}
	again := len(services.mastodon.Posts())
	return []figure.Row{
		figure.AtMost(fmt.Sprintf("resident memory of the operator with %d processed items, each posted to one destination", sources*perSource),
			fmt.Sprintf("%.0f MB", figure.Megabytes(memory.resident)), figure.Megabytes(memory.resident), 300, " MB"),
		figure.AtMost("items that were posted already, and were posted again", strconv.Itoa(again), float64(again), 0, ""),
		figure.Note("the most that it was since its start", "%.0f MB", figure.Megabytes(memory.peak)),
		figure.Note("from its start until every source was polled and counted", "%s", ready.Round(time.Second)),
	}, nil
}
