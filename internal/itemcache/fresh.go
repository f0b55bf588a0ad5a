// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package itemcache

import (
	"container/list"
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
)

const (
	// mostFresh is how much memory fresh items take at most, of all namespaces together, in bytes. Those of one take no more than they leave free,
	// so half of it at most, however many wait there: whose items are many has more of them read, and a neighbour has room for its own.
	mostFresh = 8 << 20
	// itemOverhead is what an item takes beside its content, about, in bytes.
	itemOverhead = 2 << 10
	// frozenAfter is after how long in which nobody made an item or asked for one nothing is fresh any more: the process may have been frozen,
	// and another one may have worked on the items meanwhile. It is shorter than the time in which another one can take over.
	frozenAfter = 5 * time.Second
	// betweenWorkers is by how much one worker may have read the clock before another one who asked sooner.
	betweenWorkers = 500 * time.Millisecond
	// freshFor is how long an item is held that waits for its turn, and how long it is taken for as it was made.
	freshFor = time.Minute
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
	mu   sync.Mutex
	held map[types.NamespacedName]*list.Element
	// line are the Makings that are held, as they were begun. What waits longest has its turn first; so where there is no room for all, it is the
	// newest that is not held.
	line   list.List
	weight int            // of those that are held
	of     map[string]int // and what of it is of each namespace
	asked  time.Time      // when somebody made an item or asked for one last
}

// Making is an item that is being made, or was just made.
type Making struct {
	name   types.NamespacedName
	asked  time.Time // when the API server was asked to make it
	weight int
	done   chan struct{}      // closed when it has answered
	item   *v1alpha1.FeedItem // as it answers; nil where it has not made the item, or that is not known
}

// Expect is called before an item is made: the cache may hear of the item before its maker has the answer.
func (f *Fresh) Expect(item *v1alpha1.FeedItem, now time.Time) *Making {
	making := &Making{
		name: client.ObjectKeyFromObject(item), asked: now, done: make(chan struct{}), weight: weightOf(&item.Spec),
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.forgetOld(now)
	f.remove(f.held[making.name])
	if f.of[item.Namespace]+making.weight > mostFresh-f.weight-making.weight {
		return making
	}
	f.held[making.name] = f.line.PushBack(making)
	f.count(making, making.weight)
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
	making := f.takeMaking(client.ObjectKeyFromObject(cached), now)
	if making == nil {
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

func (f *Fresh) takeMaking(name types.NamespacedName, now time.Time) *Making {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.forgetOld(now)
	return f.remove(f.held[name])
}

// forgetOld forgets what has waited for too long, and all where the process may have been frozen, or the clock was set back.
func (f *Fresh) forgetOld(now time.Time) {
	passed := now.Sub(f.asked)
	if passed > frozenAfter || passed < -betweenWorkers {
		f.held, f.of, f.weight = map[types.NamespacedName]*list.Element{}, map[string]int{}, 0
		f.line.Init()
	}
	if passed > 0 || passed < -betweenWorkers {
		f.asked = now
	}
	for first := f.line.Front(); first != nil && now.Sub(first.Value.(*Making).asked) > freshFor; first = f.line.Front() {
		f.remove(first)
	}
}

// remove takes what is held out of the line; nil is nothing.
func (f *Fresh) remove(held *list.Element) *Making {
	if held == nil {
		return nil
	}
	making := f.line.Remove(held).(*Making)
	delete(f.held, making.name)
	f.count(making, -making.weight)
	return making
}

// count adds to what is held, of all and of a namespace.
func (f *Fresh) count(making *Making, weight int) {
	f.weight += weight
	if f.of[making.name.Namespace] += weight; f.of[making.name.Namespace] == 0 {
		delete(f.of, making.name.Namespace)
	}
}
