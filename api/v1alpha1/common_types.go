// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Annotations that a person sets. Each value is an opaque token: what counts is that it differs
// from the one that was handled last. They are never removed by the operator, so that GitOps
// tools do not fight over them.
const (
	// AnnotationRetry forces a retry of a FeedItem; of all deferred and failed items of a FeedSource;
	// of all that failed at an AIProvider or a FeedDestination in their last attempt.
	AnnotationRetry = "feeds.feed-operator.io/retry"
	// AnnotationPoll makes a FeedSource be polled now.
	AnnotationPoll = "feeds.feed-operator.io/poll"
)

// Annotations with which `kubectl feed import` keeps of a list of subscriptions what has no field, so
// that `kubectl feed export` gives it back. The operator does not read them.
const (
	// AnnotationTitle is what the list calls a feed.
	AnnotationTitle = "feeds.feed-operator.io/title"
	// AnnotationFolder is the folder of the list that a feed is in, such as News/Technology; a slash in
	// a name is written %2F.
	AnnotationFolder = "feeds.feed-operator.io/folder"
)

// LabelSource carries the name of the FeedSource on its FeedItems and its FeedMemory, for
// `kubectl get feeditems -l feeds.feed-operator.io/source=NAME`. It is left out where the name
// is longer than a label may be (63 characters).
const LabelSource = "feeds.feed-operator.io/source"

// LabelDestination carries the name of a FeedDestination on the FeedMemories of what was posted there; where it is longer than
// a label may be, its first 52 characters and a hash.
const LabelDestination = "feeds.feed-operator.io/destination"

// AnnotationForgetAfter is on a FeedMemory of what was posted: from when on all of it is so old that it is removed.
const AnnotationForgetAfter = "feeds.feed-operator.io/forget-after"

// Condition types. Ready is always there; Reconciling and Stalled only while they are True, and
// never both (the rules of kstatus, which `kubectl wait` and GitOps tools read).
const (
	// ConditionReady is True while the object works as its spec asks for.
	ConditionReady = "Ready"
	// ConditionReconciling means that the operator is working on it, or will retry automatically.
	ConditionReconciling = "Reconciling"
	// ConditionStalled means that manual action is needed.
	ConditionStalled = "Stalled"
	// ConditionCreationPaused means that a source holds as many unfinished items as it may, or has created as
	// many in a day, and that entries wait in the feed until there is room.
	ConditionCreationPaused = "CreationPaused"
	// ConditionDamaged means that only a part of the feed could be read, and that this part is used.
	ConditionDamaged = "Damaged"
	// ConditionVerifiable is True if the posts of a destination can be read, so that a post whose
	// outcome is unknown is looked up and not published twice.
	ConditionVerifiable = "Verifiable"
	// ConditionNotificationsBlocked means that a destination of spec.notifications gets no notifications
	// until it is fixed manually.
	ConditionNotificationsBlocked = "NotificationsBlocked"
	// ConditionFiltersFailing means that filters could not be evaluated for some entries, which were
	// therefore not dropped by them.
	ConditionFiltersFailing = "FiltersFailing"
	// ConditionMemoryRebuilt means that the source's FeedMemory was missing, and that
	// everything the feed listed then was marked as seen without becoming an item.
	ConditionMemoryRebuilt = "MemoryRebuilt"
	// ConditionIdentityShared means that the feed gives one GUID or link to different entries, or another one to the
	// same entries in each poll, so that these do not say which entry it is.
	ConditionIdentityShared = "IdentityShared"
	// ConditionItemsHeld means that the API server refuses updates of the FeedItems of a namespace, so that no provider is
	// called and nothing is posted for them.
	ConditionItemsHeld = "ItemsHeld"
)

