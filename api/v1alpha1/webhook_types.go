// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// WebhookFormat is what the body of a webhook looks like.
// +kubebuilder:validation:Enum=JSON;CloudEvents;Slack;Discord;Teams;Mattermost;GoogleChat
type WebhookFormat string

// The formats of a webhook's body.
const (
	// WebhookJSON is the operator's own, docs/webhooks.md.
	WebhookJSON WebhookFormat = "JSON"
	// WebhookCloudEvents is a CloudEvent in structured mode (https://cloudevents.io, version 1.0).
	WebhookCloudEvents WebhookFormat = "CloudEvents"
	// WebhookSlack is for an incoming webhook of Slack.
	WebhookSlack WebhookFormat = "Slack"
	// WebhookDiscord is for a webhook of a Discord channel.
	WebhookDiscord WebhookFormat = "Discord"
	// WebhookTeams is for a workflow of Microsoft Teams that posts an Adaptive Card.
	WebhookTeams WebhookFormat = "Teams"
	// WebhookMattermost is for an incoming webhook of Mattermost.
	WebhookMattermost WebhookFormat = "Mattermost"
	// WebhookGoogleChat is for an incoming webhook of Google Chat.
	WebhookGoogleChat WebhookFormat = "GoogleChat"
)

// UncertainAction is what is done with a delivery that may have arrived, where the receiver cannot be asked.
// +kubebuilder:validation:Enum=Repeat;Hold
type UncertainAction string

// What is done with a delivery that may have arrived.
const (
	// UncertainRepeat sends it again with the same key: it arrives at least once, and once where the receiver recognizes keys.
	UncertainRepeat UncertainAction = "Repeat"
	// UncertainHold leaves it to a person: the item fails with DeliveryUncertain. It arrives at most once.
	UncertainHold UncertainAction = "Hold"
)

// WebhookHeader is an extra header of the requests to a webhook.
type WebhookHeader struct {
	// Name of the header, such as X-Api-Key. Headers that the operator sets itself cannot be named.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9-]+$`
	// +kubebuilder:validation:XValidation:rule="!(self.lowerAscii() in ['host','content-length','content-type','connection','transfer-encoding','accept-encoding','user-agent','expect','keep-alive','proxy-connection','te','trailer','upgrade','idempotency-key','webhook-id','webhook-timestamp','webhook-signature'])",message="this header is set by the operator itself"
	Name string `json:"name"`

	// SecretKey is the key in the Secret that holds the value.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	SecretKey string `json:"secretKey"`
}

// WebhookURLFrom says where in the Secret the URL of a webhook is.
type WebhookURLFrom struct {
	// SecretKey is the key in the Secret that holds the URL. Default: url.
	// +optional
	// +kubebuilder:default=url
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	SecretKey string `json:"secretKey,omitempty"`
}

