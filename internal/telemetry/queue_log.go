// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
)

const (
	// sizeInterval is how often the size of the queue is told at most.
	sizeInterval = time.Second
	// workInterval is how often it is told what was processed, while anything is.
	workInterval = time.Minute
)

// QueueLog logs how many items are unfinished, what becomes of them, and which sources have none left.
// It counts what an informer tells it of FeedItems, one by one, and never lists them. Every replica
// counts; the one that leads logs.
type QueueLog struct {
	clock clock.Clock
	log   logr.Logger
	// changed holds a token while there is something that Start has not looked at.
	changed chan struct{}

	mu     sync.Mutex
	counts v1alpha1.ItemCounts
	// dead are the items that have failed for good, by why.
	dead map[v1alpha1.Reason]int
	open map[types.NamespacedName]int
	// emptied are the sources that have run out of items since that was told; while this replica leads.
	emptied map[types.NamespacedName]bool
	leads   bool
	done    ended
	logged  ended
	atStart ended
	sizeWas int
}

// ended counts items by how they ended.
type ended struct{ succeeded, failed int }

func (e ended) since(before ended) ended {
	return ended{e.succeeded - before.succeeded, e.failed - before.failed}
}

var _ toolscache.ResourceEventHandler = &QueueLog{}

// NewQueueLog returns a QueueLog that is to be made a handler of an informer of FeedItems, and to be
// started with the manager.
func NewQueueLog(clock clock.Clock, log logr.Logger) *QueueLog {
	return &QueueLog{
		clock: clock, log: log.WithName("queue"), changed: make(chan struct{}, 1),
		open: map[types.NamespacedName]int{}, dead: map[v1alpha1.Reason]int{}, emptied: map[types.NamespacedName]bool{},
	}
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (q *QueueLog) NeedLeaderElection() bool { return true }

// OnAdd implements cache.ResourceEventHandler.
func (q *QueueLog) OnAdd(object any, _ bool) { q.count(nil, asItem(object)) }

// OnUpdate implements cache.ResourceEventHandler.
func (q *QueueLog) OnUpdate(before, after any) { q.count(asItem(before), asItem(after)) }

// OnDelete implements cache.ResourceEventHandler.
func (q *QueueLog) OnDelete(object any) {
	if last, missed := object.(toolscache.DeletedFinalStateUnknown); missed {
		object = last.Obj
	}
	q.count(asItem(object), nil)
}

func asItem(object any) *v1alpha1.FeedItem {
	item, _ := object.(*v1alpha1.FeedItem)
	return item
}

// count counts that an item has become another; nil is one that is not there.
func (q *QueueLog) count(before, after *v1alpha1.FeedItem) {
	if before != nil && after != nil && before.UID == after.UID && before.Status.Phase == after.Status.Phase && before.Status.Reason == after.Status.Reason {
		return
	}
	q.mu.Lock()
	if after != nil {
		q.add(after, 1)
	}
	if before != nil {
		q.add(before, -1)
	}
	if before != nil && after != nil && !before.Terminal() {
		switch after.Status.Phase {
		case v1alpha1.PhaseProcessed:
			q.done.succeeded++
		case v1alpha1.PhaseFailed:
			q.done.failed++
		case v1alpha1.PhaseUnprocessed, v1alpha1.PhaseDeferred, v1alpha1.PhasePending:
		}
	}
	q.mu.Unlock()
	select {
	case q.changed <- struct{}{}:
	default:
	}
}

func (q *QueueLog) add(item *v1alpha1.FeedItem, n int32) {
	q.counts.Add(item.Status.Phase, n)
	if item.Status.Phase == v1alpha1.PhaseFailed {
		q.dead[item.Status.Reason] += int(n)
	}
	if item.Terminal() {
		return
	}
	source := types.NamespacedName{Namespace: item.Namespace, Name: item.Spec.SourceRef.Name}
	q.open[source] += int(n)
	delete(q.emptied, source)
	if q.open[source] <= 0 {
		delete(q.open, source)
		if q.leads { // nobody takes them out otherwise, and sources come and go
			q.emptied[source] = true
		}
	}
}

// Counts returns how many items there are by phase, and how many of them have failed for good by reason.
func (q *QueueLog) Counts() (v1alpha1.ItemCounts, map[v1alpha1.Reason]int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.counts, maps.Clone(q.dead)
}

// Start implements manager.Runnable. Without work, it waits.
func (q *QueueLog) Start(ctx context.Context) error {
	q.begin()
	var size, work <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			q.logWork()
			return nil
		case <-q.changed:
			if size == nil {
				size = q.clock.After(sizeInterval)
			}
			if work == nil && q.hasWorked() {
				work = q.clock.After(workInterval)
			}
		case <-size:
			size = nil
			q.logSize()
		case <-work:
			work = nil
			q.logWork()
		}
	}
}

// begin forgets what another replica has done while it was the leader.
func (q *QueueLog) begin() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.atStart, q.logged, q.leads = q.done, q.done, true
}

func (q *QueueLog) hasWorked() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.done != q.logged
}

// logSize tells the size of the queue, if it is another than it was, and whose items are all done.
func (q *QueueLog) logSize() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if size := int(q.counts.Active()); size != q.sizeWas {
		q.sizeWas = size
		q.log.Info("Queue size changed", "size", size, "unprocessed", q.counts.Unprocessed,
			"deferred", q.counts.Deferred, "pending", q.counts.Pending)
	}
	for source := range q.emptied {
		q.log.Info("Source queue empty", "source", source.String())
	}
	clear(q.emptied)
}

// logWork reports what was processed since that was told last, and since the start.
func (q *QueueLog) logWork() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.done == q.logged {
		return
	}
	now, total := q.done.since(q.logged), q.done.since(q.atStart)
	q.logged = q.done
	q.log.Info("Items processed", "processed", now.succeeded+now.failed, "succeeded", now.succeeded, "failed", now.failed,
		"processedInTotal", total.succeeded+total.failed, "succeededInTotal", total.succeeded, "failedInTotal", total.failed)
}
