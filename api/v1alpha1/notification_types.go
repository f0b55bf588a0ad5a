// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NotificationState is where one notification is.
// +kubebuilder:validation:Enum=Queued;Done;Failed
type NotificationState string

// The states of a notification.
const (
	// NotificationQueued: to be sent, at nextRetryTime if that is set.
	NotificationQueued NotificationState = "Queued"
	// NotificationDone: sent.
	NotificationDone NotificationState = "Done"
	// NotificationFailed: given up, or refused because of who would see it.
	NotificationFailed NotificationState = "Failed"
)

// Notification reports a failure to one destination: that an item has failed for good, or that a service
// refuses its credentials. Its result changes nothing else on either.
type Notification struct {
	// Destination is the name of the FeedDestination.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Destination string `json:"destination"`

	// State is Queued, Done (sent) or Failed (given up). Default: Done, for those that an older version
	// of the operator recorded on a service: there an item sent them.
	// +optional
	// +kubebuilder:default=Done
	State NotificationState `json:"state,omitempty"`

	// Key is the idempotency key of the notification, so that it is not posted twice.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Key string `json:"key,omitempty"`

	// FailedAttempts is the number of attempts that have failed, five at most.
	// +optional
	// +kubebuilder:validation:Minimum=0
	FailedAttempts int32 `json:"failedAttempts,omitempty"`

	// NextRetryTime is the earliest time of the next attempt.
	// +optional
	NextRetryTime *metav1.Time `json:"nextRetryTime,omitempty"`

	// Time is when it was sent or given up.
	// +optional
	Time *metav1.Time `json:"time,omitempty"`

	// ID of the post at the destination.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	ID string `json:"id,omitempty"`

	// URL of the post.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	URL string `json:"url,omitempty"`

	// Failure is what went wrong in the last attempt; not set when it went well.
	// +optional
	Failure *Failure `json:"failure,omitempty"`
}

// CredentialsNotice notifies one destination that credentials are refused, once for all the items that fail
// for it. It belongs to the service that refuses them, so it does not depend on the items.
type CredentialsNotice struct {
	Notification `json:",inline"`

	// Refused names what was refused: the version of this object and of its Secret.
	// +required
	// +kubebuilder:validation:MaxLength=256
	Refused string `json:"refused"`
}

// MaxCredentialsNotices bounds how many destinations are notified of one refusal.
const MaxCredentialsNotices = 64

// Notifies reports whether the source notifies a destination of what fails for good.
func (in *FeedSource) Notifies(destination string) bool {
	return slices.ContainsFunc(in.Spec.Notifications, func(ref DestinationReference) bool { return ref.Name == destination })
}

// Confidential reports whether what is sent to the destination is seen only by those whom its owner has
// let in: a Mastodon account must be set to post with visibility direct or private.
func (in *FeedDestination) Confidential() bool {
	mastodon := in.Spec.Mastodon
	return mastodon == nil || mastodon.Visibility == VisibilityDirect || mastodon.Visibility == VisibilityPrivate
}
