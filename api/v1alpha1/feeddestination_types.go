// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Visibility is who can see a post.
// +kubebuilder:validation:Enum=public;unlisted;private;direct
type Visibility string

// The visibilities that a few people see only.
const (
	// VisibilityPrivate: the account's followers.
	VisibilityPrivate Visibility = "private"
	// VisibilityDirect: the account itself, and who is mentioned.
	VisibilityDirect Visibility = "direct"
)

// Hashtags configures the hashtags at the end of a post.
type Hashtags struct {
	// FromCategories makes hashtags of the categories that the feed gives an entry.
	// +optional
	FromCategories bool `json:"fromCategories,omitempty"`

	// Always are hashtags of every post, with or without the # sign.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=64
	Always []string `json:"always,omitempty"`

	// Max is how many hashtags a post has at most, those of Always first.
	// +optional
	// +kubebuilder:default=5
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=32
	Max *int32 `json:"max,omitempty"`
}

// MastodonDestination is an account on a Mastodon server, or on another one that speaks its API.
type MastodonDestination struct {
	// Server is the URL of the server, such as https://mastodon.example.
	// +required
	// +kubebuilder:validation:MinLength=8
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="isURL(self) && url(self).getScheme() in ['http','https'] && url(self).getHostname() != '' && url(self).getEscapedPath() in ['', '/']",message="server must be a full URL without a path, such as https://mastodon.example"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^[A-Za-z]+://[^/?#]*@|[?#]')",message="server must not hold credentials, a query or a fragment: the token belongs into the Secret"
	Server string `json:"server"`

	// SecretRef names a Secret in the same namespace that holds the account's token as accessToken. The
	// token needs the scopes write:statuses, to post, and read:accounts and read:statuses, to look
	// for a post before it is sent again; for images also write:media.
	// +required
	SecretRef SecretReference `json:"secretRef"`

	// Visibility of the posts: public, unlisted, private or direct. Default: what the account is set to.
	// +optional
	Visibility Visibility `json:"visibility,omitempty"`

	// Language of the posts as a BCP 47 tag, such as ja. Default: the source's
	// spec.summary.language, else what the account is set to.
	// +optional
	// +kubebuilder:validation:MaxLength=35
	// +kubebuilder:validation:Pattern=`^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$`
	Language string `json:"language,omitempty"`

	// ContentWarning hides the post behind this line. It is a template with the fields of
	// spec.template.
	// +optional
	// +kubebuilder:validation:MaxLength=500
	ContentWarning string `json:"contentWarning,omitempty"`

	// Hashtags configures the hashtags at the end of a post. Default: none.
	// +optional
	Hashtags *Hashtags `json:"hashtags,omitempty"`

	// Image is whether a post carries the image of its entry: None or Attach. With Attach, the image that the feed gives
	// the entry is uploaded with its alternative text, else the one that the page names (og:image); the token needs the
	// scope write:media. A post whose image cannot be had goes out without it, and the item says why. Default: None.
	// +optional
	Image ImagePolicy `json:"image,omitempty"`
}

// ImagePolicy is whether a post carries the image of its entry.
// +kubebuilder:validation:Enum=None;Attach
type ImagePolicy string

// The policies for images.
const (
	// ImageNone: posts have no image.
	ImageNone ImagePolicy = "None"
	// ImageAttach: the image of the entry is uploaded and attached, where there is one.
	ImageAttach ImagePolicy = "Attach"
)

// FeedDestinationSpec is the desired state of a destination: where posts go, and how they look.
// +kubebuilder:validation:XValidation:rule="has(self.mastodon) != has(self.webhook)",message="name exactly one destination: mastodon or webhook"
// +kubebuilder:validation:XValidation:rule="!has(self.webhook) || !has(self.template)",message="template is for posts of Mastodon: a webhook's body is made by webhook.format or webhook.body"
// +kubebuilder:validation:XValidation:rule="!has(self.webhook) || !has(self.webhook.events) || !has(self.retry) && (!has(self.maxConcurrent) || self.maxConcurrent == 1)",message="events are sent one at a time, and tried again within seconds: leave out retry and maxConcurrent"
type FeedDestinationSpec struct {
	// Mastodon is an account on a Mastodon server, or on another one that speaks its API.
	// +optional
	Mastodon *MastodonDestination `json:"mastodon,omitempty"`

	// Webhook is an address that takes each summary as JSON by POST: a program of your own, or a chat.
	// +optional
	Webhook *WebhookDestination `json:"webhook,omitempty"`

	// Template of a post: a Go template over .Title, .Summary, .URL, .Author, .Categories, .Hashtags,
	// .Published, .Source, .FeedTitle and .Language. The summary is shortened until the post fits
	// the server; the link is never cut. Default: title, summary, link and hashtags. Not for a webhook.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Template string `json:"template,omitempty"`

	// Timeout is how long one request may take, from 1s to 5m. Default: 30s.
	// +optional
	// +kubebuilder:default="30s"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s') && duration(self) <= duration('5m')",message="timeout must be from 1s to 5m"
	Timeout *metav1.Duration `json:"timeout,omitempty"`

	// MinInterval is the time between two posts at least, up to 24h. What waits is posted in the
	// order of publication. Default: none.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s') && duration(self) <= duration('24h')",message="minInterval must be from 0s to 24h"
	MinInterval *metav1.Duration `json:"minInterval,omitempty"`

	// MaxConcurrent is how many requests are under way at the same time at most. With one, what is ready at the
	// same time is posted in the order in which the entries were published; with two or more, one may overtake
	// another on its way. Default: 1.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	MaxConcurrent *int32 `json:"maxConcurrent,omitempty"`

	// Retry configures the retries of a failed post, for 7 days at most. Default: 10 retries.
	// +optional
	Retry *DeliveryRetryPolicy `json:"retry,omitempty"`

	// Suspend stops every new post. Items that go here wait.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
}