// Reasons of conditions and Events.
const (
	// ReasonSucceeded means that the last operation succeeded.
	ReasonSucceeded = "Succeeded"
	// ReasonProgressing means that work is under way.
	ReasonProgressing = "Progressing"
	// ReasonSuspended means that a person has set spec.suspend.
	ReasonSuspended = "Suspended"
	// ReasonCRDOutdated means that the CustomResourceDefinitions in the API server are older than the operator, so
	// that what it does could not be recorded.
	ReasonCRDOutdated = "CRDOutdated"
	// ReasonPollFailed means that the feed could not be fetched.
	ReasonPollFailed = "PollFailed"
	// ReasonNotAFeed means that the URL answers with something that is no feed.
	ReasonNotAFeed = "NotAFeed"
	// ReasonFeedGone means that the server answers 410 Gone: the feed has ended for good.
	ReasonFeedGone = "FeedGone"
	// ReasonInvalidFilter means that an expression in spec.filters cannot work; the feed is not polled
	// until it is corrected.
	ReasonInvalidFilter = "InvalidFilter"
	// ReasonInsecureCredentials means that a source's credentials would be sent by plain http; the feed is not
	// polled until spec.url is one of https, or spec.allowInsecure is set.
	ReasonInsecureCredentials = "InsecureCredentials"
	// ReasonEvaluationFailed means that an expression that is right could not be evaluated for an entry.
	ReasonEvaluationFailed = "EvaluationFailed"
	// ReasonItemsNotCreated means that the feed was read, but the API server did not accept its items.
	ReasonItemsNotCreated = "ItemsNotCreated"
	// ReasonStorageFull means that the feed was read, but the API server has no room left to write anything.
	ReasonStorageFull = "StorageFull"
	// ReasonQuotaExceeded means that the feed was read, but a ResourceQuota of the namespace admits no more.
	ReasonQuotaExceeded = "QuotaExceeded"
	// ReasonNetworkDown means that the operator reaches no host, so that no feed is counted as failing.
	ReasonNetworkDown = "NetworkDown"
	// ReasonWritesRefused means that the API server refuses all updates of FeedItems.
	ReasonWritesRefused = "WritesRefused"
	// ReasonRecovered means that something works again after it had failed.
	ReasonRecovered = "Recovered"
	// ReasonActiveItemsLimit means that spec.maxActiveItems is reached.
	ReasonActiveItemsLimit = "ActiveItemsLimit"
	// ReasonDailyItemsLimit means that spec.maxItemsPerDay is reached.
	ReasonDailyItemsLimit = "DailyItemsLimit"
	// ReasonPartlyRead means that entries of the feed were left out because they could not be read.
	ReasonPartlyRead = "PartlyRead"
	// ReasonCredentialsMissing means that the Secret, or a key in it, is not there or cannot be used.
	ReasonCredentialsMissing = "CredentialsMissing"
	// ReasonCredentialsRefused means that the service does not accept the credentials.
	ReasonCredentialsRefused = "CredentialsRefused"
	// ReasonConfigurationRefused means that the service, or the operator, cannot work with the spec as it is.
	ReasonConfigurationRefused = "ConfigurationRefused"
	// ReasonEndpointGone means that a webhook answered 410 Gone: it is not called again until its spec or its Secret is
	// changed, or a retry is requested.
	ReasonEndpointGone = "EndpointGone"
	// ReasonCheckFailed means that the service could not be checked.
	ReasonCheckFailed = "CheckFailed"
	// ReasonCoolingDown means that the service is rate limited, and paused for a while.
	ReasonCoolingDown = "CoolingDown"
	// ReasonQuotaSpent means that the quota of the service is spent.
	ReasonQuotaSpent = "QuotaSpent"
	// ReasonTokensPerDaySpent means that spec.tokensPerDay is used up for today.
	ReasonTokensPerDaySpent = "TokensPerDaySpent" //nolint:gosec // a reason, no credentials
	// ReasonCircuitOpen means that too many calls have failed in a row, so that only probes are made.
	ReasonCircuitOpen = "CircuitOpen"
	// ReasonRetryRequested, of an Event, means that a person requested a retry of all that had failed.
	ReasonRetryRequested = "RetryRequested"
	// ReasonTokenMayNotRead means that the access token may post but not read the account's posts.
	ReasonTokenMayNotRead = "TokenMayNotRead"
	// ReasonNoLookup means that a destination cannot be asked what it has received.
	ReasonNoLookup = "NoLookup"
	// ReasonNotConfidential means that posts of a destination are visible to more people than may read
	// notifications.
	ReasonNotConfidential = "NotConfidential"
	// ReasonDestinationMissing means that a FeedDestination does not exist in the namespace.
	ReasonDestinationMissing = "DestinationMissing"
	// ReasonEventsOnly means that a FeedDestination gets events of items, and nothing else.
	ReasonEventsOnly = "EventsOnly"
	// ReasonEventsDropped, of an Event, means that a destination has not got all events of items.
	ReasonEventsDropped = "EventsDropped"
	// ReasonMemoryMissing means that the FeedMemory of a source that has been polled before does not exist.
	ReasonMemoryMissing = "MemoryMissing"
	// ReasonMemoryDamaged means that a FeedMemory of a destination could not be read, of an Event: what was posted there, as
	// far as no item says so, is forgotten.
	ReasonMemoryDamaged = "MemoryDamaged"
	// ReasonGUIDsShared means that GUIDs of the feed do not identify its entries.
	ReasonGUIDsShared = "GUIDsShared"
	// ReasonURLsShared means that links of the feed do not identify its entries.
	ReasonURLsShared = "URLsShared"
	// ReasonGUIDsAndURLsShared means that neither do.
	ReasonGUIDsAndURLsShared = "GUIDsAndURLsShared"
)

