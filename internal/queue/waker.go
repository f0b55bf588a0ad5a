// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package queue says who is worked on when: the doors by which objects come back to their reconcilers, the places where they are worked on and
// the ranks of those who wait for one, when an object is looked at again, and the work that goes on beside the workers.
//
// It knows keys, times and the schedule. It must never know what is done with an object, nor read or write one.
package queue

import (
	"context"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/feed-operator/feed-operator/internal/schedule"
)

// wakePriority puts keys whose turn has come before everything that events have queued.
const wakePriority = 10

// Waker brings keys of the schedule back into the queue of the controller that they belong to.
// It keeps the keys that are woken before that controller has started.
type Waker struct {
	Items, Sources, Providers, Destinations, Batches, Events, Retention Source

	// NewQueue makes the queues of the controllers, where time does not pass by the machine's timers; nil for those of controller-runtime.
	NewQueue func(controller string, limiter workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request]
}

// Wake queues a key of the schedule. It never blocks.
func (w *Waker) Wake(key string) {
	kind, name, _ := strings.Cut(key, "/")
	w.add(kind, Named(name), 0)
}

// add queues an object of a kind of keys after a while.
func (w *Waker) add(kind string, name types.NamespacedName, after time.Duration) {
	if door := w.Door(kind); door != nil {
		door.Add(reconcile.Request{NamespacedName: name}, after)
	}
}

// Door is where the objects of a kind of keys are brought back from; nil where the schedule has no such keys.
func (w *Waker) Door(kind string) *Source {
	switch kind {
	case ItemKey:
		return &w.Items
	case SourceKey:
		return &w.Sources
	case ProviderKey:
		return &w.Providers
	case DestinationKey:
		return &w.Destinations
	case BatchKey:
		return &w.Batches
	case EventsKey:
		return &w.Events
	case RetentionKey:
		return &w.Retention
	}
	return nil
}

// BatchLater queues the batches of a destination after a while.
func (w *Waker) BatchLater(destination types.NamespacedName, after time.Duration) {
	w.add(BatchKey, destination, after)
}

// EventsLater queues the events of a destination after a while.
func (w *Waker) EventsLater(destination types.NamespacedName, after time.Duration) {
	w.add(EventsKey, destination, after)
}

// ItemLater queues an item after a while.
func (w *Waker) ItemLater(name types.NamespacedName, after time.Duration) {
	w.add(ItemKey, name, after)
}

// countersLater is how long the counters of a service may be behind.
const countersLater = 30 * time.Second

// ServiceChanged queues the object of a service: soon, when something has changed that must be
// written down, else when its counters have gathered for a while.
func (w *Waker) ServiceChanged(id schedule.Resource, soon bool) {
	after := countersLater
	if soon {
		after = 0
	}
	w.ServiceLater(id, after)
}

// ServiceLater queues the object of a service after a while.
func (w *Waker) ServiceLater(id schedule.Resource, after time.Duration) {
	w.add(string(id.Kind), Named(id.Name), after)
}

// Named reads a key from its form namespace/name.
func Named(key string) types.NamespacedName {
	namespace, name, _ := strings.Cut(key, "/")
	return types.NamespacedName{Namespace: namespace, Name: name}
}

// The kinds of keys in the schedule. Those of services are the kinds of their resources.
const (
	ItemKey        = "item"
	SourceKey      = "source"
	ProviderKey    = string(schedule.KindProvider)
	DestinationKey = string(schedule.KindDestination)
	BatchKey       = "batch"
	EventsKey      = "events"
	RetentionKey   = "retention"
)

// Key is how an object is called in the schedule.
func Key(kind string, name types.NamespacedName) string {
	return kind + "/" + name.String()
}

// Source is a source of events that hands out the queue itself. A channel as the source would
// block the schedule while the queue is busy.
type Source struct {
	mu     sync.Mutex
	queue  workqueue.TypedRateLimitingInterface[reconcile.Request]
	before []entry
}

// entry is a key that is to be queued after a while.
type entry struct {
	request reconcile.Request
	after   time.Duration
}

// Start implements source.Source.
func (d *Source) Start(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.queue = queue
	for _, e := range d.before {
		Push(queue, e.request, wakePriority, e.after)
	}
	d.before = nil
	return nil
}

// Add brings an object back to its reconciler after a while, also before that has started.
func (d *Source) Add(request reconcile.Request, after time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.queue == nil {
		d.before = append(d.before, entry{request, after})
		return
	}
	Push(d.queue, request, wakePriority, after)
}

// Push puts an object into the queue of a controller after a while, with a priority where that queue knows any.
func Push(queue workqueue.TypedRateLimitingInterface[reconcile.Request], request reconcile.Request, priority int, after time.Duration) {
	if byPriority, ok := queue.(priorityqueue.PriorityQueue[reconcile.Request]); ok {
		byPriority.AddWithOpts(priorityqueue.AddOpts{Priority: &priority, After: after}, request)
		return
	}
	queue.AddAfter(request, after)
}
