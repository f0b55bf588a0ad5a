// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package items

import (
	"context"
	"fmt"
	"time"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/hack/bench/figure"
	"github.com/feed-operator/feed-operator/hack/bench/news"
	"github.com/feed-operator/feed-operator/hack/bench/rig"
	"github.com/feed-operator/feed-operator/internal/feed"
)

const (
	// mostForItem is how much processor time the operator may take for an item, in milliseconds: from the first poll
	// of its source until the item is summarized without a model, and counted.
	mostForItem = 4
	// itemsWindow is how much of the measurement a profile covers, where one is asked for.
	itemsWindow = 40 * time.Second
)

// Computation measures what the operator that is deployed takes for the items of new sources: all that it does from
// the first polls on. As in a new source without further settings, few of the entries of a feed become items.
func Computation(ctx context.Context, p *rig.Plane, s rig.Scale) ([]figure.Row, error) {
	sources := s.Of(400, 20)
	feeds, err := rig.ServeFeeds(ctx)
	if err != nil {
		return nil, err
	}
	defer feeds.Close()
	entries, err := articleEntries(p.Root())
	if err != nil {
		return nil, err
	}
	namespace, err := p.Namespace(ctx)
	if err != nil {
		return nil, err
	}
	manager, err := rig.StartManager(ctx, p, namespace, rig.FeedsOnOneHost...)
	if err != nil {
		return nil, err
	}
	defer manager.Stop(ctx)
	create := func(number int) error {
		name := fmt.Sprintf("source-%05d", number)
		return p.Client.Create(ctx, news.Source(namespace, name, feeds.Publish(name, entries), func(source *v1alpha1.FeedSource) {
			source.Spec.InitialItems = nil
		}))
	}
	// One source goes first: what it takes to start is not measured.
	if err := create(0); err != nil {
		return nil, fmt.Errorf("create a FeedSource: %w", err)
	}
	if err := untilCounted(ctx, p, namespace, 1, v1alpha1.DefaultInitialItems); err != nil {
		return nil, manager.Explain(err)
	}

	items := sources * v1alpha1.DefaultInitialItems
	rig.Progress("First polls of %d sources, %d items each …", sources, v1alpha1.DefaultInitialItems)
	endProfile, err := manager.Profile(ctx, "items", itemsWindow)
	if err != nil {
		return nil, err
	}
	defer endProfile()
	used, err := manager.CPU()
	if err != nil {
		return nil, err
	}
	for number := range sources {
		if err := create(1 + number); err != nil {
			return nil, fmt.Errorf("create a FeedSource: %w", err)
		}
	}
	if err := untilCounted(ctx, p, namespace, 1+sources, v1alpha1.DefaultInitialItems); err != nil {
		return nil, manager.Explain(err)
	}
	now, err := manager.CPU()
	if err != nil {
		return nil, err
	}
	cost := 1000 * (now - used).Seconds() / float64(items)
	return []figure.Row{
		figure.AtMost(fmt.Sprintf("processor time of the operator for an item (first polls of %d sources, %d entries, %d items each of 2 KB, built-in summarizer)",
			sources, len(entries), v1alpha1.DefaultInitialItems), fmt.Sprintf("%.2f ms", cost), cost, mostForItem, " ms"),
	}, nil
}

// articleEntries are the entries of a feed whose contents are the article by which the built-in summarizer is measured first.
func articleEntries(root string) ([]feed.Entry, error) {
	text, err := textSamples[0].read(root)
	if err != nil {
		return nil, err
	}
	entries := news.Entries("items", news.FeedLength)
	for i := range entries {
		entries[i].Title, entries[i].Content = fmt.Sprintf("%s (%d)", text.Title, i), text.Text
	}
	return entries, nil
}
