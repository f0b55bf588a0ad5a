// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package items

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/hack/bench/news"
	"github.com/feed-operator/feed-operator/hack/bench/rig"
	"github.com/feed-operator/feed-operator/internal/feed"
)

// bareRun writes items without an operator: each is created, and its status patched once, or twice
// where it is posted, the last time as processed. It ends as the operator's run ends: when a watch
// has shown the last item processed.
func (t *throughput) bareRun(ctx context.Context, items, concurrency int, change ...func(*v1alpha1.FeedSource)) (speed, error) {
	p := t.plane
	namespace, err := p.Namespace(ctx)
	if err != nil {
		return speed{}, err
	}
	source := news.Source(namespace, "bare", "https://news.example.com/feed", change...)
	if err := p.Client.Create(ctx, source); err != nil {
		return speed{}, err
	}
	entries := news.Entries("bare", items)
	finish := watchProcessed(ctx, p, namespace, items)
	defer finish.stop()
	return measureSpeed(items, func() error {
		return errors.Join(writeItems(ctx, p, source, entries, concurrency), finish.wait(ctx))
	})
}

// writeItems creates an item of each entry and takes it to Processed, several items at a time.
func writeItems(ctx context.Context, p *rig.Plane, source *v1alpha1.FeedSource, entries []feed.Entry, concurrency int) error {
	return rig.Each(ctx, len(entries), concurrency, func(ctx context.Context, i int) error {
		return writeItem(ctx, p, news.Item(source, entries[i]), source)
	})
}

// writeItem writes of an item what the operator writes: the summary with the intents of its posts,
// and then, if there are any, their results.
func writeItem(ctx context.Context, p *rig.Plane, item *v1alpha1.FeedItem, source *v1alpha1.FeedSource) error {
	if err := p.Client.Create(ctx, item); err != nil {
		return fmt.Errorf("create a FeedItem: %w", err)
	}
	steps := []func(*v1alpha1.FeedItem, *v1alpha1.FeedSource){news.Summarize}
	if len(source.Spec.Destinations) > 0 {
		steps = append(steps, news.Publish)
	}
	for _, step := range steps {
		before := item.DeepCopy()
		step(item, source)
		patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
		if err := p.Client.Status().Patch(ctx, item, patch); err != nil {
			return fmt.Errorf("patch the status of a FeedItem: %w", err)
		}
	}
	return nil
}

// finishLine sees the items of a namespace that become processed.
type finishLine struct {
	end  context.CancelFunc
	done chan error
}

// watchProcessed begins to watch for so many items. A server that is busy drops watches that do not
// keep up: then it looks at what there is, and watches on.
func watchProcessed(ctx context.Context, p *rig.Plane, namespace string, items int) *finishLine {
	ctx, end := context.WithCancel(ctx)
	f := &finishLine{end: end, done: make(chan error, 1)}
	go func() {
		seen := map[types.UID]bool{}
		for len(seen) < items {
			if err := watchOnce(ctx, p, namespace, items, seen); err != nil {
				f.done <- err
				return
			}
		}
		f.done <- nil
	}()
	return f
}

// watchOnce adds the items that are processed, and those that become so until there are enough or
// the watch ends.
func watchOnce(ctx context.Context, p *rig.Plane, namespace string, items int, seen map[types.UID]bool) error {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("FeedItemList"))
	processed := client.MatchingFields{"status.phase": string(v1alpha1.PhaseProcessed)}
	if err := p.Client.List(ctx, list, client.InNamespace(namespace), processed); err != nil {
		return fmt.Errorf("list FeedItems: %w", err)
	}
	for i := range list.Items {
		seen[list.Items[i].UID] = true
	}
	from := &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: list.ResourceVersion}}
	started, err := p.Client.Watch(ctx, list, client.InNamespace(namespace), processed, from)
	if err != nil {
		return fmt.Errorf("watch FeedItems: %w", err)
	}
	defer started.Stop()
	for event := range started.ResultChan() {
		if item, ok := event.Object.(metav1.Object); ok && event.Type == watch.Added {
			seen[item.GetUID()] = true
		}
		if len(seen) >= items {
			break
		}
	}
	return ctx.Err()
}

func (f *finishLine) stop() { f.end() }

// wait returns when all items were seen.
func (f *finishLine) wait(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, rig.Patience, fmt.Errorf("not all items are processed after %s", rig.Patience))
	defer cancel()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case err := <-f.done:
		return err
	}
}
