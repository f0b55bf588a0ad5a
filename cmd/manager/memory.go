// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/feed-operator/feed-operator/internal/pdftext"
)

// keepHeapSmall has the garbage collector run when the heap has grown by half, not when it has
// doubled: most of it is the cache, which lives long, and the operator has little else to do with
// its processor. A heap that is small anyway is left to grow up to smallHeap first: it would be collected
// every few megabytes else, at a fifth of all processor time. GOGC in the environment has the last word.
func keepHeapSmall() {
	if os.Getenv("GOGC") != "" {
		return
	}
	set := 0
	adapt := func() {
		live, _ := heapSize()
		if percent := growth(live); percent != set {
			debug.SetGCPercent(percent)
			set = percent
		}
	}
	adapt()
	afterEachCollection(adapt)
}

// smallHeap is how large a heap may be, in bytes, that was not collected.
const smallHeap = 64 << 20

// growth returns by how much of what lives in it, in percent, the heap may grow until it is collected next. That is set anew when what is left of
// a collection has been looked through, which takes seconds on a busy machine: until then a heap that fills at once grows by what held for
// the small one. So it is never much.
func growth(live uint64) int {
	const usual, most = 50, 200
	if live >= smallHeap {
		return usual
	}
	return int(min(max(usual, 100*(smallHeap-live)/max(live, 1)), most))
}

// afterEachCollection calls a function each time that the heap was collected, one call after the other.
func afterEachCollection(do func()) {
	type collected struct{ _ *byte } // with a pointer, or the allocator would put it together with others, which live longer
	runtime.AddCleanup(new(collected), func(do func()) {
		do()
		afterEachCollection(do)
	}, do)
}

// leaveRoomToRead takes off GOMEMLIMIT, where it is set, what the process needs that reads PDF documents: the limit
// is that of the container, which holds both.
func leaveRoomToRead() {
	if limit := debug.SetMemoryLimit(-1); limit != math.MaxInt64 {
		debug.SetMemoryLimit(roomBeside(limit, pdftext.Memory))
	}
}

// roomBeside returns what is left of a limit beside another process, in bytes, but at least half of it.
func roomBeside(limit, other int64) int64 { return max(limit-other, limit/2) }

// spareCheck is how often memory that is not needed any more is looked for.
const spareCheck = 30 * time.Second

// spareMemory gives back what a burst has left behind, such as that of the start: to fill the cache takes much
// more than what is kept of it, and the collector would take that for the size that the heap has. Little is
// left alone, because to give it back costs a collection.
type spareMemory struct {
	cache cache.Cache
	// heap returns how much of the heap, in bytes, lived when it was collected last, and how much memory it has.
	heap func() (live, held uint64)
	free func()
}

// NeedLeaderElection implements manager.LeaderElectionRunnable: a standby has a cache too.
func (*spareMemory) NeedLeaderElection() bool { return false }

// Start implements manager.Runnable.
func (m *spareMemory) Start(ctx context.Context) error {
	if !m.cache.WaitForCacheSync(ctx) {
		return nil
	}
	ticker := time.NewTicker(spareCheck)
	defer ticker.Stop()
	for {
		if live, held := m.heap(); held > live+live/4 {
			m.free()
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// heapSize reads the size of the program's own heap.
func heapSize() (live, held uint64) {
	samples := []metrics.Sample{
		{Name: "/gc/heap/live:bytes"},
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/heap/free:bytes"},
	}
	metrics.Read(samples)
	return samples[0].Value.Uint64(), samples[1].Value.Uint64() + samples[2].Value.Uint64()
}