// DeliveryRetryPolicy configures the retries of a failed post.
// +kubebuilder:validation:XValidation:rule="!has(self.initialDelay) || !has(self.maxDelay) || duration(self.initialDelay) <= duration(self.maxDelay)",message="initialDelay (5m if not set) must not be above maxDelay (24h if not set)"
type DeliveryRetryPolicy struct {
	// MaxRetries is how many failed retries make the post be given up.
	// +optional
	// +kubebuilder:default=10
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	MaxRetries *int32 `json:"maxRetries,omitempty"`

	// InitialDelay is the wait before the first retry, from 1s to 24h. Default: 5m.
	// +optional
	// +kubebuilder:default="5m"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s') && duration(self) <= duration('24h')",message="initialDelay must be from 1s to 24h"
	InitialDelay *metav1.Duration `json:"initialDelay,omitempty"`

	// MaxDelay is the longest wait between two attempts, from 1s to 168h. Default: 24h.
	// +optional
	// +kubebuilder:default="24h"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s') && duration(self) <= duration('168h')",message="maxDelay must be from 1s to 168h"
	MaxDelay *metav1.Duration `json:"maxDelay,omitempty"`

	// Multiplier is how much longer each wait is than the one before it. Default: 2.
	// +optional
	// +kubebuilder:default=2
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10
	Multiplier *int32 `json:"multiplier,omitempty"`
}

// DestinationServer is what a destination's server reports about itself.
type DestinationServer struct {
	// Account that posts, such as @press@mastodon.example.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Account string `json:"account,omitempty"`

	// Software that the server runs, with its version.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Software string `json:"software,omitempty"`

	// MaxCharacters is how long a post may be.
	// +optional
	MaxCharacters int32 `json:"maxCharacters,omitempty"`

	// CharactersPerURL is how many characters each link counts.
	// +optional
	CharactersPerURL int32 `json:"charactersPerURL,omitempty"`

	// MaxImageBytes is how large an image may be; not set where the server does not say.
	// +optional
	MaxImageBytes int64 `json:"maxImageBytes,omitempty"`

	// ImageTypes are the media types of images that the server takes, such as image/png.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=64
	ImageTypes []string `json:"imageTypes,omitempty"`

	// MaxDescription is how long the alternative text of an image may be, in characters.
	// +optional
	MaxDescription int32 `json:"maxDescription,omitempty"`

	// HonoursKeys is true if the server recognizes idempotency keys: a post that is sent again within the hour is not published twice.
	// +optional
	HonoursKeys bool `json:"honoursKeys,omitempty"`

	// CanRead is true if the token may read the account's posts.
	// +optional
	CanRead bool `json:"canRead,omitempty"`
}

// FeedDestinationStatus is the observed state of the destination.
type FeedDestinationStatus struct {
	ServiceStatus `json:",inline"`

	// Server is what the server reported about itself at the last check.
	// +optional
	Server *DestinationServer `json:"server,omitempty"`

	// Delivered is the number of items posted so far, including posts that were found after their answer
	// was lost; notifications do not count. The counters are updated at most every 30 seconds.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Delivered int64 `json:"delivered,omitempty"`

	// Duplicates is how many of those the receiver had already, by its own answer: webhook.duplicateStatusCodes.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Duplicates int64 `json:"duplicates,omitempty"`

	// Events counts what has become of the events that a webhook was to get: webhook.events.
	// +optional
	Events *EventCounts `json:"events,omitempty"`

	// EndedFor identifies the spec and the Secret with which a webhook answered 410 Gone: it is not called with them again, until
	// a retry is requested.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	EndedFor string `json:"endedFor,omitempty"`

	// Batches are the requests with several items that are not finished yet: four at most that are still to be sent, and those of which
	// the API server has refused the result of an item.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Batches []Batch `json:"batches,omitempty"`

	// LastDeliveryTime is when a post of an item was last made, or found.
	// +optional
	LastDeliveryTime *metav1.Time `json:"lastDeliveryTime,omitempty"`
}

