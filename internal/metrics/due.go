// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
	"github.com/feed-operator/feed-operator/internal/schedule"
)

// collectQueue counts the items that are due, and says how old the oldest is of all that wait.
func (p *present) collectQueue(gauge setGauge) {
	works := map[types.UID]bool{}
	for i := range p.sources {
		works[p.sources[i].UID] = !p.sources[i].Spec.Suspend
	}
	rests := map[types.NamespacedName]bool{}
	for i := range p.destinations {
		rests[client.ObjectKeyFromObject(&p.destinations[i])] = p.isResting(&p.destinations[i])
	}
	var age time.Duration
	due := 0
	for i := range p.unfinished {
		item := &p.unfinished[i]
		if item.Terminal() {
			continue
		}
		age = max(age, p.time.Sub(item.CreationTimestamp.Time))
		if works[item.Spec.SourceRef.UID] && p.isDue(item, rests) {
			due++
		}
	}
	gauge(itemsDue, float64(due))
	gauge(oldestWaiting, age.Seconds())
}

// isDue reports whether an item waits for no time of its own, nor only for destinations that rest.
func (p *present) isDue(item *v1alpha1.FeedItem, rests map[types.NamespacedName]bool) bool {
	switch lifecycle.Next(item, p.time).Action {
	case lifecycle.Wait, lifecycle.Rest:
		return false
	case lifecycle.Deliver:
	case lifecycle.Summarize, lifecycle.Finish, lifecycle.Reset, lifecycle.Acknowledge, lifecycle.SendNotifications:
		return true
	}
	for i := range item.Status.Deliveries {
		row := &item.Status.Deliveries[i]
		at, open := lifecycle.Due(row, p.time)
		if open && !at.After(p.time) && !rests[types.NamespacedName{Namespace: item.Namespace, Name: row.Destination}] {
			return true
		}
	}
	return false
}

// isResting reports whether a destination is as somebody wants it while it takes nothing: it is suspended, it is to wait between two posts
// (spec.minInterval), or it has asked for a pause itself.
func (p *present) isResting(destination *v1alpha1.FeedDestination) bool {
	if destination.Spec.Suspend {
		return true
	}
	if last := destination.Status.LastDeliveryTime; last != nil && p.time.Before(last.Add(destination.MinInterval())) {
		return true
	}
	return availabilityState(destination, p.time) == schedule.StateCoolingDown
}
