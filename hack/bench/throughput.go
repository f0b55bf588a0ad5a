// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/pprof"

	"k8s.io/utils/clock"

	"github.com/feed-operator/feed-operator/internal/provider"
	"github.com/feed-operator/feed-operator/internal/provider/extractive"
)

// measureThroughput compares the operator with bare writes of the same items to the same API
// server. They take turns, so that whatever else the machine does falls on both.
func measureThroughput(ctx context.Context, p *plane, o options) ([]row, error) {
	t := &throughput{plane: p, profile: o.profile, sources: 20, items: 2000}
	rounds, concurrencies := 3, []int{16, 32, 64}
	if o.short {
		t.sources, t.items, rounds, concurrencies = 4, 100, 1, []int{16}
	}
	concurrency, err := t.bestConcurrency(ctx, concurrencies)
	if err != nil {
		return nil, err
	}

	var bare, works speeds
	for round := range rounds {
		run, err := t.bareRun(ctx, t.items, concurrency, 2)
		if err != nil {
			return nil, err
		}
		bare = append(bare, run)
		run, err = t.operatorRun(ctx, instant{}, fmt.Sprintf("operator-%d", round+1))
		if err != nil {
			return nil, err
		}
		works = append(works, run)
		progress("  round %d of %d: bare %.0f, operator %.0f items/s", round+1, rounds, bare[round].rate, run.rate)
	}
	single, err := t.bareRun(ctx, t.items, concurrency, 1)
	if err != nil {
		return nil, err
	}
	builtin, err := t.operatorRun(ctx, extractive.New(), "operator-extractive")
	if err != nil {
		return nil, err
	}

	ratio := works.ratio(bare, func(s speed) float64 { return s.rate })
	return []row{
		atLeast(fmt.Sprintf("items/s with an instant provider, against bare writes (%d items of 2 KB, %d rounds)", t.items, rounds),
			fmt.Sprintf("%.2f", ratio), ratio, 0.7),
		note("the operator", "%s", works),
		note(fmt.Sprintf("bare create + 2 status patches, %d at a time", concurrency), "%s", bare),
		note("bare create + 1 status patch, as an item without a destination", "%s", speeds{single}),
		note("the operator with the built-in summarizer", "%s", speeds{builtin}),
	}, nil
}

// throughput is what is measured: so many items of so many sources.
type throughput struct {
	plane   *plane
	profile string
	sources int
	items   int
}

// bestConcurrency finds how many bare writers at a time are quickest, and warms the server up.
func (t *throughput) bestConcurrency(ctx context.Context, candidates []int) (int, error) {
	best, quickest := 0, 0.0
	for _, concurrency := range candidates {
		run, err := t.bareRun(ctx, t.items/2, concurrency, 2)
		if err != nil {
			return 0, err
		}
		progress("Bare create + 2 status patches, %d at a time: %.0f items/s", concurrency, run.rate)
		if run.rate > quickest {
			best, quickest = concurrency, run.rate
		}
	}
	return best, nil
}

// operatorRun runs an operator from its start until it has processed all that the feeds list.
func (t *throughput) operatorRun(ctx context.Context, builtin provider.Provider, name string) (_ speed, failed error) {
	feeds, err := serveFeeds(ctx)
	if err != nil {
		return speed{}, err
	}
	defer feeds.close()
	namespace, err := t.plane.namespace(ctx)
	if err != nil {
		return speed{}, err
	}
	if err := t.plane.createSources(ctx, feeds, namespace, t.sources, t.items/t.sources); err != nil {
		return speed{}, err
	}
	finish, err := t.plane.watchProcessed(ctx, namespace, t.items)
	if err != nil {
		return speed{}, err
	}
	defer finish.stop()
	endProfile, err := t.startProfile(name)
	if err != nil {
		return speed{}, err
	}
	defer endProfile()

	var operator *operator
	defer func() {
		if operator != nil {
			failed = errors.Join(failed, operator.stop())
		}
	}()
	return measureSpeed(t.items, func() (err error) {
		if operator, err = startOperator(ctx, t.plane, namespace, clock.RealClock{}, builtin); err != nil {
			return err
		}
		return finish.wait(ctx)
	})
}

// startProfile profiles this process, if that was asked for.
func (t *throughput) startProfile(name string) (end func(), err error) {
	if t.profile == "" {
		return func() {}, nil
	}
	if err := os.MkdirAll(t.profile, 0o750); err != nil {
		return nil, err
	}
	file, err := os.Create(filepath.Join(t.profile, name+".cpu.pprof"))
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return func() {
		pprof.StopCPUProfile()
		if err := file.Close(); err != nil {
			progress("The profile %s is not whole: %v", file.Name(), err)
		}
	}, nil
}
