// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package telemetry holds what the operator tells about itself: its Events, each with a function
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
)

// Actions of Events: what the operator was doing.
const (
	actionPoll    = "Poll"
	actionProcess = "Process"
	actionCheck   = "Check"
)

// ItemDeferred says that an item failed for the first time and will be tried again.
func ItemDeferred(recorder events.EventRecorder, item *v1alpha1.FeedItem) {
	if item.Status.Reason == v1alpha1.ReasonNotValuable { // nothing is wrong with it
		recorder.Eventf(item, nil, corev1.EventTypeNormal, string(item.Status.Reason), actionProcess, "%s",
			note("%s. To be looked at again", message(item)))
		return
	}
	recorder.Eventf(item, nil, corev1.EventTypeWarning, string(item.Status.Reason), actionProcess, "%s",
		note("%s. To be tried again", message(item)))
}

// ItemFailed says that an item failed for good.
func ItemFailed(recorder events.EventRecorder, item *v1alpha1.FeedItem) {
	text := note("%s. Failed for good after %d retries", message(item), item.Status.RetryCount)
	if item.Status.Reason == v1alpha1.ReasonDeliveryUncertain {
		text = note("%s", message(item))
	}
	recorder.Eventf(item, nil, corev1.EventTypeWarning, string(item.Status.Reason), actionProcess, "%s", text)
}

// ItemRevived says that a finished item is being worked on again, because a person asked for it.
func ItemRevived(recorder events.EventRecorder, item *v1alpha1.FeedItem) {
	recorder.Eventf(item, nil, corev1.EventTypeNormal, v1alpha1.ReasonProgressing, actionProcess,
		"The retry annotation has brought the item back to work")
}

// RetryRequested says that a person asked for a retry of all that had failed of a source's items, or at a
// provider or a destination. It speaks for all of them.
func RetryRequested(recorder events.EventRecorder, object runtime.Object, items int) {
	recorder.Eventf(object, nil, corev1.EventTypeNormal, v1alpha1.ReasonRetryRequested, actionProcess,
		"The retry annotation has brought back what had failed: %d items", items)
}

// SourceTransition says that the readiness of a source has changed, and why.
func SourceTransition(recorder events.EventRecorder, source *v1alpha1.FeedSource, healthy bool, reason, message string) {
	recorder.Eventf(source, nil, eventType(healthy), reason, actionPoll, "%s", note("%s", message))
}

// CreationPaused says that entries of a source wait in the feed, and until when.
func CreationPaused(recorder events.EventRecorder, source *v1alpha1.FeedSource, reason, message string) {
	recorder.Eventf(source, nil, corev1.EventTypeWarning, reason, actionPoll, "%s", note("%s", message))
}

// ProviderTransition says that the readiness of a provider has changed, and why.
func ProviderTransition(recorder events.EventRecorder, provider *v1alpha1.AIProvider, healthy bool, reason, message string) {
	recorder.Eventf(provider, nil, eventType(healthy), reason, actionCheck, "%s", note("%s", message))
}

// DestinationTransition says that the readiness of a destination has changed, and why.
func DestinationTransition(recorder events.EventRecorder, destination *v1alpha1.FeedDestination, healthy bool, reason, message string) {
	recorder.Eventf(destination, nil, eventType(healthy), reason, actionCheck, "%s", note("%s", message))
}

// MemoryDamaged says that what was posted to a destination is forgotten, because it could not be read.
func MemoryDamaged(recorder events.EventRecorder, destination *v1alpha1.FeedDestination, memory string, posts int) {
	recorder.Eventf(destination, nil, corev1.EventTypeWarning, v1alpha1.ReasonMemoryDamaged, actionCheck, "%s",
		note("The FeedMemory %s could not be read and is removed: %d posts are forgotten, as far as no FeedItem is left of them. "+
			"Sources that are deleted and applied again may post them again", memory, posts))
}

// NetworkDown says that the operator reaches no host any more. It is told by its own pod, once, and by
// no feed; self is nil where there is no pod.
func NetworkDown(recorder events.EventRecorder, self *corev1.ObjectReference, sites int) {
	if self != nil {
		recorder.Eventf(self, nil, corev1.EventTypeWarning, v1alpha1.ReasonNetworkDown, actionPoll,
			"%d sites that were well are out of reach one after the other: no feed is blamed for that, "+
				"and what is out of reach waits until anything answers again", sites)
	}
}

// NetworkBack says that it reaches hosts again.
func NetworkBack(recorder events.EventRecorder, self *corev1.ObjectReference) {
	if self != nil {
		recorder.Eventf(self, nil, corev1.EventTypeNormal, v1alpha1.ReasonRecovered, actionPoll,
			"Hosts answer again: the feeds that have waited are polled within ten minutes")
	}
}

// WritesRefused says that the API server takes nothing that is written. It is told by the operator's own pod, once, and there as soon
// as it is taken; self is nil where there is no pod.
func WritesRefused(recorder events.EventRecorder, self *corev1.ObjectReference) {
	if self != nil {
		recorder.Eventf(self, nil, corev1.EventTypeWarning, v1alpha1.ReasonWritesRefused, actionProcess,
			"The API server does not take what is written on FeedItems: no model is called and nothing is posted "+
				"until it does, and what is known is kept until then")
	}
}

// WritesBack says that it takes writes again, and how long it did not.
func WritesBack(recorder events.EventRecorder, self *corev1.ObjectReference, lasted time.Duration) {
	if self != nil {
		recorder.Eventf(self, nil, corev1.EventTypeNormal, v1alpha1.ReasonRecovered, actionProcess,
			"The API server takes writes again, which it did not for %s", lasted.Round(time.Second))
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
