// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

type (
	limiter    = workqueue.TypedRateLimiter[reconcile.Request]
	requests   = workqueue.TypedRateLimitingInterface[reconcile.Request]
	byPriority = priorityqueue.PriorityQueue[reconcile.Request]
)

// byBoth is up to how long what waits in a clockQueue comes by the machine's timers, too: a test may set its clock just while it is worked out how
// long something is to wait, and where that is not in a reconciliation it cannot be told. What would have to wait for longer than that comes by the
// test's clock only: it shows who waits for what is over.
const byBoth = 10 * time.Second

// catchingUp is how long, by the machine's timers, what is due because the clock was set meanwhile still waits. Where minutes really pass the cache has
// long seen by then what the reconciliation before it wrote.
const catchingUp = time.Second

// clockQueue is the queue of controller-runtime, but that what waits in it comes as soon as its time has passed by a clock: one that a
// test sets, where minutes pass at once. The queue itself knows the machine's timers alone.
type clockQueue struct {
	byPriority
	clock   clock.WithDelayedExecution
	byBoth  time.Duration
	limiter limiter

	mu      sync.Mutex
	waiting map[reconcile.Request][]clock.Timer
	// begun is when the reconciliation of each key began that is under way.
	begun map[reconcile.Request]time.Time
}

// queuesBy makes such queues. What waits for up to byBoth comes by the machine's timers too.
func queuesBy(by clock.WithDelayedExecution, byBoth time.Duration) func(string, limiter) requests {
	return func(name string, after limiter) requests {
		return &clockQueue{
			byPriority: priorityqueue.New(name, func(o *priorityqueue.Opts[reconcile.Request]) { o.RateLimiter = after }),
			clock:      by, byBoth: byBoth, limiter: after, waiting: map[reconcile.Request][]clock.Timer{}, begun: map[reconcile.Request]time.Time{},
		}
	}
}

func (q *clockQueue) AddWithOpts(options priorityqueue.AddOpts, keys ...reconcile.Request) {
	for _, key := range keys {
		each := options
		if each.RateLimited {
			each.RateLimited, each.After = false, q.limiter.When(key)
		}
		if each.After <= time.Millisecond { // at once, as queue.RequeueAt has it
			each.After = 0
			q.byPriority.AddWithOpts(each, key)
			continue
		}
		if each.After <= q.byBoth {
			q.byPriority.AddWithOpts(each, key)
		}
		after := each.After - q.passed(key)
		if each.After = 0; after <= 0 {
			each.After = catchingUp
			q.byPriority.AddWithOpts(each, key)
			continue
		}
		timer := q.clock.AfterFunc(after, func() { q.byPriority.AddWithOpts(each, key) })
		q.mu.Lock()
		q.waiting[key] = append(q.waiting[key], timer)
		q.mu.Unlock()
	}
}

func (q *clockQueue) AddAfter(key reconcile.Request, after time.Duration) {
	q.AddWithOpts(priorityqueue.AddOpts{After: after}, key)
}

func (q *clockQueue) AddRateLimited(key reconcile.Request) {
	q.AddWithOpts(priorityqueue.AddOpts{RateLimited: true}, key)
}

func (q *clockQueue) GetWithPriority() (key reconcile.Request, priority int, shutdown bool) {
	key, priority, shutdown = q.byPriority.GetWithPriority()
	q.mu.Lock()
	timers := q.waiting[key]
	delete(q.waiting, key)
	q.begun[key] = q.clock.Now()
	q.mu.Unlock()
	for _, timer := range timers {
		timer.Stop()
	}
	return key, priority, shutdown
}

// Done ends a reconciliation.
func (q *clockQueue) Done(key reconcile.Request) {
	q.mu.Lock()
	delete(q.begun, key)
	q.mu.Unlock()
	q.byPriority.Done(key)
}

// passed is by how much the clock was set on since the reconciliation of a key began that is under way: it may have worked out before how long the
// key is to wait.
func (q *clockQueue) passed(key reconcile.Request) time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	if begun, is := q.begun[key]; is {
		return max(q.clock.Now().Sub(begun), 0)
	}
	return 0
}

// What is worked out before a clock is set, and comes to the queue after that, is due by the clock as it is now.
func TestAStepOfTheClockCountsForWhatIsBeingWorkedOut(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		stepped, after time.Duration
		comes          bool
	}{
		"what is over comes":                          {30 * time.Minute, 15 * time.Minute, true},
		"what is not over waits":                      {30 * time.Minute, 45 * time.Minute, false},
		"a clock that goes back makes nothing longer": {-30 * time.Minute, 15 * time.Minute, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				clock, key := clocktesting.NewFakeClock(time.Now()), reconcile.Request{}
				queue := queuesBy(clock, byBoth)(t.Name(), workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
				came := make(chan struct{}, 2)
				go func() {
					for {
						if _, _, stopped := queue.(byPriority).GetWithPriority(); stopped { // as controller-runtime does
							return
						}
						if came <- struct{}{}; len(came) > 1 {
							continue
						}
						clock.Step(test.stepped)
						queue.AddAfter(key, test.after)
						queue.Done(key)
					}
				}()
				queue.Add(key)
				time.Sleep(time.Minute) // of the bubble
				if again := len(came) > 1; again != test.comes {
					t.Errorf("comes again: %t", again)
				}
				if clock.Step(test.after - max(test.stepped, 0)); len(came) < 2 {
					time.Sleep(time.Second)
				}
				if len(came) < 2 {
					t.Error("does not come when its time is over")
				}
				queue.ShutDown()
			})
		})
	}
}