// Phase is where a FeedItem is in its life.
// +kubebuilder:validation:Enum=Unprocessed;Deferred;Pending;Processed;Failed
type Phase string

// The phases of a FeedItem.
const (
	// PhaseUnprocessed: created, never tried.
	PhaseUnprocessed Phase = "Unprocessed"
	// PhaseDeferred: tried, and to be tried again at status.nextRetryTime.
	PhaseDeferred Phase = "Deferred"
	// PhasePending: found worth a summary; the summary or a delivery is outstanding.
	PhasePending Phase = "Pending"
	// PhaseProcessed: done, or skipped with a reason.
	PhaseProcessed Phase = "Processed"
	// PhaseFailed: failed for good (the dead letter), until a person retries it.
	PhaseFailed Phase = "Failed"
)

// Reason is why a FeedItem is delayed, skipped or failed. It is empty while the item makes progress.
//
//	phase      reason                 cause
//	Deferred   NotValuable            the provider found the article not worth a summary; it may change yet
//	Deferred   PageNotReady           the page has no readable or no complete article yet
//	Deferred   DownloadFailed         the article could not be fetched
//	Deferred   APIFailed              every provider that was asked has failed, or a delivery has
//	Pending    APIFailed              a delivery has failed, and another one is under way or can be tried
//	any open   Waiting                what the item needs is missing or unavailable; costs no retry
//	Processed  NotValuable            found not worth a summary to the last: skipped
//	Processed  LargeFileSkipped       the article is larger than spec.article.maxBytes: skipped
//	Processed  NoContent              the feed gives neither content nor a headline, and no page is to be read: skipped
//	Processed  AlreadyPosted          every destination of the source has a post of the entry already: skipped
//	Failed     RetryLimitExceeded     the last of the allowed retries has failed
//	Failed     AuthenticationFailed   the credentials of every provider, or of a destination, are refused
//	Failed     InvalidContent         the item's own content cannot be read, or every provider refuses it
//	Failed     InvalidConfiguration   every provider, or a destination, refuses the request as it is configured
//	Failed     DeliveryUncertain      nobody can say whether a post was published: a person has to look
//
// +kubebuilder:validation:Enum="";NotValuable;PageNotReady;DownloadFailed;LargeFileSkipped;NoContent;AlreadyPosted;APIFailed;Waiting;RetryLimitExceeded;AuthenticationFailed;InvalidContent;InvalidConfiguration;DeliveryUncertain
type Reason string