// FeedDestination is a place where summaries are posted: an account on Mastodon, a webhook or a chat. FeedSources of the same namespace name it
// in spec.destinations. An item remembers by the destination's name where it was posted: deleting
// the FeedDestination and applying it again posts nothing again.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=fdst,categories=feeds
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:printcolumn:name="Delivered",type=integer,JSONPath=`.status.delivered`
// +kubebuilder:printcolumn:name="Last delivery",type=date,JSONPath=`.status.lastDeliveryTime`
// +kubebuilder:printcolumn:name="Account",type=string,JSONPath=`.status.server.account`,priority=1
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.availability.state`,priority=1
// +kubebuilder:printcolumn:name="Until",type=string,JSONPath=`.status.availability.until`,priority=1
// +kubebuilder:printcolumn:name="Duplicates",type=integer,JSONPath=`.status.duplicates`,priority=1
// +kubebuilder:printcolumn:name="Verifiable",type=string,JSONPath=`.status.conditions[?(@.type=="Verifiable")].status`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type FeedDestination struct {
	metav1.TypeMeta `json:",inline"`

	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// Spec is the desired state: where posts go.
	// +required
	Spec FeedDestinationSpec `json:"spec"`

	// Status is the observed state.
	// +optional
	// +kubebuilder:default:={"observedGeneration":-1}
	Status FeedDestinationStatus `json:"status,omitzero"`
}

// FeedDestinationList is a list of FeedDestinations.
// +kubebuilder:object:root=true
type FeedDestinationList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []FeedDestination `json:"items"`
}

// Defaults of FeedDestinationSpec, for objects that were written without them.
const (
	DefaultDestinationTimeout     = 30 * time.Second
	DefaultDestinationConcurrency = 1
	DefaultDeliveryRetries        = 10
	DefaultMaxHashtags            = 5
)

// SecretRef returns the Secret with the destination's token, or nil for one that needs none.
func (in *FeedDestination) SecretRef() *SecretReference {
	switch {
	case in.Spec.Mastodon != nil:
		return &in.Spec.Mastodon.SecretRef
	case in.Spec.Webhook != nil:
		return in.Spec.Webhook.SecretRef
	}
	return nil
}

// AttachesImages reports whether posts carry the images of their entries.
func (in *FeedDestination) AttachesImages() bool {
	return in.Spec.Mastodon != nil && in.Spec.Mastodon.Image == ImageAttach
}

// Service returns the part of the status that providers and destinations have in common.
func (in *FeedDestination) Service() *ServiceStatus { return &in.Status.ServiceStatus }

// Suspended reports whether a person has stopped every new post.
func (in *FeedDestination) Suspended() bool { return in.Spec.Suspend }

// Timeout returns how long one request may take.
func (in *FeedDestination) Timeout() time.Duration {
	return durationOr(in.Spec.Timeout, DefaultDestinationTimeout)
}

// MinInterval returns the time between two posts at least.
func (in *FeedDestination) MinInterval() time.Duration { return durationOr(in.Spec.MinInterval, 0) }

// MaxConcurrent returns how many requests may be under way at once.
func (in *FeedDestination) MaxConcurrent() int {
	return int(int32Or(in.Spec.MaxConcurrent, DefaultDestinationConcurrency))
}

// MaxRetries returns how many failed retries make a post be given up.
func (in *FeedDestination) MaxRetries() int {
	if in.Spec.Retry == nil {
		return DefaultDeliveryRetries
	}
	return int(int32Or(in.Spec.Retry.MaxRetries, DefaultDeliveryRetries))
}

// RetryDelays returns the wait before the first retry, the longest wait, and the factor between
// one wait and the next.
func (in *FeedDestination) RetryDelays() (initial, longest time.Duration, multiplier int) {
	if in.Spec.Retry == nil {
		return DefaultInitialDelay, DefaultMaxDelay, DefaultMultiplier
	}
	return durationOr(in.Spec.Retry.InitialDelay, DefaultInitialDelay),
		durationOr(in.Spec.Retry.MaxDelay, DefaultMaxDelay),
		int(int32Or(in.Spec.Retry.Multiplier, DefaultMultiplier))
}

// MaxHashtags returns how many hashtags a post has at most.
func (in *Hashtags) MaxHashtags() int { return int(int32Or(in.Max, DefaultMaxHashtags)) }
