// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/feed"
)

// bareRun writes items without an operator: each is created, and its status patched once or
// twice, the last time as processed. It ends as the operator's run ends: when a watch has shown
// the last item processed.
func (t *throughput) bareRun(ctx context.Context, items, concurrency, patches int) (speed, error) {
	p := t.plane
	namespace, err := p.namespace(ctx)
	if err != nil {
		return speed{}, err
	}
	source := newSource(namespace, "bare", "https://news.example.com/feed")
	if err := p.client.Create(ctx, source); err != nil {
		return speed{}, err
	}
	entries := entriesOf("bare", items)
	finish, err := p.watchProcessed(ctx, namespace, items)
	if err != nil {
		return speed{}, err
	}
	defer finish.stop()
	return measureSpeed(items, func() error {
		return errors.Join(p.writeItems(ctx, source, entries, concurrency, patches), finish.wait(ctx))
	})
}

// writeItems creates an item of each entry and takes it to Processed by so many patches of its
// status (one or two), several items at a time.
func (p *plane) writeItems(ctx context.Context, source *v1alpha1.FeedSource, entries []feed.Entry, concurrency, patches int) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(concurrency)
	for _, entry := range entries {
		if ctx.Err() != nil {
			break
		}
		group.Go(func() error { return p.writeItem(ctx, newItem(source, entry), source, patches) })
	}
	return group.Wait()
}

func (p *plane) writeItem(ctx context.Context, item *v1alpha1.FeedItem, source *v1alpha1.FeedSource, patches int) error {
	if err := p.client.Create(ctx, item); err != nil {
		return fmt.Errorf("create a FeedItem: %w", err)
	}
	processed, err := processedStatus(item, source)
	if err != nil {
		return err
	}
	todo := [][]byte{processed}
	if patches == 2 {
		summarized, err := summarizedStatus(item)
		if err != nil {
			return err
		}
		todo = [][]byte{summarized, processed}
	}
	for _, patch := range todo {
		if err := p.client.Status().Patch(ctx, item, client.RawPatch(types.MergePatchType, patch)); err != nil {
			return fmt.Errorf("patch the status of a FeedItem: %w", err)
		}
	}
	return nil
}

// finishLine sees the items of a namespace that become processed.
type finishLine struct {
	watch watch.Interface
	done  chan error
}

// watchProcessed begins to watch for so many items. It reads all the time: a server drops a watch
// that nobody reads.
func (p *plane) watchProcessed(ctx context.Context, namespace string, items int) (*finishLine, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("FeedItemList"))
	processed := client.MatchingFields{"status.phase": string(v1alpha1.PhaseProcessed)}
	started, err := p.client.Watch(ctx, list, client.InNamespace(namespace), processed)
	if err != nil {
		return nil, fmt.Errorf("watch FeedItems: %w", err)
	}
	f := &finishLine{watch: started, done: make(chan error, 1)}
	go func() {
		seen := map[types.UID]bool{}
		for event := range started.ResultChan() {
			if item, ok := event.Object.(metav1.Object); ok && event.Type == watch.Added {
				seen[item.GetUID()] = true
			}
			if len(seen) == items {
				f.done <- nil
				return
			}
		}
		f.done <- fmt.Errorf("the watch of FeedItems has ended after %d of %d", len(seen), items)
	}()
	return f, nil
}

func (f *finishLine) stop() { f.watch.Stop() }

// wait returns when all items were seen.
func (f *finishLine) wait(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("not all items are processed after %s", patience))
	defer cancel()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case err := <-f.done:
		return err
	}
}
