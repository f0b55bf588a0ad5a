// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

type (
	limiter    = workqueue.TypedRateLimiter[reconcile.Request]
	requests   = workqueue.TypedRateLimitingInterface[reconcile.Request]
	byPriority = priorityqueue.PriorityQueue[reconcile.Request]
)

// byBoth is up to how long what waits in a clockQueue comes by the machine's timers, too: a test may set its clock just while it is worked out how
// long something is to wait. What would have to wait for longer than that comes by the test's clock only: it shows who waits for what is over.
const byBoth = 10 * time.Second

// clockQueue is the queue of controller-runtime, but that what waits in it comes as soon as its time has passed by a clock: one that a
// test sets, where minutes pass at once. The queue itself knows the machine's timers alone.
type clockQueue struct {
	byPriority
	clock   clock.WithDelayedExecution
	byBoth  time.Duration
	limiter limiter

	mu      sync.Mutex
	waiting map[reconcile.Request][]clock.Timer
}

// queuesBy makes such queues. What waits for up to byBoth comes by the machine's timers too.
func queuesBy(by clock.WithDelayedExecution, byBoth time.Duration) func(string, limiter) requests {
	return func(name string, after limiter) requests {
		return &clockQueue{
			byPriority: priorityqueue.New(name, func(o *priorityqueue.Opts[reconcile.Request]) { o.RateLimiter = after }),
			clock:      by, byBoth: byBoth, limiter: after, waiting: map[reconcile.Request][]clock.Timer{},
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
		after := each.After
		each.After = 0
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
	q.mu.Unlock()
	for _, timer := range timers {
		timer.Stop()
	}
	return key, priority, shutdown
}
