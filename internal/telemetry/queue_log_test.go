// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package telemetry_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/telemetry"
)

// office is a QueueLog at work, with a clock that the test sets.
type office struct {
	t     *testing.T
	queue *telemetry.QueueLog
	clock *clocktesting.FakeClock
	stop  func()

	mu    sync.Mutex
	lines []string
}

func newOffice(t *testing.T) *office {
	t.Helper()
	o := &office{t: t, clock: clocktesting.NewFakeClock(time.Date(2026, 4, 1, 9, 0, 0, 0, time.UTC))}
	log := funcr.New(func(_, args string) {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.lines = append(o.lines, args)
	}, funcr.Options{})
	o.queue = telemetry.NewQueueLog(o.clock, log)
	return o
}

func (o *office) open() {
	o.t.Helper()
	ctx, cancel := context.WithCancel(o.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- o.queue.Start(ctx) }()
	o.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			o.t.Error(err)
		}
	})
	o.t.Cleanup(o.stop)
}

// timers waits until so many timers run.
func (o *office) timers(n int) {
	for o.clock.Waiters() != n {
		runtime.Gosched()
	}
}

// said waits for so many lines, and returns all since it was called last.
func (o *office) said(n int) []string {
	for {
		o.mu.Lock()
		if len(o.lines) >= n {
			lines := o.lines
			o.lines = nil
			o.mu.Unlock()
			return lines
		}
		o.mu.Unlock()
		runtime.Gosched()
	}
}

func itemOf(source string, n int, phase v1alpha1.Phase) *v1alpha1.FeedItem {
	item := &v1alpha1.FeedItem{}
	item.Namespace, item.Name, item.UID = "news", fmt.Sprintf("%s-%d", source, n), types.UID(fmt.Sprintf("%s-%d", source, n))
	item.Spec.SourceRef.Name = source
	item.Status.Phase = phase
	return item
}

func (o *office) move(source string, n int, from, to v1alpha1.Phase) {
	o.queue.OnUpdate(itemOf(source, n, from), itemOf(source, n, to))
}

// R5.5: a thousand items that come at once are one line, and so is what became of them in a minute.
func TestAThousandItemsAreFewLines(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.open()
	for i := range 1000 {
		o.queue.OnAdd(itemOf("press", i, v1alpha1.PhaseUnprocessed), false)
	}
	o.timers(1)
	o.clock.Step(time.Second)
	if diff := cmp.Diff([]string{
		`"level"=0 "msg"="Queue size changed" "size"=1000 "unprocessed"=1000 "deferred"=0 "pending"=0`,
	}, o.said(1)); diff != "" {
		t.Errorf("at first (-want +got):\n%s", diff)
	}
	for i := range 1000 {
		to := v1alpha1.PhaseProcessed
		switch {
		case i < 10:
			to = v1alpha1.PhaseFailed
		case i < 30:
			to = v1alpha1.PhaseDeferred
		case i < 60:
			to = v1alpha1.PhasePending
		}
		o.move("press", i, v1alpha1.PhaseUnprocessed, to)
	}
	o.timers(2)
	o.clock.Step(time.Second)
	if diff := cmp.Diff([]string{`"level"=0 "msg"="Queue size changed" "size"=50 "unprocessed"=0 "deferred"=20 "pending"=30`}, o.said(1)); diff != "" {
		t.Errorf("then (-want +got):\n%s", diff)
	}
	o.clock.Step(time.Minute)
	if diff := cmp.Diff([]string{
		`"level"=0 "msg"="Items processed" "processed"=950 "succeeded"=940 "failed"=10 "processedInTotal"=950 "succeededInTotal"=940 "failedInTotal"=10`,
	}, o.said(1)); diff != "" {
		t.Errorf("after a minute (-want +got):\n%s", diff)
	}
	o.timers(0) // nothing to do, nothing is done
	o.move("press", 10, v1alpha1.PhaseDeferred, v1alpha1.PhaseProcessed)
	o.timers(2)
	o.stop()
	if diff := cmp.Diff([]string{
		`"level"=0 "msg"="Items processed" "processed"=1 "succeeded"=1 "failed"=0 "processedInTotal"=951 "succeededInTotal"=941 "failedInTotal"=10`,
	}, o.said(1)); diff != "" {
		t.Errorf("at the end (-want +got):\n%s", diff)
	}
}

