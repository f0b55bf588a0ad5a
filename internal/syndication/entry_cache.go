// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package syndication

import (
	"container/list"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// maxCacheBytes bounds the memory that entries are kept in: about 5,000 summaries of usual length.
const maxCacheBytes = 8 << 20

// version names one version of one item. What it stands for never changes, so that what is
// cached never has to be thrown away for being old.
type version struct {
	uid             types.UID
	resourceVersion string
}

func versionOf(ref Ref) version { return version{uid: ref.UID, resourceVersion: ref.ResourceVersion} }

// entryCache keeps entries, the most recently used ones first, up to a number of bytes.
type entryCache struct {
	mu       sync.Mutex
	maxBytes int
	bytes    int
	recent   list.List // of *entry
	byItem   map[version]*list.Element
}

func newEntryCache(maxBytes int) *entryCache {
	return &entryCache{maxBytes: maxBytes, byItem: map[version]*list.Element{}}
}

// get returns an entry, which must not be changed, or nil.
func (c *entryCache) get(key version) *entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	element, ok := c.byItem[key]
	if !ok {
		return nil
	}
	c.recent.MoveToFront(element)
	return element.Value.(*entry)
}

// put keeps an entry and lets go of the least recently used ones that no longer fit.
func (c *entryCache) put(e *entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := versionOf(e.ref)
	if _, ok := c.byItem[key]; ok {
		return
	}
	c.byItem[key] = c.recent.PushFront(e)
	c.bytes += e.size()
	for c.bytes > c.maxBytes {
		oldest := c.recent.Remove(c.recent.Back()).(*entry)
		delete(c.byItem, versionOf(oldest.ref))
		c.bytes -= oldest.size()
	}
}
