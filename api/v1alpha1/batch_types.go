// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// WebhookBatch sends several items in one request: {"batchIdempotencyKey": …, "records": […]}, each record with its own idempotencyKey.
type WebhookBatch struct {
	// MaxItems is how many items are in a request at most, from 1 to 100. Very long ones are fewer. Default: 100.
	// +optional
	// +kubebuilder:default=100
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	MaxItems *int32 `json:"maxItems,omitempty"`

	// MaxWait is how long an item waits for others, up to 1h. Default: 30s.
	// +optional
	// +kubebuilder:default="30s"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s') && duration(self) <= duration('1h')",message="maxWait must be from 0s to 1h"
	MaxWait *metav1.Duration `json:"maxWait,omitempty"`
}

// Defaults of WebhookBatch.
const (
	DefaultBatchItems = 100
	DefaultBatchWait  = 30 * time.Second
)

// Items returns how many items are in a request at most.
func (in *WebhookBatch) Items() int { return int(int32Or(in.MaxItems, DefaultBatchItems)) }

// Wait returns how long an item waits for others.
func (in *WebhookBatch) Wait() time.Duration { return durationOr(in.MaxWait, DefaultBatchWait) }

// MaxBatches is how many batches of a destination are still to be sent at most, and MaxKeptBatches how many there are together with those of which a result
// was not taken yet.
const (
	MaxBatches     = 4
	MaxKeptBatches = 16
)

// BatchMemberState is what has become of an item in a batch.
// +kubebuilder:validation:Enum="";Done;Duplicate;Rejected;GivenUp;Uncertain
type BatchMemberState string

// What becomes of an item in a batch.
const (
	// BatchMemberOpen: still to be sent.
	BatchMemberOpen BatchMemberState = ""
	// BatchMemberDone: it has arrived.
	BatchMemberDone BatchMemberState = "Done"
	// BatchMemberDuplicate: the receiver had it already.
	BatchMemberDuplicate BatchMemberState = "Duplicate"
	// BatchMemberRejected: the receiver refuses it, for good.
	BatchMemberRejected BatchMemberState = "Rejected"
	// BatchMemberGivenUp: all retries have failed.
	BatchMemberGivenUp BatchMemberState = "GivenUp"
	// BatchMemberUncertain: nobody can say whether it has arrived.
	BatchMemberUncertain BatchMemberState = "Uncertain"
)

// BatchMember is an item in a batch.
type BatchMember struct {
	// Item is the name of the FeedItem.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Item string `json:"item"`

	// UID of the FeedItem.
	// +required
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	UID types.UID `json:"uid"`

	// Key is the idempotency key of its record.
	// +required
	// +kubebuilder:validation:MaxLength=64
	Key string `json:"key"`

	// State is what has become of it; empty while it is still to be sent.
	// +optional
	State BatchMemberState `json:"state,omitempty"`

	// Repeated is how often it was sent again, with the same key, though an earlier request may have arrived.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Repeated int32 `json:"repeated,omitempty"`

	// Batches is in how many batches the item was before, by its own status, where its result is written once: what somebody retries
	// then is not given up again by it.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Batches int32 `json:"batches,omitempty"`

	// Failure is why it was not taken.
	// +optional
	Failure *Failure `json:"failure,omitempty"`
}

// BatchPart is a range of the members of a batch that is sent in one request.
type BatchPart struct {
	// From is the number of its first member, from 0.
	// +required
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=99
	From int32 `json:"from"`

	// To is the number after its last member.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	To int32 `json:"to"`
}

// Batch is several items that are sent in one request: written down before that, and kept, with what is sent, until each item has its
// result. One that a receiver refuses (400, 413, 422) is parted in two, and so on, until the item is found that it refuses.
type Batch struct {
	// Key names the batch: the idempotency key of the request with all members. What is sent of them is in the
	// FeedMemory <destination>-batch-<the first 20 characters of the key>.
	// +required
	// +kubebuilder:validation:MaxLength=64
	Key string `json:"key"`

	// Members are the items, in the order in which they are sent.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	Members []BatchMember `json:"members,omitempty"`

	// Parts are what is still to be sent; the first is the next.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Parts []BatchPart `json:"parts,omitempty"`

	// FirstAttemptTime is when it was first tried to send it.
	// +optional
	FirstAttemptTime *metav1.Time `json:"firstAttemptTime,omitempty"`

	// InFlight is true while a request with the first part may be under way, or nobody knows whether it has arrived.
	// +optional
	InFlight bool `json:"inFlight,omitempty"`

	// NotAfter is the end of the request that is, or was last, under way.
	// +optional
	NotAfter *metav1.Time `json:"notAfter,omitempty"`

	// FailedAttempts is how often the first part has failed.
	// +optional
	// +kubebuilder:validation:Minimum=0
	FailedAttempts int32 `json:"failedAttempts,omitempty"`

	// Repeated is how often the first part was sent again, with the same key, though an earlier request may have arrived.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Repeated int32 `json:"repeated,omitempty"`

	// NextRetryTime is when the first part is sent again.
	// +optional
	NextRetryTime *metav1.Time `json:"nextRetryTime,omitempty"`

	// Failure is how the last request failed.
	// +optional
	Failure *Failure `json:"failure,omitempty"`
}

// BatchRecords is what is sent of the members of a batch, kept so that a repetition is the same.
type BatchRecords struct {
	// Destination is the name of the FeedDestination.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Destination string `json:"destination"`

	// Data is a JSON array of the records: base64 of gzip.
	// +required
	// +kubebuilder:validation:MaxLength=1000000
	Data string `json:"data"`
}

// Batch returns how items are sent several at a time; nil: each by itself.
func (in *FeedDestination) Batch() *WebhookBatch {
	if in.Spec.Webhook == nil {
		return nil
	}
	return in.Spec.Webhook.Batch
}

// HasInBatch reports whether an item is in a batch that is not finished.
func (in *FeedDestination) HasInBatch(item types.UID) bool {
	return slices.ContainsFunc(in.Status.Batches, func(batch Batch) bool {
		return slices.ContainsFunc(batch.Members, func(member BatchMember) bool { return member.UID == item })
	})
}
