// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"

	"github.com/feed-operator/feed-operator/internal/pdftext"
)

// R6.3: what a burst has left behind is given back, that of the start as soon as the cache is full and not
// before; a heap that needs nearly all that it has is left alone.
func TestMemoryThatIsNotNeededIsGivenBack(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		full       bool
		live, held []uint64 // at the start, and at each look after it
		want       int
	}{
		"after the start":                    {full: true, live: []uint64{100, 100, 100}, held: []uint64{300, 120, 120}, want: 1},
		"when its last burst ends later":     {full: true, live: []uint64{100, 150, 100}, held: []uint64{300, 250, 120}, want: 2},
		"when all is read again, much later": {full: true, live: []uint64{100, 100, 150, 150}, held: []uint64{120, 120, 200, 180}, want: 1},
		"stopped before the cache was full":  {full: false, live: []uint64{100}, held: []uint64{300}, want: 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				freed, look := 0, 0
				memory := spareMemory{
					cache: &informertest.FakeInformers{Synced: &test.full},
					heap:  func() (live, held uint64) { look++; return test.live[look-1], test.held[look-1] },
					free:  func() { freed++ },
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(len(test.live)-1)*spareCheck+time.Second)
				defer cancel()
				if err := memory.Start(ctx); err != nil {
					t.Fatal(err)
				}
				if freed != test.want {
					t.Errorf("freed %d times, want %d", freed, test.want)
				}
				if memory.NeedLeaderElection() {
					t.Error("a standby, which has a cache as well, does not do it")
				}
			})
		})
	}
}

// The runtime's names of what is read have not changed.
func TestTheSizeOfTheHeapIsKnown(t *testing.T) {
	t.Parallel()
	runtime.GC()
	if live, held := heapSize(); live == 0 || held < live/2 {
		t.Errorf("%d bytes live in a heap of %d", live, held)
	}
}

// R6.3: the limit of the container holds the operator and the process that reads PDF documents.
func TestWhatReadingDocumentsTakesIsTakenOffTheLimit(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ limit, want int64 }{
		"that of the Deployment": {768 << 20, 448 << 20},
		"one that is too small":  {400 << 20, 200 << 20},
	} {
		if got := roomBeside(test.limit, pdftext.Memory); got != test.want {
			t.Errorf("%s: %d MiB, want %d", name, got>>20, test.want>>20)
		}
	}
}

// R6.3: a heap is collected when it has grown by half, and one that is small anyway when it has reached the size that it may have.
func TestASmallHeapMayGrow(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ live, want uint64 }{
		"that of an operator with no sources":        {8 << 20, 24 << 20},
		"that of an operator with a few sources":     {24 << 20, 64 << 20},
		"one of which half would not reach that":     {40 << 20, 64 << 20},
		"that of an operator with 100,000 items":     {160 << 20, 240 << 20},
		"one that is as large as a small one may be": {64 << 20, 96 << 20},
	} {
		if got := test.live + test.live*uint64(growth(test.live))/100; got > test.want || got < test.want-1<<20 {
			t.Errorf("%s: %d MiB live, and it is collected at %d MiB, want %d", name, test.live>>20, got>>20, test.want>>20)
		}
	}
}

// R1.6: a heap that was small, and is full when it is collected next, grows by what held for the small one once more: the growth is set a little later.
func TestAHeapThatFillsAtOnceStaysBounded(t *testing.T) {
	t.Parallel()
	for live := uint64(0); live <= smallHeap; live += 1 << 20 {
		if got := smallHeap + smallHeap*uint64(growth(live))/100; got > 192<<20 {
			t.Errorf("after %d MiB lived, %d MiB may fill before they are collected", live>>20, got>>20)
		}
	}
}

func TestWhatIsDoneAfterACollectionIsDoneAfterEach(t *testing.T) {
	t.Parallel()
	done := make(chan struct{})
	afterEachCollection(func() { done <- struct{}{} })
	for range 3 {
		runtime.GC()
		<-done
	}
}
