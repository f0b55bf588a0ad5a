// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package postmemory

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// NewMemories makes one that reads what a client has, and keeps so many posts in memory.
func NewMemories(clock clock.WithDelayedExecution, c client.Client, most int64) *Memories {
	return &Memories{Clock: clock, Client: c, Live: c, Most: most}
}

// Ask asks what was posted to a destination.
func (m *Memories) Ask(ctx context.Context, destination types.NamespacedName) error {
	_, err := m.At(ctx, Target{Destination: destination})
	return err
}

// InMemory is how many posts are in memory, and how many it believes to be.
func (m *Memories) InMemory() (posts, believed int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, memory := range m.known {
		memory.mu.Lock()
		if memory.book != nil {
			posts += int64(memory.book.Len())
		}
		memory.mu.Unlock()
	}
	return posts, m.posts.Load()
}

// The bounds of what is read at once.
const (
	ReadsAtOnce = readsAtOnce
	ReadsOfAll  = readsOfAll
)

// Reserved is how many entries are held by items, of all destinations.
func (m *Memories) Reserved() (entries int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, memory := range m.known {
		memory.mu.Lock()
		held := map[types.UID]bool{}
		for _, by := range memory.reserved {
			held[by.UID] = true
		}
		entries += len(held)
		memory.mu.Unlock()
	}
	return entries
}

// Stop is what a stop of the operator begins with.
func (m *Memories) Stop() { m.stop() }

// StopHasBegun reports whether a stop has come so far that it is noted, or holds the lock.
func (m *Memories) StopHasBegun() bool {
	if !m.mu.TryLock() {
		return true
	}
	defer m.mu.Unlock()
	return m.stopping
}
