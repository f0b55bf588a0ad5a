// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package eventing

import (
	"context"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/eventstream"
	"github.com/feed-operator/feed-operator/internal/queue"
)

// Listener hears what happens to items, and keeps it for the destinations that ask for it. It reads only what is in memory.
type Listener struct {
	Destinations client.Reader
	Outbox       *eventstream.Outbox
	Waker        *queue.Waker
	Log          logr.Logger
}

// byEvents is the index of the destinations that ask for events: a namespace may have thousands of others, and each item some ten events.
const byEvents, asked = "events", "asked"

// Index adds the index of the destinations that ask for events to the cache.
func Index(ctx context.Context, indexer client.FieldIndexer) error {
	return indexer.IndexField(ctx, &v1alpha1.FeedDestination{}, byEvents, func(object client.Object) []string {
		if described, is := object.(*v1alpha1.FeedDestination); is && described.Events() != nil {
			return []string{asked}
		}
		return nil
	})
}

// Hear keeps an entry for the destinations of its namespace that ask for such, and for no other. It never waits for one.
func (l *Listener) Hear(ctx context.Context, entry eventstream.Entry) {
	var known v1alpha1.FeedDestinationList
	err := l.Destinations.List(ctx, &known, client.InNamespace(entry.Namespace), client.MatchingFields{byEvents: asked}, client.UnsafeDisableDeepCopy)
	if err != nil {
		l.Log.Error(err, "Failed to list the destinations that get events", "namespace", entry.Namespace)
		return
	}
	var event eventstream.Event
	for i := range known.Items {
		to := &known.Items[i]
		if wanted := to.Events(); wanted == nil || !wanted.Wants(entry.Status) || to.Suspended() || !to.DeletionTimestamp.IsZero() {
			continue
		}
		if event.ID == "" {
			made, err := eventstream.Make(entry)
			if err != nil {
				l.Log.Error(err, "Failed to make an event")
				return
			}
			event = made
		}
		for _, key := range l.Outbox.Put(types.NamespacedName{Namespace: to.Namespace, Name: to.Name}, to.UID, event) {
			l.Waker.EventsLater(key, 0)
		}
	}
}
