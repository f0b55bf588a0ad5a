// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "slices"

// EventStatus is what an event says of its item.
// +kubebuilder:validation:Enum=pending;running;success;retrying;failed
type EventStatus string

// EventStream has a webhook get what happens to the items of its namespace, as CloudEvents.
type EventStream struct {
	// Statuses are those of the events that are sent: pending (something waits), running (it has begun), success, retrying (it has
	// failed, and is tried again) and failed. Default: all.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=5
	Statuses []EventStatus `json:"statuses,omitempty"`
}

// Wants reports whether events of a status are sent.
func (in *EventStream) Wants(status EventStatus) bool {
	return len(in.Statuses) == 0 || slices.Contains(in.Statuses, status)
}

// EventCounts is what has become of events.
type EventCounts struct {
	// Sent is how many have arrived.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Sent int64 `json:"sent,omitempty"`

	// Dropped is how many never will: there was no room for them while the webhook was slow or away, it has refused them, five
	// requests have failed, or they waited when the operator stopped.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Dropped int64 `json:"dropped,omitempty"`
}

// Events returns which events a destination gets; nil for one that gets posts.
func (in *FeedDestination) Events() *EventStream {
	if in.Spec.Webhook == nil {
		return nil
	}
	return in.Spec.Webhook.Events
}
