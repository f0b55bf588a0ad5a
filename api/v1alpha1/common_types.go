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
	// ConditionReady says whether the object does what it was made for.
	ConditionReady = "Ready"
	// ConditionReconciling says that the operator is still at it, or will try again by itself.
	ConditionReconciling = "Reconciling"
	// ConditionStalled says that nothing will change until a person changes something.
	ConditionStalled = "Stalled"
	// ConditionCreationPaused says that a source holds as many unfinished items as it may, or has created as
	// many in a day, and that entries wait in the feed until there is room.
	ConditionCreationPaused = "CreationPaused"
	// ConditionDamaged says that only a part of the feed could be read, and that this part is used.
	ConditionDamaged = "Damaged"
	// ConditionVerifiable says whether a destination can be asked what was posted there, so that a
	// post whose outcome is unknown is looked for and not posted twice.
	ConditionVerifiable = "Verifiable"
	// ConditionNotificationsBlocked says that a destination of spec.notifications cannot be told of what
	// fails, until somebody changes something.
	ConditionNotificationsBlocked = "NotificationsBlocked"
	// ConditionFiltersFailing says that filters could not be evaluated for some entries, which were
	// therefore not dropped by them.
	ConditionFiltersFailing = "FiltersFailing"
	// ConditionMemoryRebuilt says that the source's FeedMemory had disappeared, and that
	// everything the feed listed then was marked as seen without becoming an item.
	ConditionMemoryRebuilt = "MemoryRebuilt"
	// ConditionIdentityShared says that the feed gives one GUID or link to different entries, or another one to the
	// same entries in each poll, so that these do not say which entry it is.
	ConditionIdentityShared = "IdentityShared"
	// ConditionItemsHeld says that the API server refuses what is written on the FeedItems of a namespace, so that nothing
	// is begun for them that costs money or that others can see.
	ConditionItemsHeld = "ItemsHeld"
)

// Reasons of conditions and Events.
const (
	// ReasonSucceeded says that the last thing that was to be done has worked.
	ReasonSucceeded = "Succeeded"
	// ReasonProgressing says that work is under way.
	ReasonProgressing = "Progressing"
	// ReasonSuspended says that a person has set spec.suspend.
	ReasonSuspended = "Suspended"
	// ReasonCRDOutdated says that the CustomResourceDefinitions in the API server are older than the operator, so
	// that what it does could not be recorded.
	ReasonCRDOutdated = "CRDOutdated"
	// ReasonPollFailed says that the feed could not be fetched.
	ReasonPollFailed = "PollFailed"
	// ReasonNotAFeed says that the URL answers with something that is no feed.
	ReasonNotAFeed = "NotAFeed"
	// ReasonFeedGone says that the server answers 410 Gone: the feed has ended for good.
	ReasonFeedGone = "FeedGone"
	// ReasonInvalidFilter says that an expression in spec.filters cannot work; the feed is not polled
	// until it is corrected.
	ReasonInvalidFilter = "InvalidFilter"
	// ReasonInsecureCredentials says that a source's credentials would be sent by plain http; the feed is not
	// polled until spec.url is one of https, or spec.allowInsecure is set.
	ReasonInsecureCredentials = "InsecureCredentials"
	// ReasonEvaluationFailed says that an expression that is right could not be evaluated for an entry.
	ReasonEvaluationFailed = "EvaluationFailed"
	// ReasonItemsNotCreated says that the feed was read, but the API server did not take its entries.
	ReasonItemsNotCreated = "ItemsNotCreated"
	// ReasonStorageFull says that the feed was read, but the API server has no room left to write anything.
	ReasonStorageFull = "StorageFull"
	// ReasonQuotaExceeded says that the feed was read, but a ResourceQuota of the namespace admits no more.
	ReasonQuotaExceeded = "QuotaExceeded"
	// ReasonNetworkDown says that the operator reaches no host any more, which is no fault of any feed.
	ReasonNetworkDown = "NetworkDown"
	// ReasonWritesRefused says that the API server takes nothing that is written on FeedItems.
	ReasonWritesRefused = "WritesRefused"
	// ReasonRecovered says that something works again after it had failed.
	ReasonRecovered = "Recovered"
	// ReasonActiveItemsLimit says that spec.maxActiveItems is reached.
	ReasonActiveItemsLimit = "ActiveItemsLimit"
	// ReasonDailyItemsLimit says that spec.maxItemsPerDay is reached.
	ReasonDailyItemsLimit = "DailyItemsLimit"
	// ReasonPartlyRead says that entries of the feed were left out because they could not be read.
	ReasonPartlyRead = "PartlyRead"
	// ReasonCredentialsMissing says that the Secret, or a key in it, is not there or cannot be used.
	ReasonCredentialsMissing = "CredentialsMissing"
	// ReasonCredentialsRefused says that the other side does not accept the credentials.
	ReasonCredentialsRefused = "CredentialsRefused"
	// ReasonConfigurationRefused says that the other side, or the operator, cannot work with the spec as it is.
	ReasonConfigurationRefused = "ConfigurationRefused"
	// ReasonCheckFailed says that the other side could not be asked whether all is well.
	ReasonCheckFailed = "CheckFailed"
	// ReasonCoolingDown says that the other side asked to be left alone for a while.
	ReasonCoolingDown = "CoolingDown"
	// ReasonQuotaSpent says that the budget is spent.
	ReasonQuotaSpent = "QuotaSpent"
	// ReasonTokensPerDaySpent says that spec.tokensPerDay is used up for today.
	ReasonTokensPerDaySpent = "TokensPerDaySpent" //nolint:gosec // a reason, no credentials
	// ReasonCircuitOpen says that so many calls have failed in a row that only a probe is made now and then.
	ReasonCircuitOpen = "CircuitOpen"
	// ReasonRetryRequested says that a person asked for a retry of all that had failed, of an Event.
	ReasonRetryRequested = "RetryRequested"
	// ReasonTokenMayNotRead says that the access token may post but not look at what was posted.
	ReasonTokenMayNotRead = "TokenMayNotRead"
	// ReasonNotConfidential says that what is sent to a destination would be seen by more people than
	// may be told of failures.
	ReasonNotConfidential = "NotConfidential"
	// ReasonDestinationMissing says that a FeedDestination does not exist in the namespace.
	ReasonDestinationMissing = "DestinationMissing"
	// ReasonMemoryMissing says that the FeedMemory of a source that has been polled before is not there.
	ReasonMemoryMissing = "MemoryMissing"
	// ReasonMemoryDamaged says that a FeedMemory of a destination could not be read, of an Event: what was posted there, as
	// far as no item says so, is forgotten.
	ReasonMemoryDamaged = "MemoryDamaged"
	// ReasonGUIDsShared says that GUIDs of the feed do not identify its entries.
	ReasonGUIDsShared = "GUIDsShared"
	// ReasonURLsShared says that links of the feed do not identify its entries.
	ReasonURLsShared = "URLsShared"
	// ReasonGUIDsAndURLsShared says that neither do.
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

// Reason says why a FeedItem is not simply going well. It is empty when it is.
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

// Category says what kind of failure it was, which decides whether it is tried again.
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

// Failure is one failure, written for a person and for machines. It never holds a secret, a
// query string or a response body.
type Failure struct {
	// Category is the kind of failure.
	// +required
	Category Category `json:"category"`

	// Type names the failure more exactly than its category, such as Timeout, HTTPStatus or NotAFeed.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Type string `json:"type,omitempty"`

	// Message says in words what happened.
	// +required
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message"`

	// Retryable says whether the operator tries again by itself.
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
