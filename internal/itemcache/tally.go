// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package itemcache

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
)

// expectedFor is how long the cache is waited for to tell of an item that was made, and at most twice as long. It never tells of one that is deleted while
// it lists all items anew, nor of one whose making failed in a way that leaves open whether it is there.
const expectedFor = 5 * time.Minute

// Tally counts the items of each source by phase, as the events of the cache tell of them. So a source's
// counts cost the same however many items it has; to list them copies 54 MB where there are 100,000.
// It also knows which items this process has made that the cache has not told of yet.
// The zero value has counted nothing.
type Tally struct {
	mu       sync.Mutex
	bySource map[types.UID]v1alpha1.ItemCounts
	expected map[types.UID]map[string]time.Time // by their names, since when
	swept    time.Time                          // when those were forgotten last that are expected in vain
}

// Of returns the counts of a source.
func (t *Tally) Of(source types.UID) v1alpha1.ItemCounts {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.bySource[source]
}

// Active is how many items of a source are not finished, those included that were made and that the cache has not told of yet.
func (t *Tally) Active(source types.UID, now time.Time) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sweep(now)
	return int(t.bySource[source].Active()) + len(t.expected[source])
}

// Settled reports whether the cache has told of all items of a source that were made, and each of them is finished or waits to be retried.
func (t *Tally) Settled(source types.UID) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	counts := t.bySource[source]
	return len(t.expected[source]) == 0 && counts.Unprocessed == 0 && counts.Pending == 0
}

// Expect is called before an item is made: the cache may tell of it before its maker has the answer.
func (t *Tally) Expect(item *v1alpha1.FeedItem, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sweep(now)
	source := item.Spec.SourceRef.UID
	if t.expected[source] == nil {
		if t.expected == nil {
			t.expected = map[types.UID]map[string]time.Time{}
		}
		t.expected[source] = map[string]time.Time{}
	}
	t.expected[source][item.Name] = now
}

// NotMade is called when an item that was expected is known not to have been made.
func (t *Tally) NotMade(item *v1alpha1.FeedItem) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.heardOf(item)
}

// heardOf ends that an item is expected.
func (t *Tally) heardOf(item *v1alpha1.FeedItem) {
	source := item.Spec.SourceRef.UID
	delete(t.expected[source], item.Name)
	if len(t.expected[source]) == 0 {
		delete(t.expected, source)
	}
}

// sweep forgets from time to time what is expected in vain, also of sources that are gone.
func (t *Tally) sweep(now time.Time) {
	if passed := now.Sub(t.swept); 0 <= passed && passed < expectedFor {
		return
	}
	t.swept = now
	for source, names := range t.expected {
		for name, since := range names {
			if passed := now.Sub(since); passed < 0 || passed >= expectedFor {
				delete(names, name)
			}
		}
		if len(names) == 0 {
			delete(t.expected, source)
		}
	}
}

// Change takes in that an item has become another: from nil when it is new, to nil when it is gone.
func (t *Tally) Change(from, to *v1alpha1.FeedItem) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if to != nil {
		t.heardOf(to)
	}
	t.add(to, 1)
	t.add(from, -1)
}

func (t *Tally) add(item *v1alpha1.FeedItem, n int32) {
	if item == nil {
		return
	}
	source := item.Spec.SourceRef.UID
	counts := t.bySource[source]
	counts.Add(item.Status.Phase, n)
	if counts == (v1alpha1.ItemCounts{}) {
		delete(t.bySource, source)
		return
	}
	if t.bySource == nil {
		t.bySource = map[types.UID]v1alpha1.ItemCounts{}
	}
	t.bySource[source] = counts
}
