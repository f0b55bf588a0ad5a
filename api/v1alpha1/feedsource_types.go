// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"cmp"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Defaults of FeedSourceSpec, for objects that were written without them.
const (
	DefaultInterval        = 15 * time.Minute
	DefaultFetchTimeout    = 30 * time.Second
	DefaultInitialItems    = 5
	DefaultMaxActiveItems  = 1000
	DefaultMaxItemsPerDay  = 500
	DefaultMaxArticleBytes = 5 << 20
	DefaultMaxCharacters   = 400
	DefaultMaxRetries      = 5
	DefaultInitialDelay    = 5 * time.Minute
	DefaultMaxDelay        = 24 * time.Hour
	DefaultMultiplier      = 2
	DefaultKeepProcessed   = 7 * 24 * time.Hour
	DefaultKeepFailed      = 30 * 24 * time.Hour
	DefaultKeepLast        = 20
	DefaultKeepMost        = 1000
)

// MaxArticleBytes is as much as the largest feed has: the memory for documents has room for one such document at any time.
const MaxArticleBytes = 10 << 20

// ArticleSource is where the text of an article is taken from.
// +kubebuilder:validation:Enum=Auto;Page;Feed
type ArticleSource string

const (
	// ArticleSourceAuto takes the feed's own content when it is at least 1,000 characters long,
	// and else the page.
	ArticleSourceAuto ArticleSource = "Auto"
	// ArticleSourcePage always fetches the page that the entry links to.
	ArticleSourcePage ArticleSource = "Page"
	// ArticleSourceFeed never fetches a page: the feed's own content is the article.
	ArticleSourceFeed ArticleSource = "Feed"
)

// FeedHeader is a header that is sent with every request for the feed. Its value comes from the
// Secret that spec.secretRef names, so that it appears nowhere else.
type FeedHeader struct {
	// Name of the header, such as X-Api-Key. Headers that the operator sets itself cannot be named.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9-]+$`
	// +kubebuilder:validation:XValidation:rule="!(self.lowerAscii() in ['host','content-length','connection','transfer-encoding','accept-encoding','user-agent','if-none-match','if-modified-since','expect','keep-alive','proxy-connection','te','trailer','upgrade'])",message="this header is set by the operator itself"
	Name string `json:"name"`

	// SecretKey is the key in the Secret that holds the value.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	SecretKey string `json:"secretKey"`
}

// ArticlePolicy configures where the text of an article is taken from.
type ArticlePolicy struct {
	// Source is Auto (the feed's own content when it has at least 1,000 characters, else the
	// linked page), Page or Feed. Under Feed, the headline of an entry without content is the article;
	// without a headline either, the item ends Processed at once, with the reason NoContent.
	// +optional
	// +kubebuilder:default=Auto
	Source ArticleSource `json:"source,omitempty"`

	// MaxBytes is how large the body of a page or a PDF document may be, decoded. An item with a larger one ends
	// Processed, with the reason LargeFileSkipped. Default: 5 MiB; from 1 KiB to 10 MiB. A larger value of a source
	// that is older than this bound counts as 10 MiB.
	// +optional
	// +kubebuilder:default=5242880
	// +kubebuilder:validation:Minimum=1024
	// +kubebuilder:validation:Maximum=10485760
	MaxBytes *int64 `json:"maxBytes,omitempty"`
}

// FilterAction is what happens to the entries that a filter matches.
// +kubebuilder:validation:Enum=Keep;Drop
type FilterAction string

const (
	// FilterKeep has only those entries become items that it, or another filter that keeps, matches.
	FilterKeep FilterAction = "Keep"
	// FilterDrop lets no entry become an item that it matches.
	FilterDrop FilterAction = "Drop"
)

// EntryFilter matches entries of a feed by an expression.
type EntryFilter struct {
	// Name of the filter, as used in conditions and logs, such as no-job-offers.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`

	// Action is Drop, by which no entry that matches becomes an item, or Keep, by which only those do
	// that match it or another filter with Keep.
	// +required
	Action FilterAction `json:"action"`

	// Expression in CEL that is true for entries that match, such as
	// `'sports' in categories || title.fold().contains('football')`. It can use title, url, author, content
	// (texts), categories (a list of texts) and published (a time, or null), and CEL's functions, those for
	// texts among them. fold() makes lower case of a text, and full width and half width the same.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	// +kubebuilder:validation:XValidation:rule="self.trim() != ''",message="expression must not be empty"
	Expression string `json:"expression"`
}

