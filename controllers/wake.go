// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// wakePriority puts keys whose turn has come before everything that events have queued.
const wakePriority = 10

// waker brings keys of the schedule back into the queue of the controller that they belong to.
// It keeps the keys that are woken before that controller has started.
type waker struct {
	items, sources queueDoor
}

// wake queues a key of the schedule. It never blocks.
func (w *waker) wake(key string) {
	kind, name, _ := strings.Cut(key, "/")
	namespace, name, _ := strings.Cut(name, "/")
	request := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}
	switch kind {
	case itemKey:
		w.items.add(request)
	case sourceKey:
		w.sources.add(request)
	}
}

// The kinds of keys in the schedule.
const (
	itemKey   = "item"
	sourceKey = "source"
)

// scheduleKey is how an object is called in the schedule.
func scheduleKey(kind string, name types.NamespacedName) string {
	return kind + "/" + name.String()
}

// queueDoor is a source of events that hands out the queue itself. A channel as the source would
// block the schedule while the queue is busy.
type queueDoor struct {
	mu     sync.Mutex
	queue  workqueue.TypedRateLimitingInterface[reconcile.Request]
	before []reconcile.Request
}

// Start implements source.Source.
func (d *queueDoor) Start(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.queue = queue
	for _, request := range d.before {
		push(queue, request)
	}
	d.before = nil
	return nil
}

func (d *queueDoor) add(request reconcile.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.queue == nil {
		d.before = append(d.before, request)
		return
	}
	push(d.queue, request)
}

func push(queue workqueue.TypedRateLimitingInterface[reconcile.Request], request reconcile.Request) {
	if byPriority, ok := queue.(priorityqueue.PriorityQueue[reconcile.Request]); ok {
		byPriority.AddWithOpts(priorityqueue.AddOpts{Priority: new(wakePriority)}, request)
		return
	}
	queue.Add(request)
}
