// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package itemwrites

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/queue"
	"github.com/feed-operator/feed-operator/internal/schedule"
)

// ProbeNeeds are the resources that it takes to find out whether writes on an item are taken again, for Turn.AcquireAll. The first is the
// place of the work, and the others are a Try.
func ProbeNeeds(item *v1alpha1.FeedItem) [][]schedule.Resource {
	return [][]schedule.Resource{queue.Only(queue.ItemPlaces), queue.Only(All), queue.Only(In(item.Namespace))}
}

// Probe is the right to find out whether writes are taken again. Nobody else tries until it is ended, with the turn at the latest.
type Probe []*schedule.Ticket

// End lets others try.
func (t Probe) End() {
	for _, ticket := range t {
		ticket.Done()
	}
}

// Tried notes that an item has failed before anything was written on it, such as at being read: the next one tries as late as after a refusal. Otherwise
// the API server would be asked again and again while it is away.
func (w *Writes) Tried(item *v1alpha1.FeedItem) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.judge.Tried(item.Namespace, item.Name, w.Clock.Now())
	w.putOff(item.Namespace)
}

// Wait has an item wait until writes are taken, or it is its turn to find that out.
func (w *Writes) Wait(turn *schedule.Turn, item *v1alpha1.FeedItem) {
	if _, granted := turn.AcquireAll(w.Rank(item), ProbeNeeds(item)...); granted {
		w.Waker.ItemLater(client.ObjectKeyFromObject(item), 0)
	}
}
