// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"context"
	"sync"
)

// Background runs work that goes on after the reconcile that began it. A stop of the manager waits
// for it.
type Background struct {
	// Last is done when all work has ended.
	Last func(context.Context)

	mu      sync.Mutex
	running sync.WaitGroup
	stopped bool
}

// Run begins work; once the manager is stopping, it returns when the work is done.
func (b *Background) Run(work func()) {
	b.mu.Lock()
	if b.stopped {
		b.mu.Unlock()
		work()
		return
	}
	b.running.Go(work)
	b.mu.Unlock()
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (b *Background) NeedLeaderElection() bool { return true }

// Start implements manager.Runnable.
func (b *Background) Start(ctx context.Context) error {
	<-ctx.Done()
	b.mu.Lock()
	b.stopped = true
	b.mu.Unlock()
	b.running.Wait()
	b.Last(ctx)
	return nil
}
