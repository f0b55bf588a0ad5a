// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// SourceReference names the FeedSource that an item came from.
type SourceReference struct {
	// Name of the FeedSource in the same namespace.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// UID of the FeedSource. An item whose source was deleted and created again is not worked on.
	// +required
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	UID types.UID `json:"uid"`
}

// FeedItemSpec is one entry of a feed, as the feed gave it. It never changes.
// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="spec is immutable: an item is what the feed said"
type FeedItemSpec struct {
	// SourceRef is the FeedSource that listed the entry.
	// +required
	SourceRef SourceReference `json:"sourceRef"`

	// GUID is the entry's identifier in the feed, if it has one.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	GUID string `json:"guid,omitempty"`

	// URL of the article, if the entry links to one.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	URL string `json:"url,omitempty"`

	// Title of the entry, as plain text.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Title string `json:"title,omitempty"`

	// Author of the entry, as the feed names them.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Author string `json:"author,omitempty"`

	// Categories of the entry, as the feed names them.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=128
	Categories []string `json:"categories,omitempty"`

	// PublishedTime is when the entry was published, as the feed says. Without a usable date it
	// is not set, and the creation time of this object (when the entry was first seen) stands for it.
	// +optional
	PublishedTime *metav1.Time `json:"publishedTime,omitempty"`

	// Content is the feed's own content of the entry (HTML or text), at most 8 KiB of it.
	// Longer content is in compressedContent instead.
	// +optional
	// +kubebuilder:validation:MaxLength=8192
	Content string `json:"content,omitempty"`

	// CompressedContent is content above 8 KiB: base64 of gzip, cut so that the gzip stream is
	// at most 32 KiB.
	// +optional
	// +kubebuilder:validation:MaxLength=43692
	CompressedContent string `json:"compressedContent,omitempty"`
}

// FeedItemStatus is what has happened to the item so far. It holds facts, and what is missing
// among them is what is done next.
type FeedItemStatus struct {
	// Phase is where the item is in its life: Unprocessed (new), Deferred (tried, will be tried
	// again), Pending (waits for its summary or a delivery), Processed (done) or Failed (for good).
	// +optional
	// +kubebuilder:default=Unprocessed
	Phase Phase `json:"phase,omitempty"`

	// Reason says why the item is not simply going well; empty when it is.
	// +optional
	Reason Reason `json:"reason,omitempty"`

	// RetryCount is the number of failed attempts after the first one, automatic or forced,
	// since the item was new or was last forced out of a final phase.
	// +optional
	// +kubebuilder:validation:Minimum=0
	RetryCount int32 `json:"retryCount,omitempty"`

	// LastCheckTime is when the last attempt ended or the phase last changed. Until the first
	// attempt it is not set, and the creation time stands for it.
	// +optional
	LastCheckTime *metav1.Time `json:"lastCheckTime,omitempty"`

	// NextRetryTime is the earliest time of the next attempt of a Deferred item.
	// +optional
	NextRetryTime *metav1.Time `json:"nextRetryTime,omitempty"`

	// FirstFailureTime is when the item failed first since it was new or was last forced out of
	// a final phase.
	// +optional
	FirstFailureTime *metav1.Time `json:"firstFailureTime,omitempty"`

	// LastFailureTime is when the item failed last.
	// +optional
	LastFailureTime *metav1.Time `json:"lastFailureTime,omitempty"`

	// Failure is what went wrong in the last attempt; not set when it went well.
	// +optional
	Failure *Failure `json:"failure,omitempty"`

	// ProviderFailures are the failures of single providers, the last one of each, since the item
	// was new or was last forced out of a final phase.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	ProviderFailures []ProviderFailure `json:"providerFailures,omitempty"`

	// Summary is the result.
	// +optional
	Summary *Summary `json:"summary,omitempty"`

	// LastHandledRetry is the value of the retry annotation that was acted on last.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	LastHandledRetry string `json:"lastHandledRetry,omitempty"`

	// Conditions of the item: Ready, and Reconciling or Stalled while they are True.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=8
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ProviderFailure counts how often one provider has failed on an item.
type ProviderFailure struct {
	// Name of the AIProvider.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// Category of its last failure.
	// +required
	Category Category `json:"category"`

	// Count of its failures on this item.
	// +required
	// +kubebuilder:validation:Minimum=1
	Count int32 `json:"count"`

	// Time of its last failure.
	// +required
	Time metav1.Time `json:"time"`
}

// Summary is what a provider made of the article.
type Summary struct {
	// Text of the summary: plain text, without markup.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=10000
	Text string `json:"text"`

	// Provider is the name of the AIProvider that wrote it, or "extractive (built in)" for the
	// one that needs no object.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Provider string `json:"provider"`

	// Model that wrote it, as the provider names it.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Model string `json:"model,omitempty"`

	// Tokens that the provider counted for it, input and output together.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Tokens int64 `json:"tokens,omitempty"`
}

// FeedItem is one entry of a feed on its way from the feed to its readers. The operator creates
// it; a person reads it and, to force a retry, annotates it:
//
//	kubectl annotate feeditem NAME feeds.feed-operator.io/retry=1
//
// The value of the annotation is a token of your choice. The same token never acts twice.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=fi,categories=feeds
// +kubebuilder:selectablefield:JSONPath=`.spec.sourceRef.name`
// +kubebuilder:selectablefield:JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Source",type=string,JSONPath=`.spec.sourceRef.name`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.reason`
// +kubebuilder:printcolumn:name="Title",type=string,JSONPath=`.spec.title`
// +kubebuilder:printcolumn:name="Retries",type=integer,JSONPath=`.status.retryCount`,priority=1
// +kubebuilder:printcolumn:name="Next retry",type=string,JSONPath=`.status.nextRetryTime`,priority=1
// +kubebuilder:printcolumn:name="Provider",type=string,JSONPath=`.status.summary.provider`,priority=1
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.failure.message`,priority=1
// +kubebuilder:printcolumn:name="Published",type=date,JSONPath=`.spec.publishedTime`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type FeedItem struct {
	metav1.TypeMeta `json:",inline"`

	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// Spec is the entry, as the feed gave it.
	// +required
	Spec FeedItemSpec `json:"spec"`

	// Status is what has happened to it so far.
	// +optional
	// +kubebuilder:default:={"phase":"Unprocessed"}
	Status FeedItemStatus `json:"status,omitzero"`
}

// FeedItemList is a list of FeedItems.
// +kubebuilder:object:root=true
type FeedItemList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []FeedItem `json:"items"`
}

// Published returns when the entry was published; when the feed does not say, when it was first seen.
func (in *FeedItem) Published() metav1.Time {
	if in.Spec.PublishedTime != nil {
		return *in.Spec.PublishedTime
	}
	return in.CreationTimestamp
}

// LastCheck returns when the item was last worked on; before the first attempt, its creation time.
func (in *FeedItem) LastCheck() metav1.Time {
	if in.Status.LastCheckTime != nil {
		return *in.Status.LastCheckTime
	}
	return in.CreationTimestamp
}

// Terminal says whether nothing more happens to the item by itself.
func (in *FeedItem) Terminal() bool {
	return in.Status.Phase == PhaseProcessed || in.Status.Phase == PhaseFailed
}
