// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package totals counts what a source has come to: the items that have ended, also those that are gone, and the entries that its filters have dropped.
//
// It is pure: it knows statuses and numbers, and neither who reads nor who writes them.
package totals

import (
	"sync"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
)

// Counters are what a source has come to since it was created: what its status said when this process began to count, and what has come
// since. The whole is written and not what is to be added: so nothing counts twice that is written twice because an answer was lost, or that a deposed
// operator has heard of beside the one that follows it.
type Counters struct {
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

// Learn takes in what a status says, where it says more than is known: another operator has counted, or a backup was restored.
func (c *Counters) Learn(status *v1alpha1.FeedSourceStatus) {
	c.mu.Lock()
	defer c.mu.Unlock()
	said := goneBy(status)
	c.gone.succeeded, c.gone.failed = max(c.gone.succeeded, said.succeeded), max(c.gone.failed, said.failed)
	c.filtered = max(c.filtered, min(status.FilteredEntries, most))
}

// Dropped notes that the filters have dropped so many entries. It is told along with other news only: it is not worth a write.
func (c *Counters) Dropped(entries int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.filtered += int64(entries)
}

// Removed notes that an item is gone that had ended.
func (c *Counters) Removed(phase v1alpha1.Phase) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if phase == v1alpha1.PhaseFailed {
		c.gone.failed++
	} else {
		c.gone.succeeded++
	}
}

// Unwritten reports whether items are gone of which a status does not know.
func (c *Counters) Unwritten(status *v1alpha1.FeedSourceStatus) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	said := goneBy(status)
	return c.gone.succeeded > said.succeeded || c.gone.failed > said.failed
}

// Write puts the counters on a status, with the items that there are. Who may know less of those than the status says writes with these: what is gone stays
// gone, and who counts next has the whole right.
func (c *Counters) Write(status *v1alpha1.FeedSourceStatus, there v1alpha1.ItemCounts) {
	c.Learn(status)
	c.mu.Lock()
	defer c.mu.Unlock()
	succeeded, failed := c.gone.succeeded+int64(there.Processed), c.gone.failed+int64(there.Failed)
	status.Items, status.FilteredEntries = there, c.filtered
	status.Totals = v1alpha1.ItemTotals{Processed: succeeded + failed, Succeeded: succeeded, Failed: failed}
}
