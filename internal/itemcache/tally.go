// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package itemcache

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
)

// Tally counts the items of each source by phase, as the events of the cache tell of them. So a source's
// counts cost the same however many items it has; to list them copies 54 MB where there are 100,000.
// It also knows which items this process has made that the cache has not told of yet: see Expect.
// The zero value has counted nothing.
type Tally struct {
	mu       sync.Mutex
	bySource map[sourceID]v1alpha1.ItemCounts
	expected map[sourceID]map[string]time.Time // by their names, since when
}

// sourceID is a source as its items name it: another one of the same name has another UID.
type sourceID struct {
	types.NamespacedName
	uid types.UID
}

func idOf(source *v1alpha1.FeedSource) sourceID {
	return sourceID{client.ObjectKeyFromObject(source), source.UID}
}

func sourceOf(item *v1alpha1.FeedItem) sourceID {
	return sourceID{types.NamespacedName{Namespace: item.Namespace, Name: item.Spec.SourceRef.Name}, item.Spec.SourceRef.UID}
}

// Of returns the counts of a source.
func (t *Tally) Of(source *v1alpha1.FeedSource) v1alpha1.ItemCounts {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.bySource[idOf(source)]
}

// Active is how many items of a source are not finished, those included that are expected.
func (t *Tally) Active(source *v1alpha1.FeedSource) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return int(t.bySource[idOf(source)].Active()) + len(t.expected[idOf(source)])
}

// ActiveAmong is Active where the cache has some items of a source: it has them a moment before it tells of them, and longer after it has listed all anew.
func (t *Tally) ActiveAmong(source *v1alpha1.FeedSource, cached []v1alpha1.FeedItem) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	expected := t.expected[idOf(source)]
	unfinished := len(expected)
	for i := range cached {
		if _, is := expected[cached[i].Name]; !is && !cached[i].Terminal() {
			unfinished++
		}
	}
	return max(unfinished, int(t.bySource[idOf(source)].Active())+len(expected))
}

// Settled reports whether each item of a source is finished or waits to be retried, and none is expected.
func (t *Tally) Settled(source *v1alpha1.FeedSource) bool { return t.settled(idOf(source)) }

// SettledWith is Settled of the source of an item.
func (t *Tally) SettledWith(item *v1alpha1.FeedItem) bool { return t.settled(sourceOf(item)) }

func (t *Tally) settled(source sourceID) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	counts := t.bySource[source]
	return len(t.expected[source]) == 0 && counts.Unprocessed == 0 && counts.Pending == 0
}

// Change takes in that an item has become another: from nil when it is new, to nil when it is gone.
func (t *Tally) Change(from, to *v1alpha1.FeedItem) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if to != nil {
		t.heardOf(sourceOf(to), to.Name)
	}
	t.add(to, 1)
	t.add(from, -1)
}

func (t *Tally) add(item *v1alpha1.FeedItem, n int32) {
	if item == nil {
		return
	}
	source := sourceOf(item)
	counts := t.bySource[source]
	counts.Add(item.Status.Phase, n)
	if counts == (v1alpha1.ItemCounts{}) {
		delete(t.bySource, source)
		return
	}
	if t.bySource == nil {
		t.bySource = map[sourceID]v1alpha1.ItemCounts{}
	}
	t.bySource[source] = counts
}
