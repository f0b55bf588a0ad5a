// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package heaptest shows tests how much memory something takes.
package heaptest

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// Peak is how much memory lives at the most while something is done, in bytes, with what the collector has not come to. Where that is above
// a limit it is done again, some times, and the least counts: a collector that has to share its processors comes late, which only adds, and
// what is above the limit each time is no garbage. It looks at the memory of the whole process, so that a test which calls it is not parallel.
func Peak(limit int64, do func()) int64 {
	const tries = 5
	least := peak(do)
	for range tries - 1 {
		if least <= limit {
			break
		}
		least = min(least, peak(do))
	}
	return least
}

// peak is Peak of one time. A low percentage of growth has the collector come often.
func peak(do func()) int64 {
	defer debug.SetGCPercent(debug.SetGCPercent(20))
	runtime.GC()
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	read := func() int64 {
		metrics.Read(sample)
		return int64(sample[0].Value.Uint64()) //nolint:gosec // no heap is that large
	}
	idle := read()
	stop, most := make(chan struct{}), make(chan int64)
	go func() {
		top := int64(0)
		ticker := time.NewTicker(200 * time.Microsecond)
		defer ticker.Stop()
		for {
			top = max(top, read())
			select {
			case <-stop:
				most <- top
				return
			case <-ticker.C:
			}
		}
	}()
	do()
	close(stop)
	return <-most - idle
}
