// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package items

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/hack/bench/figure"
	"github.com/feed-operator/feed-operator/hack/bench/rig"
)

const (
	pageItems, pageSources, pageViewers = 10_000, 100, 20
	// pageWatched is for how long the viewers watch, while something changes twice a second.
	pageWatched = 30 * time.Second
)

// Page measures what the web page costs the operator's own process.
func Page(ctx context.Context, p *rig.Plane, s rig.Scale) ([]figure.Row, error) {
	items := s.Of(pageItems, 1000)
	feeds, err := rig.ServeFeeds(ctx)
	if err != nil {
		return nil, err
	}
	defer feeds.Close()
	namespace, err := p.Namespace(ctx)
	if err != nil {
		return nil, err
	}
	services, err := rig.StartServices(ctx, items)
	if err != nil {
		return nil, err
	}
	defer services.Close()
	if err := p.CreateServices(ctx, services, namespace, v1alpha1.DefaultDestinationConcurrency); err != nil {
		return nil, err
	}
	if err := populate(ctx, p, feeds, namespace, pageSources, items/pageSources); err != nil {
		return nil, err
	}
	manager, err := rig.StartManagerUnviewed(ctx, p, namespace, rig.FeedsOnOneHost...)
	if err != nil {
		return nil, err
	}
	defer manager.Stop(ctx)
	if err := untilCounted(ctx, p, namespace, pageSources, items/pageSources); err != nil {
		return nil, manager.Explain(err)
	}
	rig.Progress("The operator holds %d items; waiting until it rests …", items)
	wait := calm
	if s.Short {
		wait = 5 * time.Second
	}
	if err := rig.Pause(ctx, wait); err != nil {
		return nil, err
	}
	return watchPage(ctx, p, manager, namespace, items)
}

func watchPage(ctx context.Context, p *rig.Plane, manager *rig.Manager, namespace string, items int) ([]figure.Row, error) {
	memory, err := manager.Memory()
	if err != nil {
		return nil, err
	}
	before := memory.Resident
	reads, err := p.ItemReads(ctx)
	if err != nil {
		return nil, err
	}
	began, err := manager.CPU()
	if err != nil {
		return nil, err
	}
	size, err := rig.FetchPage(ctx, manager.Page)
	if err != nil {
		return nil, manager.Explain(err)
	}
	first, err := manager.CPU()
	if err != nil {
		return nil, err
	}
	rig.Progress("%d viewers watch for %s …", pageViewers, pageWatched)
	watched, loaded, most, err := watchTogether(ctx, p, manager, namespace)
	if err != nil {
		return nil, manager.Explain(err)
	}
	last, err := manager.CPU()
	if err != nil {
		return nil, err
	}
	after, err := p.ItemReads(ctx)
	if err != nil {
		return nil, err
	}
	more := figure.Megabytes(most - before)
	share := (last - first).Seconds() / watched.Seconds()
	return []figure.Row{
		figure.AtMost(fmt.Sprintf("processor time until the page is there, with %d items of %d sources, nobody having looked before", items, pageSources),
			(first - began).Round(time.Millisecond).String(), (first - began).Seconds(), 0.2, " s"),
		figure.AtMost(fmt.Sprintf("resident memory that %d viewers take, at the most", pageViewers), fmt.Sprintf("%.0f MB", more), more, 30, " MB"),
		figure.AtMost("reads of items from the API server meanwhile", fmt.Sprint(after-reads), float64(after-reads), 0, ""),
		figure.Note("share of a core that they take, with the work on what changes twice a second", "%.0f %%", 100*share),
		figure.Note("pages that they have loaded", "%d of %d KB", loaded, size>>10),
	}, nil
}

// watchTogether has viewers load the page whenever they are told that something has changed, while something does. It returns the most that
// the operator held meanwhile.
func watchTogether(ctx context.Context, p *rig.Plane, manager *rig.Manager, namespace string) (took time.Duration, loaded int64, most int64, _ error) {
	ctx, stop := context.WithTimeout(ctx, pageWatched)
	defer stop()
	began := time.Now()
	var pages atomic.Int64
	var viewers sync.WaitGroup
	failures := make(chan error, pageViewers)
	for range pageViewers {
		viewers.Go(func() {
			if err := rig.ViewPage(ctx, manager.Page, &pages); err != nil && ctx.Err() == nil {
				failures <- err
			}
		})
	}
	for number := 0; ctx.Err() == nil; number++ {
		source := &v1alpha1.FeedSource{}
		source.Namespace, source.Name = namespace, sourceName(number%pageSources)
		patch := fmt.Sprintf(`{"metadata":{"labels":{"looked-at":"%d"}}}`, number)
		if err := p.Client.Patch(ctx, source, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil && ctx.Err() == nil {
			return 0, 0, 0, err
		}
		memory, err := manager.Memory()
		if err != nil {
			return 0, 0, 0, err
		}
		most = max(most, memory.Resident)
		_ = rig.Pause(ctx, 500*time.Millisecond)
	}
	viewers.Wait()
	close(failures)
	return time.Since(began), pages.Load(), most, <-failures
}
