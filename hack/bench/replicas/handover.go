// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"context"
	"fmt"
	"slices"
	"syscall"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/hack/bench/figure"
	"github.com/feed-operator/feed-operator/hack/bench/news"
	"github.com/feed-operator/feed-operator/hack/bench/rig"
	"github.com/feed-operator/feed-operator/internal/shardlease"
)

// The bars of a hand-over (R6.3), in seconds: until a feed is polled that was added when the replica went that had worked.
var (
	mostTold    = 3.0
	mostCrashed = (shardlease.Duration + 5*time.Second).Seconds()
)

// way is how a replica goes that has worked, and how long it may take until another goes on.
type way struct {
	what  string
	leave func(*pair) error
	most  float64
}

var ways = []way{
	{"is told to stop (SIGTERM)", bySignal(syscall.SIGTERM), mostTold},
	{"is killed (SIGKILL)", bySignal(syscall.SIGKILL), mostCrashed},
	{"is frozen (SIGSTOP)", bySignal(syscall.SIGSTOP), mostCrashed},
	{"is cut off from the API server", func(of *pair) error { of.line.Cut(); return nil }, mostCrashed},
}

// bySignal has a replica go by a signal.
func bySignal(signal syscall.Signal) func(*pair) error {
	return func(of *pair) error { return syscall.Kill(of.first.PID(), signal) }
}

// HandOver measures how long it takes until another replica goes on with the work when the one that has worked is told to stop, is killed, is frozen, or cannot
// reach the API server any more: until a feed is polled that was added when it went.
func HandOver(ctx context.Context, p *rig.Plane, s rig.Scale) ([]figure.Row, error) {
	rounds := s.Of(3, 1)
	var rows []figure.Row
	for _, way := range ways {
		var took []float64
		for range rounds {
			rig.Progress("Hand-over when the replica that works %s …", way.what)
			one, err := handOver(ctx, p, way.leave)
			if err != nil {
				return rows, err
			}
			took = append(took, one.Seconds())
		}
		longest := slices.Max(took)
		rows = append(rows, figure.AtMost(fmt.Sprintf("time until a new feed is polled when the replica that works %s, the longest of %d", way.what, rounds),
			fmt.Sprintf("%.1f s", longest), longest, way.most, " s"))
	}
	return rows, nil
}

// handOver has one of two replicas work, and then go.
func handOver(ctx context.Context, p *rig.Plane, leave func(*pair) error) (time.Duration, error) {
	feeds, err := rig.ServeFeeds(ctx)
	if err != nil {
		return 0, err
	}
	defer feeds.Close()
	namespace, err := p.Namespace(ctx)
	if err != nil {
		return 0, err
	}
	of, err := startPair(ctx, p, namespace)
	if err != nil {
		return 0, err
	}
	defer of.stop(ctx)
	if err := of.first.Explain(untilPolled(ctx, p, feeds, namespace, "before")); err != nil {
		return 0, err
	}
	if err := of.untilReady(ctx); err != nil {
		return 0, err
	}
	if err := leave(of); err != nil {
		return 0, err
	}
	began := time.Now()
	err = of.second.Explain(untilPolled(ctx, p, feeds, namespace, "after"))
	return time.Since(began), err
}

// untilPolled adds a feed, and waits until somebody has polled it.
func untilPolled(ctx context.Context, p *rig.Plane, feeds *rig.Feeds, namespace, name string) error {
	source := news.Source(namespace, name, feeds.Publish(name, news.Entries(name, 1)))
	if err := p.Client.Create(ctx, source); err != nil {
		return err
	}
	return rig.Until(ctx, func(ctx context.Context) (bool, error) {
		found := &v1alpha1.FeedSource{}
		err := p.Client.Get(ctx, client.ObjectKeyFromObject(source), found)
		return found.Status.LastPollTime != nil, err
	})
}
