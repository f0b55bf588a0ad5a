// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package itemcache

import (
	"cmp"
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
)

const (
	// mostFresh is how much memory fresh items take at most, twice, of all tenants together, in bytes: whose items are many has more of
	// them read.
	mostFresh = 1 << 20
	// itemOverhead is what an item takes beside its content, about, in bytes.
	itemOverhead = 2 << 10
	// freshFor is how long an item is taken for as it was made. A process that was frozen meanwhile asks: by then another one may have
	// worked on it.
	freshFor = 5 * time.Second
	// answerWait is how long the answer is waited for with which an item was made. It is on its way when the cache has heard of the item,
	// and where it is lost, the item is read.
	answerWait = 100 * time.Millisecond
)

// Fresh holds the items that this process makes, whole, until somebody begins to work on them: who does need not read what was just
// written. Each is handed out once, and only to the first who asks for it: after that something may be written on the item of which the
// cache has not heard, and what was made would pass for what is there.
//
// What is not handed out is read; so any item may be forgotten at any time. The zero value holds none.
type Fresh struct {
	mu sync.Mutex
	// newer and older are two generations: when one is full, the one before is forgotten.
	newer, older map[types.NamespacedName]*Making
	weight       int // of newer
}

// Making is an item that is being made, or was just made.
type Making struct {
	asked  time.Time // when the API server was asked to make it
	weight int
	done   chan struct{}      // closed when it has answered
	item   *v1alpha1.FeedItem // as it answers; nil where it has not made the item, or that is not known
}

// Expect is called before an item is made: the cache may hear of the item before its maker has the answer.
func (f *Fresh) Expect(item *v1alpha1.FeedItem, now time.Time) *Making {
	making := &Making{
		asked: now, done: make(chan struct{}), weight: weightOf(&item.Spec),
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.newer == nil || f.weight+making.weight > mostFresh {
		f.newer, f.older, f.weight = map[types.NamespacedName]*Making{}, f.newer, 0
	}
	name := client.ObjectKeyFromObject(item)
	f.remove(name)
	f.newer[name] = making
	f.weight += making.weight
	return making
}

// weightOf is about how much memory an item takes that was just made, in bytes. Each of its texts is as long as its feed has it.
func weightOf(spec *v1alpha1.FeedItemSpec) int {
	weight := itemOverhead + len(spec.Content) + len(spec.CompressedContent) + len(spec.Title) + len(spec.URL) + len(spec.GUID) + len(spec.Author)
	for _, category := range spec.Categories {
		weight += len(category)
	}
	return weight
}

// Ended is called once, with the item as the API server has made it, which is not the caller's any more; or with nil.
func (m *Making) Ended(item *v1alpha1.FeedItem) {
	m.item = item
	close(m.done)
}

// Take returns the item of which the cached form is known, if nobody has asked for it before; nil where it has to be read. It is the
// caller's from then on.
func (f *Fresh) Take(ctx context.Context, cached *v1alpha1.FeedItem, now time.Time) *v1alpha1.FeedItem {
	making := f.takeMaking(client.ObjectKeyFromObject(cached))
	if making == nil {
		return nil
	}
	if passed := now.Sub(making.asked); passed < 0 || passed > freshFor {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, answerWait)
	defer cancel()
	select {
	case <-making.done:
	case <-ctx.Done():
		return nil
	}
	if making.item == nil || making.item.UID != cached.UID || making.item.ResourceVersion != cached.ResourceVersion {
		return nil
	}
	return making.item
}

func (f *Fresh) takeMaking(name types.NamespacedName) *Making {
	f.mu.Lock()
	defer f.mu.Unlock()
	making := cmp.Or(f.newer[name], f.older[name])
	f.remove(name)
	return making
}

func (f *Fresh) remove(name types.NamespacedName) {
	if making := f.newer[name]; making != nil {
		f.weight -= making.weight
	}
	delete(f.newer, name)
	delete(f.older, name)
}
