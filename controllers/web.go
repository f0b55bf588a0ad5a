// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
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
	"github.com/feed-operator/feed-operator/internal/schedule"
	"github.com/feed-operator/feed-operator/internal/telemetry"
)

// longestHostPause bounds for how long a host is left alone by all because it has refused one of
// them: many publishers share a host, and its answer may be about one feed. That feed itself is
// left alone for as long as was asked.
const longestHostPause = 5 * time.Minute

// network is what feeds and pages are reached by.
var network = schedule.Resource{Kind: schedule.KindNetwork, Name: "outside"}

// web is where feeds and pages are. It knows which hosts ask to be left alone, and whether the
// network is down: then nothing is fetched but a probe from time to time, and no feed is blamed.
type web struct {
	Clock    clock.PassiveClock
	Schedule *schedule.Schedule
	Recorder events.EventRecorder
	Log      logr.Logger
	// Self is the pod of the operator, which tells that the network is down; nil where there is none.
	Self *corev1.ObjectReference

	mu     sync.Mutex
	outage polling.Outage
	back   time.Time // when the last outage has ended
}

// visit is the right to fetch one document.
type visit struct {
	host, network *schedule.Ticket
}

// toVisit are the resources that a visit takes, for Turn.AcquireAll.
func toVisit(host string) [][]schedule.Resource {
	return [][]schedule.Resource{{hostResource(host)}, {network}}
}

// visitWith makes a visit of the tickets for what toVisit has named.
func visitWith(tickets []*schedule.Ticket) *visit {
	return &visit{host: tickets[0], network: tickets[1]}
}

// networkBack is when the last outage of the network has ended; zero when there was none.
func (w *web) networkBack() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.back
}

// ended gives back what was taken for a visit of a host, and learns from what has come of it; well
// says whether the host had answered the last time. Where the network is to blame for the failure,
// and that is known without this visit, it returns false: it says nothing about what was visited.
func (w *web) ended(v *visit, host string, well bool, err error) (telling bool) {
	w.hostEnded(v, err)
	w.mu.Lock()
	defer w.mu.Unlock()
	switch outbound.ReachOf(err) {
	case outbound.Reached:
		v.network.Done()
		if w.outage.Reached() {
			w.back = w.Clock.Now()
			w.Schedule.SetAvailability(network, schedule.Availability{})
			w.Log.Info("Network back")
			telemetry.NetworkBack(w.Recorder, w.Self)
		}
	case outbound.Unreached:
		return w.unreached(v, host, well, err)
	case outbound.NotTried:
		v.network.Release()
	}
	return true
}

// unreached is ended for a host that gave no answer.
func (w *web) unreached(v *visit, host string, well bool, err error) (telling bool) {
	now := w.Clock.Now()
	if w.outage.Unreached(host, well) {
		v.network.Done()
		broken := schedule.Broken(now)
		w.Schedule.SetAvailability(network, broken)
		w.Log.Info("Network down: hosts that were well are out of reach one after the other", "hosts", w.outage.Hosts(), "probe", broken.Until)
		telemetry.NetworkDown(w.Recorder, w.Self, w.outage.Hosts())
		return true
	}
	if !w.outage.Down() {
		v.network.Done()
		return true
	}
	probe := w.Schedule.Availability(network).Remaining(now) == 0
	v.network.Failed(failure.Classify(err))
	return probe
}

// hostEnded tells the schedule if the host has asked to be left alone.
func (w *web) hostEnded(v *visit, err error) {
	cause := failure.Classify(err)
	if err == nil || cause.Category != v1alpha1.CategoryRateLimit && cause.RetryAfter == 0 {
		v.host.Done()
		return
	}
	v.host.Failed(&failure.Error{Category: v1alpha1.CategoryRateLimit, RetryAfter: min(cause.RetryAfter, longestHostPause)})
}
