// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"context"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/client"
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

// InFlight are those of objects that go on after the reconcile that began them.
type InFlight struct {
	mu   sync.Mutex
	rows map[string]bool
}

// Begin reports whether a delivery may begin: it is not under way.
func (d *InFlight) Begin(of client.Object, destination string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	row := string(of.GetUID()) + "/" + destination
	if d.rows[row] {
		return false
	}
	if d.rows == nil {
		d.rows = map[string]bool{}
	}
	d.rows[row] = true
	return true
}

// End notes that a delivery has ended.
func (d *InFlight) End(of client.Object, destination string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.rows, string(of.GetUID())+"/"+destination)
}

// Has reports whether a delivery is under way.
func (d *InFlight) Has(of client.Object, destination string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.rows[string(of.GetUID())+"/"+destination]
}
