// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feedsource

import (
	"context"
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/itemcache"
	"github.com/feed-operator/feed-operator/internal/record"
)

// counters are what a source has come to since it was created: what its status said when this process began to count, and what has come
// since. The whole is written and not what is to be added: so nothing counts twice that is written twice because an answer was lost, or that a deposed
// operator has heard of beside the one that follows it.
type counters struct {
	mu sync.Mutex
	// gone are the items that had ended and were removed since.
	gone endedItems
	// filtered is how many entries the filters have dropped.
	filtered int64
}

type endedItems struct{ succeeded, failed int64 }

// most is where counters go on from that a person has set to more: what is added to it is still a number of JSON to whoever reads it.
const most = 1e15

// goneBy returns how many items were gone when a status was written: those of its totals that were not there.
func goneBy(status *v1alpha1.FeedSourceStatus) endedItems {
	notThere := func(total int64, there int32) int64 { return min(max(total-int64(there), 0), most) }
	return endedItems{
		succeeded: notThere(status.Totals.Succeeded, status.Items.Processed),
		failed:    notThere(status.Totals.Failed, status.Items.Failed),
	}
}

// learn takes in what a status says, where it says more than is known: another operator has counted, or a backup was restored.
func (c *counters) learn(status *v1alpha1.FeedSourceStatus) {
	c.mu.Lock()
	defer c.mu.Unlock()
	said := goneBy(status)
	c.gone.succeeded, c.gone.failed = max(c.gone.succeeded, said.succeeded), max(c.gone.failed, said.failed)
	c.filtered = max(c.filtered, min(status.FilteredEntries, most))
}

// dropped notes that the filters have dropped so many entries. It is told along with other news only: it is not worth a write.
func (c *counters) dropped(entries int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.filtered += int64(entries)
}

// removed notes that an item is gone that had ended.
func (c *counters) removed(phase v1alpha1.Phase) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if phase == v1alpha1.PhaseFailed {
		c.gone.failed++
	} else {
		c.gone.succeeded++
	}
}

// unwritten reports whether items are gone of which a status does not know.
func (c *counters) unwritten(status *v1alpha1.FeedSourceStatus) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	said := goneBy(status)
	return c.gone.succeeded > said.succeeded || c.gone.failed > said.failed
}

// write puts the counters on a status, with the items that there are.
func (c *counters) write(status *v1alpha1.FeedSourceStatus, there v1alpha1.ItemCounts) {
	c.learn(status)
	c.mu.Lock()
	defer c.mu.Unlock()
	succeeded, failed := c.gone.succeeded+int64(there.Processed), c.gone.failed+int64(there.Failed)
	status.Items, status.FilteredEntries = there, c.filtered
	status.Totals = v1alpha1.ItemTotals{Processed: succeeded + failed, Succeeded: succeeded, Failed: failed}
}

// noteGone counts an item that was removed after it had ended, unless its source is gone too.
func (r *Reconciler) noteGone(ctx context.Context, item *v1alpha1.FeedItem) {
	if item == nil || !item.Terminal() {
		return
	}
	if source, err := itemcache.SourceOf(ctx, r.Client, item); err == nil && source != nil { // from the cache: it does not fail
		r.states.of(source, r.Clock.Now()).counters.removed(item.Status.Phase)
	}
}

// writeLast writes, when the operator stops, what is not written of the items that are gone, for no other process can know of them, and what there is to say
// of first polls: else the next process would make them again.
func (r *Reconciler) writeLast(ctx context.Context) error {
	<-ctx.Done()
	states := r.states.all()
	namespaceOf := func(name types.NamespacedName) string { return name.Namespace }
	record.Last(ctx, slices.Collect(maps.Keys(states)), namespaceOf, func(ctx context.Context, name types.NamespacedName) {
		var source v1alpha1.FeedSource
		watch := states[name]
		watch.Lock() // after a poll that is under way
		defer watch.Unlock()
		switch err := r.Client.Get(ctx, name, &source); {
		case err != nil, source.UID != watch.uid:
		case watch.firstReport != nil:
			_ = r.writeCounts(ctx, &source, watch, r.Clock.Now())
		case watch.counters.unwritten(&source.Status):
			_ = r.writeCounted(ctx, &source, watch, r.write, func(source *v1alpha1.FeedSource) bool { return watch.counters.unwritten(&source.Status) })
		}
	})
	return nil
}

// all returns the states of all sources that this process has seen.
func (w *sourceStates) all() map[types.NamespacedName]*sourceState {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.byName)
}
