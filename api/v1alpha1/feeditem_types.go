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
// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="spec is immutable: it is what the feed listed"
type FeedItemSpec struct {
	// SourceRef is the FeedSource that listed the entry.
	// +required
	SourceRef SourceReference `json:"sourceRef"`

	// GUID is the entry's identifier in the feed, if it has one.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	GUID string `json:"guid,omitempty"`

	// Identity is how a destination recognizes an entry that was posted to it before: hashes of what distinguished
	// it from the other entries of its feed when it was first listed. It is written by the operator only.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Identity string `json:"identity,omitempty"`

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

	// PublishedTime is when the entry was published, according to the feed; for a date in the future,
	// when the entry was first seen. Without a usable date it is not set, and the creation time of
	// this object stands for it.
	// +optional
	PublishedTime *metav1.Time `json:"publishedTime,omitempty"`

	// Image that the feed gives the entry, if it gives one.
	// +optional
	Image *EntryImage `json:"image,omitempty"`

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

// EntryImage is the image of an entry.
type EntryImage struct {
	// URL of the image.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	URL string `json:"url"`

	// Description is its alternative text, as plain text, if it has one.
	// +optional
	// +kubebuilder:validation:MaxLength=1500
	Description string `json:"description,omitempty"`
}

// FeedItemStatus is the observed state of the item. It records what was done; what is missing
// is done next.
type FeedItemStatus struct {
	// Phase is where the item is in its life: Unprocessed (new), Deferred (tried, will be tried
	// again), Pending (waits for its summary or a delivery), Processed (done) or Failed (for good).
	// +optional
	// +kubebuilder:default=Unprocessed
	Phase Phase `json:"phase,omitempty"`

	// Reason is why the item is delayed, skipped or failed; empty while it makes progress.
	// +optional
	Reason Reason `json:"reason,omitempty"`

	// RetryCount is the number of failed attempts after the first one, automatic or
	// requested, since the item was new or was last retried out of a final phase.
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

	// FirstFailureTime is when the item failed first since it was new or was last retried out of
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
	// was new or was last retried out of a final phase.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	ProviderFailures []ProviderFailure `json:"providerFailures,omitempty"`

	// ArticleHash is a hash of the article's text when it was screened last. While it stays the
	// same, the provider is not asked again.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	ArticleHash string `json:"articleHash,omitempty"`

	// Screening is a provider's verdict on the article.
	// +optional
	Screening *Screening `json:"screening,omitempty"`

	// PageImage is the image that the page of the article named (og:image) when the summary was written, if the feed gives none.
	// +optional
	PageImage *EntryImage `json:"pageImage,omitempty"`

	// Summary is the result.
	// +optional
	Summary *Summary `json:"summary,omitempty"`

	// Deliveries are the posts of the summary, one for each destination that the source named when
	// the summary was written; or when it was found that all of them have the entry already.
	// +optional
	// +listType=map
	// +listMapKey=destination
	// +kubebuilder:validation:MaxItems=8
	Deliveries []Delivery `json:"deliveries,omitempty"`

	// Notifications report that the item has failed for good, one to each destination that
	// spec.notifications of the source named when it failed.
	// +optional
	// +listType=map
	// +listMapKey=destination
	// +kubebuilder:validation:MaxItems=4
	Notifications []Notification `json:"notifications,omitempty"`

	// History lists the results of the last ten attempts, the newest last.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10
	History []HistoryEntry `json:"history,omitempty"`

	// LastHandledRetry is the last value of the retry annotation that was handled.
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

// HistoryStatus is the result of an attempt.
// +kubebuilder:validation:Enum=success;failed;retrying
type HistoryStatus string

// The ways in which an attempt ends.
const (
	// HistorySuccess: done, or found that there is nothing to do.
	HistorySuccess HistoryStatus = "success"
	// HistoryFailed: failed for good.
	HistoryFailed HistoryStatus = "failed"
	// HistoryRetrying: failed, and will be tried again.
	HistoryRetrying HistoryStatus = "retrying"
)

// HistoryEntry is the result of one attempt at one stage.
type HistoryEntry struct {
	// Time is when the attempt ended.
	// +required
	Time metav1.Time `json:"time"`

	// Stage is the last stage that the attempt reached.
	// +required
	Stage Stage `json:"stage"`

	// Status is success, failed (for good) or retrying (it will be tried again).
	// +required
	Status HistoryStatus `json:"status"`

	// Category of the failure, if it was one.
	// +optional
	Category Category `json:"category,omitempty"`

	// Retry is the number of the retry: 0 is the first attempt. Deliveries are counted separately.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Retry int32 `json:"retry,omitempty"`

	// Duration of the attempt, to the millisecond; not set where no attempt was made, or its start
	// is not known.
	// +optional
	Duration *metav1.Duration `json:"duration,omitempty"`

	// Object is who it was done by or where it failed: a provider's or destination's name, or the host
	// of a page.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Object string `json:"object,omitempty"`
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

// Screening is a verdict on an article.
type Screening struct {
	// Valuable is true if the article meets the source's criteria.
	// +required
	Valuable bool `json:"valuable"`

	// Complete is true if the page holds the whole article.
	// +required
	Complete bool `json:"complete"`

	// Explanation of the verdict, in the words of the provider.
	// +optional
	// +kubebuilder:validation:MaxLength=1000
	Explanation string `json:"explanation,omitempty"`

	// Provider is the name of the AIProvider that judged.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Provider string `json:"provider"`
}

// Passed reports whether the article is to be summarized. It is false for an article that was not screened.
func (s *Screening) Passed() bool { return s != nil && s.Valuable && s.Complete }

// DeliveryState is where one post is.
// +kubebuilder:validation:Enum=Queued;Intent;Done;Dead;Dropped;AlreadyPosted
type DeliveryState string

// The states of a delivery.
const (
	// DeliveryQueued: to be posted, at nextRetryTime if that is set.
	DeliveryQueued DeliveryState = "Queued"
	// DeliveryIntent: being posted. When the operator was cut off then, nobody knows whether it was
	// posted until the destination has been asked.
	DeliveryIntent DeliveryState = "Intent"
	// DeliveryDone: posted.
	DeliveryDone DeliveryState = "Done"
	// DeliveryDead: given up, until a person retries the item.
	DeliveryDead DeliveryState = "Dead"
	// DeliveryDropped: not wanted any more, because the source does not name the destination any more.
	DeliveryDropped DeliveryState = "Dropped"
	// DeliveryAlreadyPosted: not posted, because the same entry of the same feed was posted there before, as another item.
	DeliveryAlreadyPosted DeliveryState = "AlreadyPosted"
)

// Delivery is the post of one item at one destination.
type Delivery struct {
	// Destination is the name of the FeedDestination.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Destination string `json:"destination"`

	// State is Queued, Intent (being posted), Done, Dead (given up), Dropped (not wanted any more) or
	// AlreadyPosted (the same entry was posted there before, as another item; url is that of its post).
	// +required
	State DeliveryState `json:"state"`

	// Key is the idempotency key of the post, so that it is not published twice.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Key string `json:"key,omitempty"`

	// TextHash is a hash of the text that was posted, or is being posted.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	TextHash string `json:"textHash,omitempty"`

	// Image is what has become of the entry's image; not set while nothing was tried.
	// +optional
	Image *DeliveryImage `json:"image,omitempty"`

	// FirstAttemptTime is when it was first tried to post.
	// +optional
	FirstAttemptTime *metav1.Time `json:"firstAttemptTime,omitempty"`

	// Repeated is how often it was sent again, with the same key, though an earlier attempt may have arrived: a receiver
	// that does not recognize the key has got it so often more at most.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Repeated int32 `json:"repeated,omitempty"`

	// Duplicate is true if the receiver had it already, by its own answer.
	// +optional
	Duplicate bool `json:"duplicate,omitempty"`

	// NotAfter is the end of the call that is, or was last, under way.
	// +optional
	NotAfter *metav1.Time `json:"notAfter,omitempty"`

	// FailedAttempts is the number of attempts that have failed, since the item was new or was last
	// retried out of a final phase.
	// +optional
	// +kubebuilder:validation:Minimum=0
	FailedAttempts int32 `json:"failedAttempts,omitempty"`

	// Batches is in how many batches it was of which the results stand here.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Batches int32 `json:"batches,omitempty"`

	// NextRetryTime is the earliest time of the next attempt. Of one that was cut off it is when the
	// destination is asked what has become of it.
	// +optional
	NextRetryTime *metav1.Time `json:"nextRetryTime,omitempty"`

	// Time is when it was posted.
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

// DeliveryImage is what has become of an image at a destination. Exactly one of its fields is set.
type DeliveryImage struct {
	// ID of the image at the destination, to which it was uploaded before the post was announced.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	ID string `json:"id,omitempty"`

	// Message says why the post goes without the image.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message,omitempty"`
}

// Ended reports whether nothing more happens to the delivery by itself.
func (d *Delivery) Ended() bool {
	return d.State == DeliveryDone || d.State == DeliveryDead || d.State == DeliveryDropped || d.State == DeliveryAlreadyPosted
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
// +kubebuilder:printcolumn:name="Post",type=string,JSONPath=`.status.deliveries[*].url`,priority=1
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

	// Status is the observed state.
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
	return Created(in)
}

// LastCheck returns when the item was last worked on; before the first attempt, its creation time.
func (in *FeedItem) LastCheck() metav1.Time {
	if in.Status.LastCheckTime != nil {
		return *in.Status.LastCheckTime
	}
	return Created(in)
}

// Image returns the image of the entry: the feed's own, else that of the page; nil where neither names one.
func (in *FeedItem) Image() *EntryImage {
	if in.Spec.Image != nil {
		return in.Spec.Image
	}
	return in.Status.PageImage
}

// Terminal reports whether nothing more happens to the item by itself.
func (in *FeedItem) Terminal() bool {
	return in.Status.Phase == PhaseProcessed || in.Status.Phase == PhaseFailed
}
