// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package derive

import (
	"time"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/believable"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
	"github.com/feed-operator/feed-operator/internal/polling"
)

// gone is the HTTP status of a document that has been removed for good (RFC 9110, 15.5.11).
const gone = 410

// InsecureCredentials says for a person why a source is not polled whose credentials everybody could read.
const InsecureCredentials = "The feed is not polled, because its credentials would be sent by plain http://, where everybody on the way can read them. " +
	"Use https:// in spec.url; or, in a network that you trust, set spec.allowInsecure"

// PollReason is the reason that a source's condition gives for a poll that has failed.
func PollReason(cause *failure.Error) string {
	switch {
	case cause.Status == gone:
		return v1alpha1.ReasonFeedGone
	case cause.Type == failure.TypeNotAFeed:
		return v1alpha1.ReasonNotAFeed
	}
	return v1alpha1.ReasonPollFailed
}

// Timing is what a source itself says, now, about when it is polled next. What a process knows besides is left
// out: LastPoll, FirstSeen and NetworkBack. Of a last poll that has not come yet nothing is known but that there
// was one since the source was made.
func Timing(source *v1alpha1.FeedSource, now time.Time) polling.Timing {
	newSpec := source.Status.ObservedGeneration != source.Generation
	timing := polling.Timing{
		UID:      string(source.UID),
		Interval: intervalInForce(source),
		Failing:  source.Status.ConsecutiveFailures > 0,
		Changed:  newSpec || PollForced(source),
	}
	timing.Declared = !timing.Failing && timing.Interval > source.Interval()
	if t := source.Status.NotBefore; t != nil && !newSpec && believable.Coming(t.Time, now, polling.MaxInterval) { // with another spec it may be another server
		timing.NotBefore = t.Time
	}
	if t := source.Status.LastPollTime; t != nil {
		timing.RecordedPoll = t.Time
		if !believable.Past(t.Time, now) {
			timing.RecordedPoll = source.CreationTimestamp.Time
		}
		if !believable.Past(timing.RecordedPoll, now) { // it was made by the same clock
			timing.RecordedPoll = time.Time{}
		}
	}
	return timing
}

// intervalInForce is the source's own, or the longer one that its last poll has led to.
func intervalInForce(source *v1alpha1.FeedSource) time.Duration {
	own, recorded := source.Interval(), source.Status.EffectiveInterval
	if recorded == nil || source.Status.ObservedGeneration != source.Generation {
		return polling.EffectiveInterval(own, int(source.Status.ConsecutiveFailures))
	}
	return polling.InForce(own, recorded.Duration)
}

// IntervalWithoutFailures is how often a source is polled while nothing fails: its own interval, or the longer one that its feed has declared. Of a
// source that fails the declared one is known only as long as failures have not led to a longer one.
func IntervalWithoutFailures(source *v1alpha1.FeedSource) time.Duration {
	own := source.Interval()
	if inForce := intervalInForce(source); inForce > polling.EffectiveInterval(own, int(source.Status.ConsecutiveFailures)) {
		return inForce
	}
	return own
}

// PollForced reports whether a person asks for a poll that was not made yet.
func PollForced(source *v1alpha1.FeedSource) bool {
	token := PollToken(source)
	return token != "" && token != source.Status.LastHandledPoll
}

// PollToken is the value of the poll annotation, in the form in which it is compared and kept.
func PollToken(source *v1alpha1.FeedSource) string {
	return lifecycle.TokenOf(source.Annotations[v1alpha1.AnnotationPoll])
}
