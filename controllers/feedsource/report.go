// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feedsource

import (
	"context"
	"fmt"
	"strings"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/believable"
	"github.com/feed-operator/feed-operator/internal/conditions"
	"github.com/feed-operator/feed-operator/internal/derive"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/polling"
)

// report is what is to be written of a poll that succeeded.
type report struct {
	generation int64
	token      string
	at         time.Time
	interval   time.Duration
	found      pollResult
}

// pollSucceeded records a poll that went well, with the counts of the items. A feed without news is written down once an hour, and a first
// poll that nobody has asked for with what becomes of its items, if that is known soon.
func (r *Reconciler) pollSucceeded(
	ctx context.Context, source *v1alpha1.FeedSource, watch *sourceState, token string, found pollResult, now time.Time,
) error {
	said := report{
		generation: source.Generation, token: token, at: now,
		interval: polling.Declared(source.Interval(), found.declared), found: found,
	}
	if found.unchanged && said.isRecorded(source) {
		return nil // most polls: no copies are made to find out that nothing is to be written
	}
	isNew := source.Status.LastPollTime == nil && !watch.counted                    // the cache may not know yet what was reported
	lasts := found.damage == "" && found.filtersFailing == "" && found.dropped == 0 // all else another poll finds again, should this process end
	if isNew && unreported(source) && lasts && found.created > 0 && token == "" {
		watch.firstReport = &said
		return nil
	}
	return r.writeCounted(ctx, source, watch, r.transition, func(source *v1alpha1.FeedSource) bool {
		return !isSuperseded(source, said.token, said.generation) && said.apply(source)
	})
}

// unreported reports whether nothing that was read of the feed stands on a source, nor how it stands.
func unreported(source *v1alpha1.FeedSource) bool {
	return source.Status.Format == "" && conditions.Ready(source.Status.Conditions).Status == metav1.ConditionUnknown
}

// heartbeatDue reports whether it is time to write down a poll without news.
func heartbeatDue(source *v1alpha1.FeedSource, now time.Time) bool {
	last := source.Status.LastPollTime
	return last == nil || !believable.Past(last.Time, now) || now.Sub(last.Time) >= polling.Heartbeat
}

// isRecorded reports whether the status has all that there is to report of a poll that had no news.
func (r *report) isRecorded(source *v1alpha1.FeedSource) bool {
	status := &source.Status
	return conditions.Ready(status.Conditions).Status == metav1.ConditionTrue && status.ConsecutiveFailures == 0 &&
		status.LastHandledPoll == r.token && status.ObservedGeneration == r.generation &&
		status.EffectiveInterval != nil && status.EffectiveInterval.Duration >= r.interval && // a shorter one is told with the next news
		!heartbeatDue(source, r.at) && !r.movesNow(source)
}

// isSuperseded reports for a poll for a token that another process has polled for a newer one meanwhile, the one that stands on the source, and
// has told of that: this process was frozen, or could not write.
func isSuperseded(live *v1alpha1.FeedSource, token string, generation int64) bool {
	handled := live.Status.LastHandledPoll
	return handled != "" && handled != token && handled == derive.PollToken(live) && live.Status.ObservedGeneration >= generation
}

// apply puts a report on the status, and reports whether it was worth it. New items alone are not: they are told by
// the counts, which are written soon after. A document that has changed and says nothing new is as good as
// an unchanged one.
func (r *report) apply(source *v1alpha1.FeedSource) bool {
	status, found := &source.Status, &r.found
	before := status.DeepCopy()
	if !found.unchanged {
		status.Title, status.Format = feedTitle(found.title), conditions.Cut(found.format, 64)
		setDamaged(source, found.damage, r.at)
		setPaused(source, found, r.at)
		setRebuilt(source, found.rebuilt, r.at)
		setIdentityShared(source, found.identity, r.at)
	}
	setFiltersFailing(source, found.judged, found.filtersFailing, r.at)
	if apiequality.Semantic.DeepEqual(before, status) && r.isRecorded(source) {
		return false
	}
	status.ObservedGeneration, status.LastHandledPoll = r.generation, r.token
	status.LastPollTime, status.LastSuccessTime = &metav1.Time{Time: r.at}, &metav1.Time{Time: r.at}
	status.EffectiveInterval, status.NotBefore = &metav1.Duration{Duration: r.interval}, nil
	status.ConsecutiveFailures, status.Failure = 0, nil
	setSourceReady(source, conditions.Readiness{Ready: true, Reason: v1alpha1.ReasonSucceeded, Message: r.readyMessage(source)}, r.at)
	return true
}

// movesNow reports whether the feed has begun to say that it is elsewhere for good.
func (r *report) movesNow(source *v1alpha1.FeedSource) bool {
	return r.found.movedTo != "" && !strings.Contains(conditions.Ready(source.Status.Conditions).Message, hasMoved)
}

// hasMoved is how a condition says that a feed has moved.
const hasMoved = "The feed has moved permanently"

func (r *report) readyMessage(source *v1alpha1.FeedSource) string {
	name := source.Status.Format
	if source.Status.Title != "" {
		name = fmt.Sprintf("%q (%s)", source.Status.Title, name)
	}
	message := fmt.Sprintf("Reads %s every %s", name, formatDuration(r.interval))
	if r.interval > source.Interval() {
		message += fmt.Sprintf(" (spec.interval is %s; the feed declares that it changes less often)", formatDuration(source.Interval()))
	}
	if to := r.found.movedTo; to != "" {
		message += ". " + hasMoved + ": set spec.url to " + failure.Mask(to)
		if failure.Mask(to) != to {
			message += " (its query is not shown here)"
		}
	}
	if meta.IsStatusConditionTrue(source.Status.Conditions, v1alpha1.ConditionCreationPaused) {
		message += ". Entries wait in the feed: see the condition CreationPaused"
	}
	return message
}
