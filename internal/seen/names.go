// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package seen

import "github.com/feed-operator/feed-operator/internal/feed"

// Names tell whether the entry of an item is remembered, by the name of the item alone: that follows from the key
// by which the entry was told apart when it was created, which the item itself may not hold any more.
type Names struct {
	names map[string]bool
	full  bool
}

// NamesOf returns the names that the items of everything that is remembered have, at a source. Each key costs one
// hash, a third of a microsecond.
func NamesOf(m *Memory, sourceName, sourceUID string) Names {
	n := Names{names: map[string]bool{}}
	for _, set := range []*keySet{&m.guids, &m.urls, &m.contents, &m.texts} {
		for key := range set.seenNow {
			n.names[feed.ItemNameOf(sourceName, sourceUID, key)] = true
		}
	}
	n.full = max(len(m.guids.seenNow), len(m.urls.seenNow)) >= minKept || len(m.contents.seenNow) >= minKeptContents
	return n
}

// Remembered reports whether the entry of an item with this name need not be remembered any more: because it is, or
// because the memory is full, and so what is not in it was seen before 20,000 others.
func (n Names) Remembered(itemName string) bool { return n.names[itemName] || n.full }
