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
	Items, Sources, Providers, Destinations, Batches Source
}

// Wake queues a key of the schedule. It never blocks.
func (w *Waker) Wake(key string) {
	kind, name, _ := strings.Cut(key, "/")
	request := reconcile.Request{NamespacedName: Named(name)}
	switch kind {
	case ItemKey:
		w.Items.Add(request, 0)
	case SourceKey:
		w.Sources.Add(request, 0)
	case ProviderKey:
		w.Providers.Add(request, 0)
	case DestinationKey:
		w.Destinations.Add(request, 0)
	case BatchKey:
		w.Batches.Add(request, 0)
	}
}

// BatchLater queues the batches of a destination after a while.
func (w *Waker) BatchLater(destination types.NamespacedName, after time.Duration) {
	w.Batches.Add(reconcile.Request{NamespacedName: destination}, after)
}

// ItemLater queues an item after a while.
func (w *Waker) ItemLater(name types.NamespacedName, after time.Duration) {
	w.Items.Add(reconcile.Request{NamespacedName: name}, after)
}

// countersLater is how long the counters of a service may be behind.
const countersLater = 30 * time.Second

// ServiceChanged queues the object of a service: soon, when something has changed that must be
// written down, else when its counters have gathered for a while.
func (w *Waker) ServiceChanged(id schedule.Resource, soon bool) {
	if soon {
		w.ServiceLater(id, 0)
		return
	}
	w.ServiceLater(id, countersLater)
}

// ServiceLater queues the object of a service after a while.
func (w *Waker) ServiceLater(id schedule.Resource, after time.Duration) {
	request := reconcile.Request{NamespacedName: Named(id.Name)}
	switch id.Kind {
	case schedule.KindProvider:
		w.Providers.Add(request, after)
	case schedule.KindDestination:
		w.Destinations.Add(request, after)
	case schedule.KindHost, schedule.KindNetwork, schedule.KindWork, schedule.KindWrites:
	}
}

// Named reads a key from its form namespace/name.
func Named(key string) types.NamespacedName {
	namespace, name, _ := strings.Cut(key, "/")
	return types.NamespacedName{Namespace: namespace, Name: name}
}

// The kinds of keys in the schedule.
const (
	ItemKey        = "item"
	SourceKey      = "source"
	ProviderKey    = "provider"
	DestinationKey = "destination"
	BatchKey       = "batch"
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
		push(queue, e)
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
	push(d.queue, entry{request, after})
}

func push(queue workqueue.TypedRateLimitingInterface[reconcile.Request], e entry) {
	if byPriority, ok := queue.(priorityqueue.PriorityQueue[reconcile.Request]); ok {
		byPriority.AddWithOpts(priorityqueue.AddOpts{Priority: new(wakePriority), After: e.after}, e.request)
		return
	}
	queue.AddAfter(e.request, e.after)
}
