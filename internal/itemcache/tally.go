// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package itemcache

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
)

// Tally counts the items of each source by phase, as the events of the cache tell of them. So a source's
// counts cost the same however many items it has; to list them copies 54 MB where there are 100,000.
// The zero value has counted nothing.
type Tally struct {
	mu       sync.Mutex
	bySource map[types.UID]talliedItems
}

type talliedItems struct {
	v1alpha1.ItemCounts

	// seen is how many items there were since there was none, those included that are gone.
	seen int64
}

// Of returns the counts of a source.
func (t *Tally) Of(source types.UID) v1alpha1.ItemCounts {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.bySource[source].ItemCounts
}

// Seen returns how many items of a source were tallied since it had none.
func (t *Tally) Seen(source types.UID) int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.bySource[source].seen
}

// Settled reports whether so many items of a source were seen, and each of them is finished or waits to be retried.
func (t *Tally) Settled(source types.UID, seen int64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	tallied := t.bySource[source]
	return tallied.seen >= seen && tallied.Unprocessed == 0 && tallied.Pending == 0
}

// Change takes in that an item has become another: from nil when it is new, to nil when it is gone.
func (t *Tally) Change(from, to *v1alpha1.FeedItem) {
	t.mu.Lock()
	defer t.mu.Unlock()
	isNew := from == nil || to != nil && from.Spec.SourceRef.UID != to.Spec.SourceRef.UID
	t.add(to, 1, isNew)
	t.add(from, -1, false)
}

func (t *Tally) add(item *v1alpha1.FeedItem, n int32, isNew bool) {
	if item == nil {
		return
	}
	source := item.Spec.SourceRef.UID
	tallied := t.bySource[source]
	tallied.Add(item.Status.Phase, n)
	if isNew {
		tallied.seen++
	}
	if tallied.ItemCounts == (v1alpha1.ItemCounts{}) {
		delete(t.bySource, source)
		return
	}
	if t.bySource == nil {
		t.bySource = map[types.UID]talliedItems{}
	}
	t.bySource[source] = tallied
}

// CountByPhase counts items that are listed.
func CountByPhase(items []v1alpha1.FeedItem) v1alpha1.ItemCounts {
	var counts v1alpha1.ItemCounts
	for i := range items {
		counts.Add(items[i].Status.Phase, 1)
	}
	return counts
}
