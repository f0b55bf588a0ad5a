// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feedsource

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/budget"
	"github.com/feed-operator/feed-operator/internal/conditions"
	"github.com/feed-operator/feed-operator/internal/derive"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/outbound"
	"github.com/feed-operator/feed-operator/internal/polling"
	"github.com/feed-operator/feed-operator/internal/secrets"
	"github.com/feed-operator/feed-operator/internal/telemetry"
)

// pollFailed records a poll that did not get a feed. The next one comes later with each failure,
// but it always comes, unless the server says that the feed is gone for good.
func (r *Reconciler) pollFailed(ctx context.Context, source *v1alpha1.FeedSource, token string, err error, now time.Time) error {
	generation, newSpec := source.Generation, source.Status.ObservedGeneration != source.Generation
	cause := failure.Classify(err)
	return r.transition(ctx, source, func(source *v1alpha1.FeedSource) {
		if isSuperseded(source, token, generation) {
			return
		}
		status := &source.Status
		if !hasPoll(status, token, now) || status.Failure == nil { // else it was taken, and only the answer to that was lost
			status.ConsecutiveFailures++
		}
		status.ObservedGeneration, status.LastHandledPoll = generation, token
		status.LastPollTime = &metav1.Time{Time: now}
		status.Failure = failure.Record(err, v1alpha1.StagePoll, outbound.HostOf(source.Spec.URL), now)
		status.Failure.Retryable = cause.Status != http.StatusGone
		interval := polling.EffectiveInterval(source.Interval(), int(status.ConsecutiveFailures))
		if before := status.EffectiveInterval; before != nil && !newSpec { // what the feed has declared holds also while it fails
			interval = polling.InForce(interval, before.Duration)
		}
		status.EffectiveInterval, status.NotBefore = &metav1.Duration{Duration: interval}, nil
		next := now.Add(interval)
		if cause.RetryAfter > 0 {
			asked := now.Add(min(cause.RetryAfter, polling.MaxInterval))
			status.NotBefore = &metav1.Time{Time: asked}
			if asked.After(next) {
				next = asked
			}
		}
		said := conditions.Readiness{Reason: derive.PollReason(cause), Retrying: true}
		if said.Reason == v1alpha1.ReasonFeedGone {
			said.Retrying, said.Stalled = false, true
		}
		said.Message = strings.TrimRight(status.Failure.Message, ".") + advice(source, cause)
		if said.Stalled {
			said.Message += ". The feed is not polled any more: change spec.url, or annotate the source with " +
				v1alpha1.AnnotationPoll + " to try once more"
		} else {
			said.Message += fmt.Sprintf(". Failure %d in a row; the next poll is at %s", status.ConsecutiveFailures, next.UTC().Format(time.RFC3339))
		}
		setSourceReady(source, said, now)
	})
}

// hasPoll reports whether a status has the poll of a time already, which was forced by a token or by none.
func hasPoll(status *v1alpha1.FeedSourceStatus, token string, at time.Time) bool {
	return status.LastPollTime != nil && status.LastPollTime.Unix() == at.Unix() && status.LastHandledPoll == token
}

// credentialsMissing records that the feed cannot be asked for, and looks again soon. It is no
// poll, and counts as no failure.
func (r *Reconciler) credentialsMissing(ctx context.Context, source *v1alpha1.FeedSource, watch *sourceState, err error) (time.Time, error) {
	unusable, ok := errors.AsType[*secrets.Unusable](err)
	if !ok {
		return time.Time{}, err
	}
	watch.generation, watch.token, watch.redo = source.Generation, derive.PollToken(source), r.Clock.Now().Add(secretInterval)
	return watch.redo, r.writeReadiness(ctx, source, conditions.Readiness{
		Reason: string(v1alpha1.ReasonWaiting), Message: unusable.Error() + ". The feed is polled as soon as it is there", Retrying: true,
	})
}

// memoryFull has a poll made again that found no room in memory, and reports it where that has gone on for long. It is no
// poll, and counts as no failure.
func (r *Reconciler) memoryFull(ctx context.Context, source *v1alpha1.FeedSource, watch *sourceState, token string) (time.Time, error) {
	now := r.Clock.Now()
	watch.generation, watch.token, watch.redo = source.Generation, token, watch.full.Again(source.UID, now)
	if !watch.full.Long(now) {
		return watch.redo, nil
	}
	return watch.redo, r.writeReadiness(ctx, source, conditions.Readiness{
		Reason: string(v1alpha1.ReasonWaiting), Message: "Waits for " + budget.WithoutRoom, Retrying: true,
	})
}