// WebhookDestination is an address that takes each summary as JSON by POST. Any answer from 200 to 299 is success.
// +kubebuilder:validation:XValidation:rule="has(self.url) != has(self.urlFrom)",message="set exactly one of url and urlFrom"
// +kubebuilder:validation:XValidation:rule="has(self.secretRef) || !has(self.urlFrom) && !has(self.headers)",message="urlFrom and headers need secretRef: their values come from the Secret"
// +kubebuilder:validation:XValidation:rule="!has(self.batch) || !has(self.format) || self.format == 'JSON'",message="batch goes with format JSON or with body: chats take one message at a time"
// +kubebuilder:validation:XValidation:rule="!has(self.format) || !has(self.body)",message="set format or body, not both"
// +kubebuilder:validation:XValidation:rule="!has(self.events) || !has(self.format) && !has(self.body) && !has(self.batch)",message="events are CloudEvents, one in each request: leave out format, body and batch"
// +kubebuilder:validation:XValidation:rule="!has(self.events) || !has(self.onUncertain) || self.onUncertain == 'Repeat'",message="events that may have arrived are sent again: onUncertain must be Repeat"
type WebhookDestination struct {
	// URL that is called, such as https://ops.example.org/news. One that is itself a secret, as those of chats are, belongs into the
	// Secret: urlFrom.
	// +optional
	// +kubebuilder:validation:MinLength=8
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="isURL(self) && url(self).getScheme() in ['http','https'] && url(self).getHostname() != ''",message="url must be a full URL, such as https://ops.example.org/news"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^[A-Za-z]+://[^/?#]*@|#')",message="url must not hold credentials or a fragment: a token belongs into the Secret"
	URL string `json:"url,omitempty"`

	// URLFrom takes the URL from the Secret. It is then shown nowhere.
	// +optional
	URLFrom *WebhookURLFrom `json:"urlFrom,omitempty"`

	// SecretRef names a Secret in the same namespace. It may hold a bearer token as token; as signingKey a key of Standard Webhooks
	// (whsec_ and base64; several, while one replaces another, are separated by spaces), with which each request is signed;
	// the URL, for urlFrom; and the values of headers.
	// +optional
	SecretRef *SecretReference `json:"secretRef,omitempty"`

	// Headers are extra headers of each request, with values from the Secret.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:XValidation:rule="self.all(a, self.exists_one(b, b.name.lowerAscii() == a.name.lowerAscii()))",message="a header is named twice: its name is the same in upper and lower case"
	Headers []WebhookHeader `json:"headers,omitempty"`

	// Format of the body: JSON (the operator's own), CloudEvents, or that of a chat: Slack, Discord, Teams, Mattermost or
	// GoogleChat. Default: JSON.
	// +optional
	Format WebhookFormat `json:"format,omitempty"`

	// Body is a CEL expression that gives the body, a JSON object, such as {"text": title + "\n" + url}. docs/webhooks.md lists the
	// variables and functions. It takes the place of format.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=8192
	Body string `json:"body,omitempty"`

	// Batch sends several items in one request, over all sources that use this destination. Not for formats of chats and for
	// CloudEvents. Default: each item by itself.
	// +optional
	Batch *WebhookBatch `json:"batch,omitempty"`

	// Events has the webhook get what happens to all items of the namespace, each event as a CloudEvent, and nothing else: FeedSources
	// cannot name it as a destination of posts or of notifications. What does not fit into memory while it is slow or away, or while
	// the operator is stopped, is dropped. Default: it gets posts.
	// +optional
	Events *EventStream `json:"events,omitempty"`

	// DuplicateStatusCodes are the answers by which the receiver says that it has had this before, from 400 to 599: they count as
	// success; an empty list means none. Default: 409.
	// +optional
	// +kubebuilder:default={409}
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:Minimum=400
	// +kubebuilder:validation:items:Maximum=599
	// +kubebuilder:validation:XValidation:rule="self.all(code, !(code in [401, 403, 410, 429]))",message="401, 403, 410 and 429 cannot mean a duplicate: the operator acts on them"
	DuplicateStatusCodes []int32 `json:"duplicateStatusCodes,omitempty"`

	// OnUncertain is what is done where nobody knows whether a request has arrived, because its answer was lost. Repeat: it is sent
	// again with the same Idempotency-Key, until it is known to have arrived; status.deliveries[].repeated of the item counts
	// that. Hold: the item fails with DeliveryUncertain, for a person to decide. Default: Repeat.
	// +optional
	// +kubebuilder:default=Repeat
	OnUncertain UncertainAction `json:"onUncertain,omitempty"`
}

// DefaultDuplicateStatusCode is the answer that means a duplicate, unless the spec names others.
const DefaultDuplicateStatusCode = 409

// BodyFormat returns the format of the body; empty where an expression makes it.
func (in *WebhookDestination) BodyFormat() WebhookFormat {
	if in.Format == "" && in.Body == "" {
		return WebhookJSON
	}
	return in.Format
}

// URLKey returns the key of the Secret that holds the URL; empty where the spec holds it.
func (in *WebhookDestination) URLKey() string {
	switch {
	case in.URLFrom == nil:
		return ""
	case in.URLFrom.SecretKey == "":
		return "url"
	}
	return in.URLFrom.SecretKey
}

// DuplicateCodes returns the answers that mean a duplicate.
func (in *WebhookDestination) DuplicateCodes() []int32 {
	if in.DuplicateStatusCodes == nil {
		return []int32{DefaultDuplicateStatusCode}
	}
	return in.DuplicateStatusCodes
}

// Repeats reports whether a delivery that may have arrived is sent again.
func (in *WebhookDestination) Repeats() bool { return in.OnUncertain != UncertainHold }
