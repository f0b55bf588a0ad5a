// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"os"
	"runtime/debug"

	"sigs.k8s.io/controller-runtime/pkg/cache"
)

// keepHeapSmall has the garbage collector run when the heap has grown by half, not when it has
// doubled: most of it is the cache, which lives long, and the operator has little else to do with
// its processor. GOGC in the environment has the last word.
func keepHeapSmall() {
	const percent = 50
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}

// startMemory returns what was needed to fill the cache: to read the first list takes several times what is
// kept of it. Otherwise the collector would take that for the size that the heap has.
type startMemory struct {
	cache cache.Cache
	free  func()
}

// NeedLeaderElection implements manager.LeaderElectionRunnable: a standby has a cache too.
func (startMemory) NeedLeaderElection() bool { return false }

// Start implements manager.Runnable.
func (m startMemory) Start(ctx context.Context) error {
	if m.cache.WaitForCacheSync(ctx) {
		m.free()
	}
	return nil
}