// writeReadiness writes on a source how it stands with its spec as it is.
func (r *Reconciler) writeReadiness(ctx context.Context, source *v1alpha1.FeedSource, said conditions.Readiness) error {
	generation := source.Generation
	return r.transition(ctx, source, func(source *v1alpha1.FeedSource) {
		source.Status.ObservedGeneration = generation
		setSourceReady(source, said, r.Clock.Now())
	})
}

// transition writes the status, and then tells if the source has become ready or has ceased to be. That
// a new one begins well is told by its status alone: an Event is a write, and thousands may be new at once.
func (r *Reconciler) transition(ctx context.Context, source *v1alpha1.FeedSource, change func(*v1alpha1.FeedSource)) error {
	before := conditions.Ready(source.Status.Conditions)
	_, alreadyPaused := pausedForToday(source)
	if err := r.write(ctx, source, change); err != nil {
		return err
	}
	if message, paused := pausedForToday(source); paused && !alreadyPaused { // once a day at most
		telemetry.CreationPaused(r.Recorder, source, v1alpha1.ReasonDailyItemsLimit, message)
	}
	after := conditions.Ready(source.Status.Conditions)
	if after.Status == before.Status && after.Reason == before.Reason {
		return nil
	}
	reason, healthy := after.Reason, after.Status == metav1.ConditionTrue
	if beginsWell := healthy && before.Status == metav1.ConditionUnknown; beginsWell {
		return nil
	}
	if healthy && before.Status == metav1.ConditionFalse && before.Reason != v1alpha1.ReasonSuspended {
		reason = v1alpha1.ReasonRecovered
	}
	telemetry.SourceTransition(r.Recorder, source, healthy, reason, after.Message)
	return nil
}

// setSourceReady sets Ready, and Reconciling or Stalled where they apply.
func setSourceReady(source *v1alpha1.FeedSource, said conditions.Readiness, now time.Time) {
	conditions.SetReady(&source.Status.Conditions, source.Status.ObservedGeneration, said, now)
}

// setFirstPoll reports for a source of which nothing was told yet that it is being read: Ready is there whenever
// anything is.
func setFirstPoll(source *v1alpha1.FeedSource, now time.Time) {
	if conditions.Ready(source.Status.Conditions).Type != "" {
		return
	}
	meta.SetStatusCondition(&source.Status.Conditions, metav1.Condition{
		Type: v1alpha1.ConditionReady, Status: metav1.ConditionUnknown, Reason: v1alpha1.ReasonProgressing,
		Message: "The feed is being read for the first time", LastTransitionTime: metav1.NewTime(now),
	})
}

// setDamaged reports what of the feed could not be used.
func setDamaged(source *v1alpha1.FeedSource, warning string, now time.Time) {
	note(source, v1alpha1.ConditionDamaged, v1alpha1.ReasonPartlyRead, warning, now)
}

// setRebuilt reports that the memory was gone, until the next poll that finds it.
func setRebuilt(source *v1alpha1.FeedSource, seen int, now time.Time) {
	message := ""
	if seen >= 0 {
		message = fmt.Sprintf("The FeedMemory of this source was missing. So that nothing is published twice, "+
			"the %d entries that the feed lists without an item were marked as seen, and none became an item", seen)
	}
	note(source, v1alpha1.ConditionMemoryRebuilt, v1alpha1.ReasonMemoryMissing, message, now)
}

// note sets a condition that is there only while there is something to say.
func note(source *v1alpha1.FeedSource, kind, reason, message string, now time.Time) {
	if message == "" {
		meta.RemoveStatusCondition(&source.Status.Conditions, kind)
		return
	}
	meta.SetStatusCondition(&source.Status.Conditions, metav1.Condition{
		Type: kind, Status: metav1.ConditionTrue, Reason: reason, Message: conditions.Cut(message, conditions.MaxMessage),
		ObservedGeneration: source.Generation, LastTransitionTime: metav1.NewTime(now),
	})
}

// formatDuration writes a duration without its zero parts: 15m, not 15m0s.
func formatDuration(d time.Duration) string {
	return strings.NewReplacer("h0m0s", "h", "m0s", "m").Replace(d.String())
}