// ProviderReference names an AIProvider in the same namespace.
type ProviderReference struct {
	// Name of the AIProvider.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// AlreadyPosted defines what happens to an entry that was posted to a destination before.
// +kubebuilder:validation:Enum=Skip;PostAgain
type AlreadyPosted string

// What happens to an entry that was posted to a destination before.
const (
	// AlreadyPostedSkip: it is not posted there again.
	AlreadyPostedSkip AlreadyPosted = "Skip"
	// AlreadyPostedAgain: it is posted there again.
	AlreadyPostedAgain AlreadyPosted = "PostAgain"
)

// DestinationReference names a FeedDestination in the same namespace.
type DestinationReference struct {
	// Name of the FeedDestination.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// AlreadyPosted defines what happens to an entry of this feed that was posted to the destination before, by this source
	// before it was deleted and applied again, or by another one that reads the same url. Skip: it is not
	// posted there again, and the state of its delivery is AlreadyPosted, with the URL of the first post. PostAgain: it is posted again.
	// The destination remembers the last 20,000 posts for 90 days, also while it is deleted itself. Default: Skip.
	// +optional
	AlreadyPosted AlreadyPosted `json:"alreadyPosted,omitempty"`
}

// ScreeningPolicy configures which entries are worth a summary.
type ScreeningPolicy struct {
	// Criteria in your own words, such as "New rules, deadlines and money that concern citizens. No
	// ceremonies, no appointments, no lists of meetings." An AI provider judges each article by
	// them, and whether its page is complete; the built-in extractive one cannot.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4000
	Criteria string `json:"criteria"`

	// Providers judge the articles, in the order of this list, where that is to be done by others
	// than those that write the summaries, such as cheaper ones. Where the first of spec.providers
	// judges, it writes the summary in the same call. Default: spec.providers, in one call.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=8
	Providers []ProviderReference `json:"providers,omitempty"`
}

// SummaryPolicy configures language, length and style of summaries.
type SummaryPolicy struct {
	// Language of the summaries as a BCP 47 tag, such as ja or pt-BR. Default: that of the
	// article. The extractive provider always uses that of the article.
	// +optional
	// +kubebuilder:validation:MaxLength=35
	// +kubebuilder:validation:Pattern=`^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$`
	Language string `json:"language,omitempty"`

	// Instructions for the AI provider in your own words, such as "For citizens without knowledge
	// of the law; say first what changes for them."
	// +optional
	// +kubebuilder:validation:MaxLength=4000
	Instructions string `json:"instructions,omitempty"`

	// MaxCharacters is how long a summary may be, in characters as a reader counts them.
	// +optional
	// +kubebuilder:default=400
	// +kubebuilder:validation:Minimum=40
	// +kubebuilder:validation:Maximum=5000
	MaxCharacters *int32 `json:"maxCharacters,omitempty"`
}

// RetryPolicy configures the retries of a failed item.
// +kubebuilder:validation:XValidation:rule="!has(self.initialDelay) || !has(self.maxDelay) || duration(self.initialDelay) <= duration(self.maxDelay)",message="initialDelay (5m if not set) must not be above maxDelay (24h if not set)"
type RetryPolicy struct {
	// MaxRetries is how many failed retries make the item fail for good.
	// +optional
	// +kubebuilder:default=5
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

// RetentionPolicy configures how long finished items are kept, and how many of them.
// +kubebuilder:validation:XValidation:rule="!has(self.keepLast) || !has(self.keepMost) || self.keepLast <= self.keepMost",message="keepLast (20 if not set) must not be above keepMost (1000 if not set)"
type RetentionPolicy struct {
	// Processed is how long a processed item is kept, from 1m to 8760h. Default: 168h (7 days).
	// +optional
	// +kubebuilder:default="168h"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1m') && duration(self) <= duration('8760h')",message="processed must be from 1m to 8760h"
	Processed *metav1.Duration `json:"processed,omitempty"`

	// Failed is how long a failed item is kept, from 1m to 8760h. Default: 720h (30 days).
	// +optional
	// +kubebuilder:default="720h"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1m') && duration(self) <= duration('8760h')",message="failed must be from 1m to 8760h"
	Failed *metav1.Duration `json:"failed,omitempty"`

	// KeepLast is how many of the newest finished items stay however old they are, so that the
	// feed that the operator publishes is never empty.
	// +optional
	// +kubebuilder:default=20
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	KeepLast *int32 `json:"keepLast,omitempty"`

	// KeepMost is how many finished items are kept at most, however new they are, so that a source takes only
	// so much room in the cluster. Above it processed items go first and failed ones last, the oldest by their
	// published time before the others. It is looked at once an hour; items that are not finished are not
	// counted and never removed.
	// +optional
	// +kubebuilder:default=1000
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100000
	KeepMost *int32 `json:"keepMost,omitempty"`
}

// FeedSourceSpec is the desired state of a source: what to read, and what to do with it.
// +kubebuilder:validation:XValidation:rule="!has(self.screening) || (has(self.providers) && size(self.providers) > 0) || (has(self.screening.providers) && size(self.screening.providers) > 0)",message="screening needs an AI provider that can judge: name one in providers or screening.providers (the built-in summarizer cannot)"
// +kubebuilder:validation:XValidation:rule="!has(self.headers) || size(self.headers) == 0 || has(self.secretRef)",message="headers take their values from a Secret: name it in secretRef"
type FeedSourceSpec struct {
	// URL of the feed: RSS, Atom or JSON Feed, by http or https. Credentials do not belong into
	// it: use secretRef.
	// +required
	// +kubebuilder:validation:MinLength=8
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="isURL(self) && url(self).getScheme() in ['http','https'] && url(self).getHostname() != ''",message="url must be a full http:// or https:// URL"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^[A-Za-z]+://[^/?#]*@')",message="url must not hold a user name or password: put them into a Secret and name it in secretRef"
	URL string `json:"url"`

	// Interval is how often the feed is polled, from 1m to 168h. Default: 15m.
	// +optional
	// +kubebuilder:default="15m"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1m') && duration(self) <= duration('168h')",message="interval must be from 1m to 168h"
	Interval *metav1.Duration `json:"interval,omitempty"`

	// Timeout is how long one request for the feed or for one of its pages may take in all, from
	// 1s to 5m. Default: 30s.
	// +optional
	// +kubebuilder:default="30s"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s') && duration(self) <= duration('5m')",message="timeout must be from 1s to 5m"
	Timeout *metav1.Duration `json:"timeout,omitempty"`

	// Suspend stops the polling, and the work on this source's items.
	// +optional
	Suspend bool `json:"suspend,omitempty"`

	// SecretRef names a Secret in the same namespace with the feed's credentials: username and
	// password, or token (sent as a bearer token), and the values of headers. They are sent to
	// the feed's own host only, and by https:// unless allowInsecure is set.
	// +optional
	SecretRef *SecretReference `json:"secretRef,omitempty"`

	// AllowInsecure lets credentials be sent to a URL with http://, where everybody on the way can read
	// them: those of secretRef, and what url holds in parameters that are called like a credential, such as
	// token. Without it such a source is not polled, and its Ready condition has the reason InsecureCredentials. Only for a
	// network that you trust. Default: false.
	// +optional
	AllowInsecure bool `json:"allowInsecure,omitempty"`

	// Headers are extra headers for requests for the feed, with values from the Secret.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Headers []FeedHeader `json:"headers,omitempty"`

	// InitialItems is how many of the newest entries become items at the first poll, of those that
	// pass the filters; the others are only remembered as seen.
	// +optional
	// +kubebuilder:default=5
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	InitialItems *int32 `json:"initialItems,omitempty"`

	// MaxActiveItems is how many unfinished items the source may have. Above it no item is
	// created until some are finished; what the feed still lists then is created later.
	// +optional
	// +kubebuilder:default=1000
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100000
	MaxActiveItems *int32 `json:"maxActiveItems,omitempty"`

	// MaxItemsPerDay is how many items the source may create in a day, from midnight to midnight UTC. What is
	// above waits in the feed for the next day, the oldest first, and the condition CreationPaused reports it; what
	// leaves the feed before its turn is lost. Entries that spec.filters drops, and those of the first poll that are
	// only remembered, do not count.
	// +optional
	// +kubebuilder:default=500
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	MaxItemsPerDay *int32 `json:"maxItemsPerDay,omitempty"`

	// Filters say which entries become items: those that match no filter with Drop and, where there are
	// filters with Keep, at least one of these. Their order means nothing. Each entry is judged once, when
	// it is new; one that is dropped counts as seen, and does not become an item later, whatever
	// becomes of the filters. A filter that fails for an entry drops nothing, and the condition
	// FiltersFailing reports it.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Filters []EntryFilter `json:"filters,omitempty"`

	// Article configures where the text of an article is taken from.
	// +optional
	Article *ArticlePolicy `json:"article,omitempty"`

	// Providers write the summaries. They are tried in the order of this list.
	// Without any, the built-in extractive summarizer is used.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=8
	Providers []ProviderReference `json:"providers,omitempty"`

	// Screening judges each article before it is summarized. Without it, every article is
	// summarized.
	// +optional
	Screening *ScreeningPolicy `json:"screening,omitempty"`

	// Summary configures language, length and style of summaries.
	// +optional
	Summary *SummaryPolicy `json:"summary,omitempty"`

	// Destinations that each summary is posted to. Each has its own state on the item. One that is
	// added later gets later items only; one that is removed gets nothing more.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=8
	Destinations []DestinationReference `json:"destinations,omitempty"`

	// Notifications are the destinations that are notified when an item fails for good. A Mastodon
	// account must post with visibility direct or private: another one gets no notifications.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=4
	// +kubebuilder:validation:XValidation:rule="self.all(ref, !has(ref.alreadyPosted))",message="alreadyPosted is for spec.destinations: a notification is no post of an entry"
	Notifications []DestinationReference `json:"notifications,omitempty"`

	// Publish serves the summaries as an Atom and a JSON feed, which everybody can read who reaches the
	// operator's address for feeds. Default: true; false where the feed itself is not for everybody: with
	// secretRef, or with a parameter in url that is called like a credential, such as token or key. A word
	// called key, as in key=politics, is none.
	// +optional
	Publish *bool `json:"publish,omitempty"`

	// Retry configures the retries of a failed item.
	// +optional
	Retry *RetryPolicy `json:"retry,omitempty"`

	// Retention configures how long finished items are kept, and how many of them.
	// +optional
	Retention *RetentionPolicy `json:"retention,omitempty"`
}

// ItemCounts is how many items of a source are in each phase.
type ItemCounts struct {
	// Unprocessed items are new.
	// +optional
	Unprocessed int32 `json:"unprocessed"`
	// Deferred items will be retried.
	// +optional
	Deferred int32 `json:"deferred"`
	// Pending items wait for a summary or a delivery.
	// +optional
	Pending int32 `json:"pending"`
	// Processed items are done.
	// +optional
	Processed int32 `json:"processed"`
	// Failed items have failed for good: they need manual action.
	// +optional
	Failed int32 `json:"failed"`
}

// Add counts n more items of a phase. One whose status was never written is unprocessed.
func (c *ItemCounts) Add(phase Phase, n int32) {
	switch phase {
	case PhaseDeferred:
		c.Deferred += n
	case PhasePending:
		c.Pending += n
	case PhaseProcessed:
		c.Processed += n
	case PhaseFailed:
		c.Failed += n
	case PhaseUnprocessed:
		c.Unprocessed += n
	default: // not even seen by the operator
		c.Unprocessed += n
	}
}

// Active returns how many items are not finished.
func (c ItemCounts) Active() int32 { return c.Unprocessed + c.Deferred + c.Pending }

// ItemTotals is how many items of a source have ended, whether they are still there or not. An item that is tried again after it has
// ended is not counted until it ends again.
type ItemTotals struct {
	// Processed is how many items have ended: Succeeded and Failed together.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Processed int64 `json:"processed"`
	// Succeeded is how many items have ended in the phase Processed, skipped ones included.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Succeeded int64 `json:"succeeded"`
	// Failed is how many items have ended in the phase Failed.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Failed int64 `json:"failed"`
}

// ItemsToday is how many items a source has created on one day. A day is from midnight to midnight UTC.
type ItemsToday struct {
	// Day that the count is of, such as 2026-01-31.
	// +required
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}$`
	// +kubebuilder:validation:MaxLength=10
	Day string `json:"day"`

	// Created is how many items were created on that day, whatever has become of them since.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Created int32 `json:"created,omitempty"`
}

// FeedSourceStatus is the observed state of the source.
type FeedSourceStatus struct {
	// ObservedGeneration is the generation of the spec that the conditions refer to.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Conditions of the source: Ready; Reconciling or Stalled while they are True;
	// CreationPaused, Damaged, FiltersFailing, IdentityShared, MemoryRebuilt and NotificationsBlocked where they happened.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=8
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// LastPollTime is when the feed was last polled. While nothing changes it is updated once an
	// hour only.
	// +optional
	LastPollTime *metav1.Time `json:"lastPollTime,omitempty"`

	// LastSuccessTime is when the feed was last read successfully. While nothing changes it is
	// updated once an hour only.
	// +optional
	LastSuccessTime *metav1.Time `json:"lastSuccessTime,omitempty"`

	// EffectiveInterval is the interval in force: spec.interval, made longer by failures, or by a
	// feed that declares how long it stays fresh (ttl, Cache-Control, Expires; up to a day).
	// +optional
	EffectiveInterval *metav1.Duration `json:"effectiveInterval,omitempty"`

	// NotBefore is the earliest time of the next poll, when the server asked for a pause.
	// +optional
	NotBefore *metav1.Time `json:"notBefore,omitempty"`

	// Title of the feed.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Title string `json:"title,omitempty"`

	// Format of the feed, such as "RSS 2.0".
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Format string `json:"format,omitempty"`

	// ConsecutiveFailures is how many polls have failed in a row.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ConsecutiveFailures int32 `json:"consecutiveFailures,omitempty"`

	// Failure is why the last poll failed; not set when it went well.
	// +optional
	Failure *Failure `json:"failure,omitempty"`

	// Items counts the source's items by phase. They are written when new items are finished or
	// wait to be tried again, and at the latest a minute after these have come. Writes of the counts alone are at
	// least a minute apart.
	// +optional
	Items ItemCounts `json:"items,omitzero"`

	// ItemsToday counts the items of the last day on which the source has created some, for
	// spec.maxItemsPerDay. It is written with the counts.
	// +optional
	ItemsToday ItemsToday `json:"itemsToday,omitzero"`

	// FilteredEntries is how many new entries spec.filters has dropped. Those not yet written
	// when the operator crashes are not counted.
	// +optional
	// +kubebuilder:validation:Minimum=0
	FilteredEntries int64 `json:"filteredEntries,omitempty"`

	// Totals counts the items of the source that have ended since it was created, also those that retention or a person has removed
	// since. They are written with the counts, and when the operator stops. Items that are removed while no operator runs, or that a
	// crash keeps from being written, about a minute's, are missing.
	// +optional
	Totals ItemTotals `json:"totals,omitzero"`

	// CountsToken is what the first versions of the operator had beside filteredEntries. It is neither read nor written: backups from
	// then hold it.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	CountsToken string `json:"countsToken,omitempty"`

	// LastHandledPoll is the last value of the poll annotation that was handled.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	LastHandledPoll string `json:"lastHandledPoll,omitempty"`

	// LastHandledRetry is the last value of the retry annotation that was handled.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	LastHandledRetry string `json:"lastHandledRetry,omitempty"`

	// RetryRequestedTime is when that value was handled: items of the source whose last attempt failed before are retried.
	// +optional
	RetryRequestedTime *metav1.MicroTime `json:"retryRequestedTime,omitempty"`

	// ReleasedTime is what the first versions of the operator called retryRequestedTime. It is read, and not written.
	// +optional
	ReleasedTime *metav1.MicroTime `json:"releasedTime,omitempty"`
}

// RetryRequested returns when a person last asked for a retry of all that had failed of the source; nil for never.
func (in *FeedSourceStatus) RetryRequested() *metav1.MicroTime {
	return cmp.Or(in.RetryRequestedTime, in.ReleasedTime)
}

// FeedSource is a feed that the operator reads. Each new entry becomes a FeedItem, which is
// fetched, summarized and published; see `kubectl get feeditems`.
//
// To poll it now, annotate it with any new value:
//
//	kubectl annotate feedsource NAME feeds.feed-operator.io/poll=1 --overwrite
//
// To retry all its deferred and failed items, annotate it in the same way with
// feeds.feed-operator.io/retry.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=fsrc,categories=feeds
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:printcolumn:name="Processed",type=integer,JSONPath=`.status.items.processed`
// +kubebuilder:printcolumn:name="Failed",type=integer,JSONPath=`.status.items.failed`
// +kubebuilder:printcolumn:name="URL",type=string,JSONPath=`.spec.url`,priority=1
// +kubebuilder:printcolumn:name="Interval",type=string,JSONPath=`.status.effectiveInterval`,priority=1
// +kubebuilder:printcolumn:name="Last success",type=date,JSONPath=`.status.lastSuccessTime`,priority=1
// +kubebuilder:printcolumn:name="Deferred",type=integer,JSONPath=`.status.items.deferred`,priority=1
// +kubebuilder:printcolumn:name="Filtered",type=integer,JSONPath=`.status.filteredEntries`,priority=1
// +kubebuilder:printcolumn:name="All succeeded",type=integer,JSONPath=`.status.totals.succeeded`,priority=1
// +kubebuilder:printcolumn:name="All failed",type=integer,JSONPath=`.status.totals.failed`,priority=1
// +kubebuilder:printcolumn:name="Title",type=string,JSONPath=`.status.title`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type FeedSource struct {
	metav1.TypeMeta `json:",inline"`

	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// Spec is the desired state: what to read.
	// +required
	Spec FeedSourceSpec `json:"spec"`

	// Status is the observed state.
	// +optional
	// +kubebuilder:default:={"observedGeneration":-1}
	Status FeedSourceStatus `json:"status,omitzero"`
}

// FeedSourceList is a list of FeedSources.
// +kubebuilder:object:root=true
type FeedSourceList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []FeedSource `json:"items"`
}