// R5.5: a size that is what it was is not told again, though items have failed, or have come and gone.
func TestASizeThatHasNotChangedIsNotTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var lines []string
		queue := telemetry.NewQueueLog(clock.RealClock{}, funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{}))
		o := &office{t: t, queue: queue}
		o.open()
		for i := range 3 {
			queue.OnAdd(itemOf("press", i, v1alpha1.PhaseUnprocessed), false)
		}
		time.Sleep(2 * time.Second)
		for range 5 {
			o.move("press", 0, v1alpha1.PhaseUnprocessed, v1alpha1.PhaseDeferred)
			o.move("press", 0, v1alpha1.PhaseDeferred, v1alpha1.PhaseUnprocessed)
			queue.OnAdd(itemOf("press", 9, v1alpha1.PhaseUnprocessed), false)
			queue.OnDelete(itemOf("press", 9, v1alpha1.PhaseUnprocessed))
			time.Sleep(2 * time.Second)
		}
		o.stop()
		if diff := cmp.Diff([]string{`"level"=0 "msg"="Queue size changed" "size"=3 "unprocessed"=3 "deferred"=0 "pending"=0`}, lines); diff != "" {
			t.Errorf("lines (-want +got):\n%s", diff)
		}
	})
}

// R5.5: a source whose last item has ended, or is deleted, has an empty queue; one that got another item
// meanwhile has not.
func TestAnEmptyQueueIsTold(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	for _, source := range []string{"ends", "deleted", "goes-on", "again"} {
		o.queue.OnAdd(itemOf(source, 1, v1alpha1.PhasePending), true)
	}
	o.open()
	o.timers(1)
	o.clock.Step(time.Second)
	o.said(1)
	o.move("ends", 1, v1alpha1.PhasePending, v1alpha1.PhaseFailed)
	o.queue.OnDelete(toolscache.DeletedFinalStateUnknown{Obj: itemOf("deleted", 1, v1alpha1.PhasePending)})
	o.move("goes-on", 1, v1alpha1.PhasePending, v1alpha1.PhaseDeferred)
	o.move("again", 1, v1alpha1.PhasePending, v1alpha1.PhaseProcessed)
	o.queue.OnAdd(itemOf("again", 2, v1alpha1.PhaseUnprocessed), false)
	o.timers(2)
	o.clock.Step(time.Second)
	got := o.said(3)
	slices.Sort(got[1:])
	if diff := cmp.Diff([]string{
		`"level"=0 "msg"="Queue size changed" "size"=2 "unprocessed"=1 "deferred"=1 "pending"=0`,
		`"level"=0 "msg"="Source queue empty" "source"="news/deleted"`,
		`"level"=0 "msg"="Source queue empty" "source"="news/ends"`,
	}, got); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

// R5.5, R6.3: a replica that takes over does not tell what another has done.
func TestWorkOfAnotherReplicaIsNotTold(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	for i := range 5 {
		o.queue.OnAdd(itemOf("press", i, v1alpha1.PhasePending), true)
	}
	for i := range 3 {
		o.move("press", i, v1alpha1.PhasePending, v1alpha1.PhaseProcessed)
	}
	o.open()
	o.timers(1) // only for the size
	o.clock.Step(time.Second)
	o.said(1)
	o.move("press", 3, v1alpha1.PhasePending, v1alpha1.PhaseProcessed)
	o.timers(2)
	o.clock.Step(time.Second)
	o.said(1)
	o.clock.Step(time.Minute)
	if diff := cmp.Diff([]string{
		`"level"=0 "msg"="Items processed" "processed"=1 "succeeded"=1 "failed"=0 "processedInTotal"=1 "succeededInTotal"=1 "failedInTotal"=0`,
	}, o.said(1)); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

// R5.5: an item that had failed, and turns out to be posted, is not work of this minute.
func TestWhatHadEndedIsNotProcessedAgain(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.queue.OnAdd(itemOf("press", 1, v1alpha1.PhaseFailed), true)
	o.open()
	o.timers(1)
	o.move("press", 1, v1alpha1.PhaseFailed, v1alpha1.PhaseProcessed)
	o.stop()
	if got := o.said(0); len(got) != 0 {
		t.Errorf("lines %q", got)
	}
}

// What is not about a phase costs nothing: no timer runs for it.
func TestOtherChangesAreNoActivity(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	allocated := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		item := itemOf("press", 1, v1alpha1.PhaseProcessed)
		for b.Loop() {
			o.queue.OnUpdate(item, item)
		}
	}).AllocsPerOp()
	if allocated != 0 {
		t.Errorf("an update of a finished item allocates %d times", allocated)
	}
}

// R1.10, R5.5: a replica that stands by keeps no list of the sources that have run out of items: nobody would ever empty it.
func TestWhoStandsByKeepsNoListOfSources(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	for n := range 1000 {
		item := itemOf(fmt.Sprint("source-", n), 1, v1alpha1.PhasePending)
		o.queue.OnAdd(item, false)
		o.queue.OnDelete(item)
	}
	if n := o.queue.Emptied(); n != 0 {
		t.Errorf("it knows %d sources", n)
	}
}
