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

// Hear keeps an entry for the destinations of its namespace that ask for such, and for no other. It never waits for one.
func (l *Listener) Hear(ctx context.Context, entry eventstream.Entry) {
	var known v1alpha1.FeedDestinationList
	if err := l.Destinations.List(ctx, &known, client.InNamespace(entry.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		l.Log.Error(err, "Failed to list the destinations that get events", "namespace", entry.Namespace)
		return
	}
	var event eventstream.Event
	for i := range known.Items {
		to := &known.Items[i]
		if asked := to.Events(); asked == nil || !asked.Wants(entry.Status) || to.Suspended() || !to.DeletionTimestamp.IsZero() {
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
