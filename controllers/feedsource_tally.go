// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
)

// itemTally counts the items of each source by phase, as the events of the cache tell of them. So a source's
// counts cost the same however many items it has; to list them copies 54 MB where there are 100,000.
// The zero value has counted nothing.
type itemTally struct {
	mu       sync.Mutex
	bySource map[types.UID]v1alpha1.ItemCounts
}

// of returns the counts of a source.
func (t *itemTally) of(source types.UID) v1alpha1.ItemCounts {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.bySource[source]
}

// change takes in that an item has become another: from nil when it is new, to nil when it is gone.
func (t *itemTally) change(from, to *v1alpha1.FeedItem) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.add(from, -1)
	t.add(to, 1)
}

func (t *itemTally) add(item *v1alpha1.FeedItem, n int32) {
	if item == nil {
		return
	}
	source := item.Spec.SourceRef.UID
	counts := t.bySource[source]
	*countOf(&counts, item.Status.Phase) += n
	if counts == (v1alpha1.ItemCounts{}) {
		delete(t.bySource, source)
		return
	}
	if t.bySource == nil {
		t.bySource = map[types.UID]v1alpha1.ItemCounts{}
	}
	t.bySource[source] = counts
}

// countOf is where the items of a phase are counted. One whose status was never written is unprocessed.
func countOf(counts *v1alpha1.ItemCounts, phase v1alpha1.Phase) *int32 {
	switch phase {
	case v1alpha1.PhaseDeferred:
		return &counts.Deferred
	case v1alpha1.PhasePending:
		return &counts.Pending
	case v1alpha1.PhaseProcessed:
		return &counts.Processed
	case v1alpha1.PhaseFailed:
		return &counts.Failed
	case v1alpha1.PhaseUnprocessed:
	}
	return &counts.Unprocessed
}

func countByPhase(items []v1alpha1.FeedItem) v1alpha1.ItemCounts {
	var counts v1alpha1.ItemCounts
	for i := range items {
		*countOf(&counts, items[i].Status.Phase)++
	}
	return counts
}