// The reasons of a FeedItem.
const (
	ReasonNone                 Reason = ""
	ReasonNotValuable          Reason = "NotValuable"
	ReasonPageNotReady         Reason = "PageNotReady"
	ReasonDownloadFailed       Reason = "DownloadFailed"
	ReasonLargeFileSkipped     Reason = "LargeFileSkipped"
	ReasonNoContent            Reason = "NoContent"
	ReasonAlreadyPosted        Reason = "AlreadyPosted"
	ReasonAPIFailed            Reason = "APIFailed"
	ReasonWaiting              Reason = "Waiting"
	ReasonRetryLimitExceeded   Reason = "RetryLimitExceeded"
	ReasonAuthenticationFailed Reason = "AuthenticationFailed"
	ReasonInvalidContent       Reason = "InvalidContent"
	ReasonInvalidConfiguration Reason = "InvalidConfiguration"
	ReasonDeliveryUncertain    Reason = "DeliveryUncertain"
)

// Category is the kind of a failure, which decides whether it is retried.
// +kubebuilder:validation:Enum=Network;RateLimit;API;Auth;Validation;Unknown
type Category string

// The categories of failures.
const (
	// CategoryNetwork: no answer (DNS, connection, TLS, time-out, 408). Tried again.
	CategoryNetwork Category = "Network"
	// CategoryRateLimit: asked too often or too much (429, 402). Tried again, later.
	CategoryRateLimit Category = "RateLimit"
	// CategoryAPI: the other side is broken (5xx, empty or malformed answers). Tried again.
	CategoryAPI Category = "API"
	// CategoryAuth: the credentials are refused (401, 403). Not tried again.
	CategoryAuth Category = "Auth"
	// CategoryValidation: the request or the content is refused (other 4xx, 3xx). Not tried again.
	CategoryValidation Category = "Validation"
	// CategoryUnknown: none of the above. Tried again once.
	CategoryUnknown Category = "Unknown"
)

// Stage is the part of an attempt in which something failed.
// +kubebuilder:validation:Enum=poll;article;screen;summarize;deliver;notify
type Stage string

// The stages of the work on a source and its items.
const (
	StagePoll      Stage = "poll"
	StageArticle   Stage = "article"
	StageScreen    Stage = "screen"
	StageSummarize Stage = "summarize"
	StageDeliver   Stage = "deliver"
	StageNotify    Stage = "notify"
)

// Failure describes one failure, for people and for machines. It never holds a secret, a
// query string or a response body.
type Failure struct {
	// Category is the kind of failure.
	// +required
	Category Category `json:"category"`

	// Type is more specific than the category, such as Timeout, HTTPStatus or NotAFeed.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Type string `json:"type,omitempty"`

	// Message describes what happened.
	// +required
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message"`

	// Retryable is true if the operator retries automatically.
	// +optional
	Retryable bool `json:"retryable,omitempty"`

	// Stage is the part of the work in which it happened.
	// +required
	Stage Stage `json:"stage"`

	// Object is what failed: a provider's or destination's name, or the host of a page.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Object string `json:"object,omitempty"`

	// Time is when it happened.
	// +required
	Time metav1.Time `json:"time"`

	// HTTPStatus is the status code of the answer, if there was one.
	// +optional
	// +kubebuilder:validation:Minimum=100
	// +kubebuilder:validation:Maximum=999
	HTTPStatus int32 `json:"httpStatus,omitempty"`

	// Chain lists the errors behind the failure, outermost first.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=256
	Chain []string `json:"chain,omitempty"`

	// Stack is where a panic happened. It is set for recovered panics only.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	Stack string `json:"stack,omitempty"`
}

// SecretReference names a Secret in the same namespace.
type SecretReference struct {
	// Name of the Secret.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}
