// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package crowds measures what it takes to read feeds that are each on a host of their own: thousands that are polled,
// also over a restart of the operator, and some that are made to hurt who reads them.
//
// It looks at the operator's own program from outside, by its process, its objects, and when the feeds were asked for. It
// starts and counts through package rig, and knows nothing of other measurements.
package crowds

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/hack/bench/figure"
	"github.com/feed-operator/feed-operator/hack/bench/news"
	"github.com/feed-operator/feed-operator/hack/bench/rig"
)

// pollInterval of the sources of a crowd: the shortest that there is, so that a minute shows a whole round.
const pollInterval = time.Minute

// crowdPatience is how long anything that a crowd of sources must come to is waited for.
const crowdPatience = 20 * time.Minute

// crowd is many sources, each with a host of its own, and the operator's own program that polls them.
type crowd struct {
	plane     *rig.Plane
	size      int
	namespace string
	hosts     *rig.Hosts
	manager   *rig.Manager
}

// newCrowd creates the sources, with no operator yet. Their feeds list the same entries, none of which
// becomes an item at the first poll.
func newCrowd(ctx context.Context, p *rig.Plane, size int) (_ *crowd, failed error) {
	namespace, err := p.Namespace(ctx)
	if err != nil {
		return nil, err
	}
	c := &crowd{plane: p, size: size, namespace: namespace}
	if c.hosts, err = rig.ServeHosts(ctx, size); err != nil {
		return nil, err
	}
	defer func() {
		if failed != nil {
			c.close(ctx)
		}
	}()
	c.hosts.Publish(news.Entries("crowd", news.FeedLength))

	rig.Progress("Creating %d sources …", size)
	const atOnce = 32
	return c, rig.Each(ctx, size, atOnce, c.create)
}

// create creates the source of that number.
func (c *crowd) create(ctx context.Context, number int) error {
	source := news.Source(c.namespace, memberName(number), c.hosts.URL(number), func(source *v1alpha1.FeedSource) {
		source.Spec.InitialItems = new(int32(0))
		source.Spec.Interval = &metav1.Duration{Duration: pollInterval}
	})
	if err := c.plane.Client.Create(ctx, source); err != nil {
		return fmt.Errorf("create a FeedSource: %w", err)
	}
	return nil
}

func memberName(number int) string { return fmt.Sprintf("source-%05d", number) }

// start starts the operator.
func (c *crowd) start(ctx context.Context) (err error) {
	c.manager, err = rig.StartManager(ctx, c.plane, c.namespace)
	return err
}

// close ends the operator and the feeds.
func (c *crowd) close(ctx context.Context) {
	if c.manager != nil {
		c.manager.Stop(ctx)
	}
	c.hosts.Close()
}

// sources lists the sources as they are.
func (c *crowd) sources(ctx context.Context) ([]v1alpha1.FeedSource, error) {
	var list v1alpha1.FeedSourceList
	err := c.plane.Client.List(ctx, &list, client.InNamespace(c.namespace))
	return list.Items, err
}

// untilEach waits until all sources are as they must be. It asks seldom: a list of thousands costs the
// API server more than the operator does.
func (c *crowd) untilEach(ctx context.Context, what string, is func(*v1alpha1.FeedSource) bool) error {
	var left int
	var busy error // of the API server, which may have too much to do for a moment
	err := wait.PollUntilContextTimeout(ctx, 2*time.Second, crowdPatience, true, func(ctx context.Context) (bool, error) {
		if err := c.manager.Err(); err != nil {
			return false, err
		}
		var sources []v1alpha1.FeedSource
		if sources, busy = c.sources(ctx); busy != nil {
			return false, nil //nolint:nilerr // it is asked again
		}
		left = 0
		for i := range sources {
			if !is(&sources[i]) {
				left++
			}
		}
		return left == 0, nil
	})
	if err != nil {
		return c.manager.Explain(fmt.Errorf("%d sources are not %s: %w", left, what, errors.Join(err, busy)))
	}
	return nil
}

// untilPolled waits until each source was polled once, and reports it.
func (c *crowd) untilPolled(ctx context.Context) error {
	return c.untilEach(ctx, "polled", func(source *v1alpha1.FeedSource) bool { return source.Status.LastPollTime != nil })
}

// cost is what happened while something was measured.
type cost struct {
	took   time.Duration
	polls  int
	cpu    time.Duration
	writes rig.APIWrites
	memory rig.Memory
}

// perSecond is how many polls were made with one second of a core.
func (c cost) perSecond() float64 { return float64(c.polls) / max(c.cpu, time.Millisecond).Seconds() }

// measure measures what the operator spends while something happens.
func (c *crowd) measure(ctx context.Context, happens func(context.Context) error) (spent cost, _ error) {
	writes, err := c.plane.APIWrites(ctx)
	if err != nil {
		return cost{}, err
	}
	cpu, err := c.manager.CPU()
	if err != nil {
		return cost{}, err
	}
	began := time.Now()
	polls := c.hosts.Total()
	if err := happens(ctx); err != nil {
		return cost{}, err
	}
	spent.took = time.Since(began)
	spent.polls = c.hosts.Total() - polls
	if spent.cpu, err = c.manager.CPU(); err != nil {
		return cost{}, err
	}
	spent.cpu -= cpu
	if spent.memory, err = c.manager.Memory(); err != nil {
		return cost{}, err
	}
	spent.writes, err = c.plane.APIWrites(ctx)
	spent.writes = spent.writes.Since(writes)
	rig.Progress("  %d polls in %s, %.2f s of a core, %d API writes, %.0f MB",
		spent.polls, spent.took.Round(time.Second), spent.cpu.Seconds(), spent.writes.Total(), figure.Megabytes(spent.memory.Resident))
	return spent, err
}
