// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Interval returns how often the feed is polled when all is well.
func (in *FeedSource) Interval() time.Duration { return durationOr(in.Spec.Interval, DefaultInterval) }

// FetchTimeout returns how long one request for the feed or a page may take.
func (in *FeedSource) FetchTimeout() time.Duration {
	return durationOr(in.Spec.Timeout, DefaultFetchTimeout)
}

// InitialItems returns how many entries of the first poll become items.
func (in *FeedSource) InitialItems() int {
	return int(int32Or(in.Spec.InitialItems, DefaultInitialItems))
}

// MaxActiveItems returns how many unfinished items the source may have.
func (in *FeedSource) MaxActiveItems() int {
	return int(int32Or(in.Spec.MaxActiveItems, DefaultMaxActiveItems))
}

// MaxItemsPerDay returns how many items the source may create in a day.
func (in *FeedSource) MaxItemsPerDay() int {
	return int(int32Or(in.Spec.MaxItemsPerDay, DefaultMaxItemsPerDay))
}

// ArticleSource returns where the text of an article is taken from.
func (in *FeedSource) ArticleSource() ArticleSource {
	if in.Spec.Article == nil || in.Spec.Article.Source == "" {
		return ArticleSourceAuto
	}
	return in.Spec.Article.Source
}

// MaxArticleBytes returns how large a page may be, decoded. Sources that are older than the bound may say more.
func (in *FeedSource) MaxArticleBytes() int64 {
	if in.Spec.Article == nil || in.Spec.Article.MaxBytes == nil {
		return DefaultMaxArticleBytes
	}
	return min(*in.Spec.Article.MaxBytes, MaxArticleBytes)
}

// MaxCharacters returns how long a summary may be, in characters as a reader counts them.
func (in *FeedSource) MaxCharacters() int {
	if in.Spec.Summary == nil {
		return DefaultMaxCharacters
	}
	return int(int32Or(in.Spec.Summary.MaxCharacters, DefaultMaxCharacters))
}

// Criteria returns what articles are screened by, empty for no screening.
func (in *FeedSource) Criteria() string {
	if in.Spec.Screening == nil {
		return ""
	}
	return in.Spec.Screening.Criteria
}

// Judges returns the providers that judge articles, where those are not the ones that write the summaries.
func (in *FeedSource) Judges() []ProviderReference {
	if in.Spec.Screening == nil {
		return nil
	}
	return in.Spec.Screening.Providers
}

// Delivers reports whether the source names a destination.
func (in *FeedSource) Delivers(destination string) bool {
	return slices.ContainsFunc(in.Spec.Destinations, func(ref DestinationReference) bool { return ref.Name == destination })
}

// PostsAgain reports whether the source wants entries posted to a destination that has a post of them already.
func (in *FeedSource) PostsAgain(destination string) bool {
	return slices.ContainsFunc(in.Spec.Destinations, func(ref DestinationReference) bool {
		return ref.Name == destination && ref.AlreadyPosted == AlreadyPostedAgain
	})
}

// MaxRetries returns how many failed retries make an item fail for good.
func (in *FeedSource) MaxRetries() int {
	if in.Spec.Retry == nil {
		return DefaultMaxRetries
	}
	return int(int32Or(in.Spec.Retry.MaxRetries, DefaultMaxRetries))
}

// RetryDelays returns the wait before the first retry, the longest wait, and the factor between
// one wait and the next.
func (in *FeedSource) RetryDelays() (initial, longest time.Duration, multiplier int) {
	if in.Spec.Retry == nil {
		return DefaultInitialDelay, DefaultMaxDelay, DefaultMultiplier
	}
	return durationOr(in.Spec.Retry.InitialDelay, DefaultInitialDelay),
		durationOr(in.Spec.Retry.MaxDelay, DefaultMaxDelay),
		int(int32Or(in.Spec.Retry.Multiplier, DefaultMultiplier))
}

// KeepFor returns how long a finished item of the given phase is kept.
func (in *FeedSource) KeepFor(phase Phase) time.Duration {
	var policy RetentionPolicy
	if in.Spec.Retention != nil {
		policy = *in.Spec.Retention
	}
	if phase == PhaseFailed {
		return durationOr(policy.Failed, DefaultKeepFailed)
	}
	return durationOr(policy.Processed, DefaultKeepProcessed)
}

// KeepLast returns how many of the newest finished items stay however old they are.
func (in *FeedSource) KeepLast() int {
	if in.Spec.Retention == nil {
		return DefaultKeepLast
	}
	return int(int32Or(in.Spec.Retention.KeepLast, DefaultKeepLast))
}

// KeepMost returns how many finished items are kept at most.
func (in *FeedSource) KeepMost() int {
	if in.Spec.Retention == nil {
		return DefaultKeepMost
	}
	return int(int32Or(in.Spec.Retention.KeepMost, DefaultKeepMost))
}

func durationOr(d *metav1.Duration, otherwise time.Duration) time.Duration {
	if d == nil {
		return otherwise
	}
	return d.Duration
}

func int32Or(n *int32, otherwise int32) int32 {
	if n == nil {
		return otherwise
	}
	return *n
}
