// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package web knows the hosts of feeds and pages: which are paused, and whether the network is down, so that no feed is counted as failing for it.
//
// It knows hosts, namespaces and what came of visits. It must never know what was fetched, nor fetch anything.
package web

import (
	"maps"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/outbound"
	"github.com/feed-operator/feed-operator/internal/polling"
	"github.com/feed-operator/feed-operator/internal/queue"
	"github.com/feed-operator/feed-operator/internal/schedule"
	"github.com/feed-operator/feed-operator/internal/telemetry"
)

// LongestHostPause bounds for how long a host is paused by a namespace because it has refused one of its feeds:
// many publishers share a host, and its answer may be about one feed. That feed itself is paused for as long as was
// asked. Other namespaces go on: whoever has an address at a host can have it refuse them again and again, and must not
// keep others from it. What that costs the host is one request of each namespace that finds out by itself.
const LongestHostPause = 5 * time.Minute

// Web is where feeds and pages are. It knows which hosts ask for a pause, and whether the network is down: then
// no feed is blamed, and what was out of reach is tried from time to time only (polling.Outage).
type Web struct {
	Clock    clock.PassiveClock
	Schedule *schedule.Schedule
	Recorder events.EventRecorder
	Log      logr.Logger
	// Self is the pod of the operator, which tells that the network is down; nil where there is none.
	Self *corev1.ObjectReference

	mu     sync.Mutex
	outage polling.Outage
	// back is when the places are back that waited for the network, for as long as that matters to them.
	back map[polling.Place]time.Time
}

// Visit is the right to fetch one document.
type Visit struct {
	Host, network *schedule.Ticket
	// back is what was known when it began of when the network was back there.
	back time.Time
}

// Needs are the resources that a visit takes for Turn.AcquireAll: the place where it is worked on, the host, and the
// network as it is between this namespace and that host.
func Needs(place schedule.Resource, namespace, host string) [][]schedule.Resource {
	return [][]schedule.Resource{queue.Only(place), queue.Only(schedule.Host(host)), queue.Only(network(placeOf(namespace, host)))}
}

// VisitOf makes a visit of the tickets for what Needs has named.
func (w *Web) VisitOf(tickets []*schedule.Ticket, namespace, host string) *Visit {
	return &Visit{Host: tickets[1], network: tickets[2], back: w.NetworkBack(namespace, host)}
}

func placeOf(namespace, host string) polling.Place {
	return polling.Place{Namespace: namespace, Site: outbound.SiteOf(host)}
}

func network(to polling.Place) schedule.Resource {
	return schedule.Resource{Kind: schedule.KindNetwork, Name: to.Namespace + "/" + to.Site}
}

// NetworkBack is when the network is back that a host was waited for; zero when it was not.
func (w *Web) NetworkBack(namespace, host string) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.back[placeOf(namespace, host)]
}

// Ended gives back what was taken for a visit of a host, and learns from what has come of it; read is when the feed was
// read last, zero if that has failed since, or it is none. Where the network is to blame for the failure it returns
// false: it says nothing about what was visited, which is to wait for the network.
func (w *Web) Ended(v *Visit, namespace, host string, read time.Time, err error) (telling bool) {
	HostEnded(v.Host, err)
	to := placeOf(namespace, host)
	w.mu.Lock()
	defer w.mu.Unlock()
	switch outbound.ReachOf(err) {
	case outbound.Reached:
		v.network.Done()
		w.reached(to)
	case outbound.Unreached:
		return w.unreached(v, to, read, err)
	case outbound.NotTried:
		v.network.Cancel()
	}
	return true
}

// reached is ended for a host that has answered.
func (w *Web) reached(to polling.Place) {
	const matters = time.Hour // longer than anybody is made to wait after it
	now := w.Clock.Now()
	waited := w.outage.Reached(to, now)
	if waited == nil {
		return
	}
	maps.DeleteFunc(w.back, func(_ polling.Place, at time.Time) bool { return now.Sub(at) > matters })
	if w.back == nil {
		w.back = map[polling.Place]time.Time{}
	}
	for _, place := range waited {
		w.back[place] = now
		w.Schedule.SetAvailability(network(place), schedule.Availability{})
	}
	w.Log.Info("Network restored")
	telemetry.NetworkBack(w.Recorder, w.Self)
}

// unreached is ended for a host that gave no answer.
func (w *Web) unreached(v *Visit, to polling.Place, read time.Time, err error) (telling bool) {
	now := w.Clock.Now()
	if back := w.back[to]; !back.IsZero() && !back.Equal(v.back) { // it was begun while the network was down, and has hung since: that is no news of now
		v.network.Done()
		return false
	}
	began := w.outage.Unreached(to, read, now)
	switch {
	case began:
		v.network.Done()
		broken := schedule.Broken(now)
		for _, place := range w.outage.Suspects() {
			w.Schedule.SetAvailability(network(place), broken)
		}
		w.Log.Info("Network down: several reachable sites became unreachable", "sites", w.outage.Sites(), "next", broken.Until)
		telemetry.NetworkDown(w.Recorder, w.Self, w.outage.Sites())
	case !w.outage.Suspected(to):
		v.network.Done()
		return true
	default:
		w.stillUnreached(v, to, err)
	}
	return false
}

// stillUnreached has a place wait that is out of reach in an outage: for a minute at first, and longer each time.
func (w *Web) stillUnreached(v *Visit, to polling.Place, err error) {
	now, id := w.Clock.Now(), network(to)
	if w.Schedule.Availability(id).State == schedule.StateCircuitOpen { // it was tried again, or a visit began before
		v.network.Failed(failure.Classify(err))
		return
	}
	v.network.Done()
	w.Schedule.SetAvailability(id, schedule.Broken(now))
}

// HostEnded gives back a ticket for a host, and reports a pause that the host has asked for to the schedule, for the namespace of the visit.
func HostEnded(host *schedule.Ticket, err error) {
	cause := failure.Classify(err)
	if err == nil || cause.Category != v1alpha1.CategoryRateLimit && cause.RetryAfter == 0 {
		host.Done()
		return
	}
	host.Failed(&failure.Error{Category: v1alpha1.CategoryRateLimit, RetryAfter: min(cause.RetryAfter, LongestHostPause)})
}
