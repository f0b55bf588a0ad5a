// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package items

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/utils/clock"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/hack/bench/figure"
	"github.com/feed-operator/feed-operator/hack/bench/news"
	"github.com/feed-operator/feed-operator/hack/bench/rig"
	"github.com/feed-operator/feed-operator/internal/provider"
	"github.com/feed-operator/feed-operator/internal/provider/extractive"
)

// Throughput compares the operator with bare writes of the same items to the same API
// server. They take turns, and each run of the operator is held against the bare writes just before and
// just after it: what else the machine does changes within minutes, by more than what is measured.
func Throughput(ctx context.Context, p *rig.Plane, s rig.Scale) ([]figure.Row, error) {
	t := &throughput{plane: p, sources: 20, items: 2000}
	rounds, concurrencies := 5, []int{16, 32, 64}
	if s.Short {
		t.sources, t.items, rounds, concurrencies = 4, 100, 1, []int{16}
	}
	concurrency, err := t.bestConcurrency(ctx, concurrencies)
	if err != nil {
		return nil, err
	}

	var works, posts speeds
	run, err := t.bareRun(ctx, t.items, concurrency, news.Posting)
	if err != nil {
		return nil, err
	}
	bare := speeds{run}
	for round := range rounds {
		run, err := t.operatorRun(ctx, rig.Instant{}, fmt.Sprintf("operator-posting-%d", round+1), rig.ManySlots)
		if err != nil {
			return nil, err
		}
		posts = append(posts, run)
		run, err = t.operatorRun(ctx, rig.Instant{}, fmt.Sprintf("operator-%d", round+1), noDestination)
		if err != nil {
			return nil, err
		}
		works = append(works, run)
		if run, err = t.bareRun(ctx, t.items, concurrency, news.Posting); err != nil {
			return nil, err
		}
		bare = append(bare, run)
		rig.Progress("  round %d of %d: operator %.0f with and %.0f items/s without a destination, bare writes %.0f before and %.0f after it",
			round+1, rounds, posts[round].rate, works[round].rate, bare[round].rate, run.rate)
	}
	single, err := t.bareRun(ctx, t.items, concurrency)
	if err != nil {
		return nil, err
	}
	builtin, err := t.operatorRun(ctx, extractive.New(), "operator-extractive", noDestination)
	if err != nil {
		return nil, err
	}
	few, err := t.operatorRun(ctx, rig.Instant{}, "operator-posting-few", v1alpha1.DefaultDestinationConcurrency)
	if err != nil {
		return nil, err
	}

	rate := func(s speed) float64 { return s.rate }
	withPosts, without := posts.ratio(bare, rate), works.ratio(bare, rate)
	size := fmt.Sprintf("(%d items of 2 KB, %d rounds)", t.items, rounds)
	return []figure.Row{
		figure.AtLeast("items/s with an instant provider and an instant destination, against bare writes "+size, fmt.Sprintf("%.2f", withPosts), withPosts, 0.7),
		figure.Note("the operator", "%s", posts),
		figure.Note(fmt.Sprintf("bare create + 2 status patches, %d at a time", concurrency), "%s", bare),
		figure.Note(fmt.Sprintf("the operator with a destination that takes %d posts at once, as by default", v1alpha1.DefaultDestinationConcurrency),
			"%s", speeds{few}),
		postedOnce(t.misposted, t.posted),
		figure.AtLeast("items/s with an instant provider and no destination, against bare writes "+size, fmt.Sprintf("%.2f", without), without, 0.7),
		figure.Note("the operator", "%s", works),
		figure.Note("bare create + 1 status patch, as an item without a destination", "%s", speeds{single}),
		figure.Note("the operator with the built-in summarizer", "%s", speeds{builtin}),
	}, nil
}

// throughput is what is measured: so many items of so many sources.
type throughput struct {
	plane   *rig.Plane
	sources int
	items   int
	// posted is how many items were to be posted, and misposted how many were not, or more than once.
	posted, misposted int
}

// bestConcurrency finds how many bare writers at a time are quickest, and warms the server up.
func (t *throughput) bestConcurrency(ctx context.Context, candidates []int) (int, error) {
	best, quickest := 0, 0.0
	for _, concurrency := range candidates {
		run, err := t.bareRun(ctx, t.items/2, concurrency, news.Posting)
		if err != nil {
			return 0, err
		}
		rig.Progress("Bare create + 2 status patches, %d at a time: %.0f items/s", concurrency, run.rate)
		if run.rate > quickest {
			best, quickest = concurrency, run.rate
		}
	}
	return best, nil
}

// noDestination is how many posts an operator makes at once that makes none.
const noDestination = 0

// operatorRun measures an operator that is up from when there are sources until it has processed all
// that their feeds list, and posted it to a destination that takes so many posts at once.
func (t *throughput) operatorRun(ctx context.Context, builtin provider.Provider, name string, slots int32) (_ speed, failed error) {
	feeds, err := rig.ServeFeeds(ctx)
	if err != nil {
		return speed{}, err
	}
	defer feeds.Close()
	namespace, err := t.plane.Namespace(ctx)
	if err != nil {
		return speed{}, err
	}
	services, err := rig.StartServices(ctx, t.items)
	if err != nil {
		return speed{}, err
	}
	defer services.Close()
	var change []func(*v1alpha1.FeedSource)
	if slots != noDestination {
		if err := t.plane.CreateServices(ctx, services, namespace, slots); err != nil {
			return speed{}, err
		}
		change = append(change, news.Posting)
		defer func() {
			t.posted += t.items
			t.misposted += rig.NotPostedOnce(services.Posts(), entriesOfAll(t.sources, t.items/t.sources))
		}()
	}
	operator, err := rig.StartOperator(ctx, t.plane, namespace, clock.RealClock{}, builtin)
	if err != nil {
		return speed{}, err
	}
	defer func() { failed = errors.Join(failed, operator.Stop()) }()
	if err := operator.UntilUp(ctx); err != nil {
		return speed{}, err
	}
	if slots != noDestination {
		if err := t.plane.UntilReady(ctx, namespace); err != nil {
			return speed{}, err
		}
	}
	finish := watchProcessed(ctx, t.plane, namespace, t.items)
	defer finish.stop()
	endProfile, err := t.plane.Profile(name)
	if err != nil {
		return speed{}, err
	}
	defer endProfile()
	return measureSpeed(t.items, func() error {
		if err := createSources(ctx, t.plane, feeds, namespace, t.sources, t.items/t.sources, change...); err != nil {
			return err
		}
		return finish.wait(ctx)
	})
}
