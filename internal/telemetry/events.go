// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package telemetry holds what the operator reports about itself: its Events, each with a function
// of its own, so that they read the same wherever they come from.
//
// An Event is a write to the API server. So there is one at a transition only, and only after
// the write that it reports has succeeded.
package telemetry

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/eventstream"
)

// Actions of Events: what the operator was doing.
const (
	actionPoll    = "Poll"
	actionProcess = "Process"
	actionCheck   = "Check"
)

// ItemDeferred reports that an item failed for the first time and will be tried again.
func ItemDeferred(recorder events.EventRecorder, item *v1alpha1.FeedItem) {
	if item.Status.Reason == v1alpha1.ReasonNotValuable { // nothing is wrong with it
		recorder.Eventf(item, nil, corev1.EventTypeNormal, string(item.Status.Reason), actionProcess, "%s",
			note("%s. Will be checked again", message(item)))
		return
	}
	recorder.Eventf(item, nil, corev1.EventTypeWarning, string(item.Status.Reason), actionProcess, "%s",
		note("%s. Will be retried", message(item)))
}

// ItemFailed reports that an item failed for good.
func ItemFailed(recorder events.EventRecorder, item *v1alpha1.FeedItem) {
	text := note("%s. Failed for good after %d retries", message(item), item.Status.RetryCount)
	if item.Status.Reason == v1alpha1.ReasonDeliveryUncertain {
		text = note("%s", message(item))
	}
	recorder.Eventf(item, nil, corev1.EventTypeWarning, string(item.Status.Reason), actionProcess, "%s", text)
}

// ItemRevived reports that a finished item is being worked on again, because a person asked for it.
func ItemRevived(recorder events.EventRecorder, item *v1alpha1.FeedItem) {
	recorder.Eventf(item, nil, corev1.EventTypeNormal, v1alpha1.ReasonProgressing, actionProcess,
		"Retrying the item, as requested by its retry annotation")
}

// RetryRequested reports that a person asked for a retry of all that had failed of a source's items, or at a
// provider or a destination. It speaks for all of them.
func RetryRequested(recorder events.EventRecorder, object runtime.Object, items int) {
	recorder.Eventf(object, nil, corev1.EventTypeNormal, v1alpha1.ReasonRetryRequested, actionProcess,
		"Retrying %d failed items, as requested by the retry annotation", items)
}

// SourceTransition reports that the readiness of a source has changed, and why.
func SourceTransition(recorder events.EventRecorder, source *v1alpha1.FeedSource, healthy bool, reason, message string) {
	recorder.Eventf(source, nil, eventType(healthy), reason, actionPoll, "%s", note("%s", message))
}

// CreationPaused reports that entries of a source wait in the feed, and until when.
func CreationPaused(recorder events.EventRecorder, source *v1alpha1.FeedSource, reason, message string) {
	recorder.Eventf(source, nil, corev1.EventTypeWarning, reason, actionPoll, "%s", note("%s", message))
}

// ServiceTransition reports that the readiness of a provider or a destination has changed, and why.
func ServiceTransition(recorder events.EventRecorder, service v1alpha1.ServiceObject, healthy bool, reason, message string) {
	recorder.Eventf(service, nil, eventType(healthy), reason, actionCheck, "%s", note("%s", message))
}

// MemoryDamaged reports that what was posted to a destination is forgotten, because it could not be read.
func MemoryDamaged(recorder events.EventRecorder, destination *v1alpha1.FeedDestination, memory string, posts int) {
	recorder.Eventf(destination, nil, corev1.EventTypeWarning, v1alpha1.ReasonMemoryDamaged, actionCheck, "%s",
		note("Removed FeedMemory %s, which could not be read: %d posts are forgotten, unless their FeedItems still exist. "+
			"Sources that are deleted and applied again may post them again", memory, posts))
}

// EventsDropped reports that a destination has not got all events of items, and why.
func EventsDropped(recorder events.EventRecorder, destination *v1alpha1.FeedDestination, lost eventstream.Losses) {
	recorder.Eventf(destination, nil, corev1.EventTypeWarning, v1alpha1.ReasonEventsDropped, actionProcess, "%s",
		note("Dropped events of items: %d for which there was no room while the webhook was slow or away, and %d that it has refused, or of which "+
			"%d requests have failed. The log and the history of the items have all of them", lost.NoRoom, lost.Refused, eventstream.MaxCalls))
}

// NetworkDown reports that the operator reaches no host any more. It is an Event of its own pod, once, and
// of no feed; self is nil where there is no pod.
func NetworkDown(recorder events.EventRecorder, self *corev1.ObjectReference, sites int) {
	if self != nil {
		recorder.Eventf(self, nil, corev1.EventTypeWarning, v1alpha1.ReasonNetworkDown, actionPoll,
			"%d reachable sites became unreachable one after the other: the network is down, and no feed is counted as failing; "+
				"unreachable sites wait until any site answers", sites)
	}
}

// NetworkBack reports that it reaches hosts again.
func NetworkBack(recorder events.EventRecorder, self *corev1.ObjectReference) {
	if self != nil {
		recorder.Eventf(self, nil, corev1.EventTypeNormal, v1alpha1.ReasonRecovered, actionPoll,
			"Sites answer again: the feeds that waited are polled within ten minutes")
	}
}

// WritesRefused reports that the API server takes nothing that is written. It is an Event of the operator's own pod, once, as soon as
// that can be written; self is nil where there is no pod.
func WritesRefused(recorder events.EventRecorder, self *corev1.ObjectReference) {
	if self != nil {
		recorder.Eventf(self, nil, corev1.EventTypeWarning, v1alpha1.ReasonWritesRefused, actionProcess,
			"The API server refuses updates of FeedItems: no provider is called and nothing is posted until it "+
				"accepts them, and results are kept in memory")
	}
}

// WritesBack reports that it takes writes again, and how long it did not.
func WritesBack(recorder events.EventRecorder, self *corev1.ObjectReference, lasted time.Duration) {
	if self != nil {
		recorder.Eventf(self, nil, corev1.EventTypeNormal, v1alpha1.ReasonRecovered, actionProcess,
			"The API server accepts writes again, after %s", lasted.Round(time.Second))
	}
}

func eventType(healthy bool) string {
	if healthy {
		return corev1.EventTypeNormal
	}
	return corev1.EventTypeWarning
}

func message(item *v1alpha1.FeedItem) string {
	switch judged := item.Status.Screening; {
	case item.Status.Failure == nil && judged != nil && judged.Explanation != "":
		return "Not worth a summary: " + strings.TrimRight(judged.Explanation, ".")
	case item.Status.Failure == nil:
		return string(item.Status.Reason)
	}
	return strings.TrimRight(item.Status.Failure.Message, ".")
}

// note bounds an Event's note, which may be 1,024 bytes long.
func note(format string, args ...any) string {
	const limit = 1000
	text := fmt.Sprintf(format, args...)
	if len(text) <= limit {
		return text
	}
	end := 0
	for i := range text { // i is on the border of a character
		if i > limit-len("…") {
			break
		}
		end = i
	}
	return text[:end] + "…"
}
