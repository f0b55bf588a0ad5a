// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feedsource

import (
	"context"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/itemcache"
	"github.com/feed-operator/feed-operator/internal/record"
)

// noteGone counts an item that was removed after it had ended, unless its source is gone too.
func (r *Reconciler) noteGone(ctx context.Context, item *v1alpha1.FeedItem) {
	if item == nil || !item.Terminal() {
		return
	}
	if source, err := itemcache.SourceOf(ctx, r.Client, item); err == nil && source != nil { // from the cache: it does not fail
		r.states.of(source, r.Clock.Now()).counters.Removed(item.Status.Phase)
	}
}

// writeLast writes, when the operator stops, what is not written of the items that are gone, for no other process can know of them, and what there is to say
// of first polls: else the next process would make them again.
func (r *Reconciler) writeLast(ctx context.Context) error {
	<-ctx.Done()
	states := r.states.all()
	namespaceOf := func(name types.NamespacedName) string { return name.Namespace }
	record.Last(ctx, slices.Collect(maps.Keys(states)), namespaceOf, func(ctx context.Context, name types.NamespacedName) error {
		var source v1alpha1.FeedSource
		watch := states[name]
		watch.Lock() // after a poll that is under way
		defer watch.Unlock()
		switch err := r.Client.Get(ctx, name, &source); {
		case err != nil, source.UID != watch.uid:
		case watch.firstReport != nil:
			return r.writeCounts(ctx, &source, watch, r.Clock.Now())
		case watch.counters.Unwritten(&source.Status):
			return r.writeCounted(ctx, &source, watch, r.write, func(source *v1alpha1.FeedSource) bool {
				if watch.countedByAnother(&source.Status) {
					watch.counters.Write(&source.Status, source.Status.Items)
					return false
				}
				return watch.counters.Unwritten(&source.Status)
			})
		}
		return nil
	})
	return nil
}

// all returns the states of all sources that this process has seen.
func (w *sourceStates) all() map[types.NamespacedName]*sourceState {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.byName)
}
