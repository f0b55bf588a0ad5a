// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"time"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
	"github.com/feed-operator/feed-operator/internal/polling"
)

// due says when the source is to be polled next; networkBack is when the last outage has ended.
func (w *watchedSource) due(source *v1alpha1.FeedSource, networkBack time.Time) time.Time {
	if !w.redo.IsZero() && !w.changed(source) { // what a person has changed may be what was missing
		return w.redo
	}
	timing := polling.Timing{
		UID:         string(source.UID),
		Interval:    w.interval(source),
		Failing:     source.Status.ConsecutiveFailures > 0,
		Changed:     w.changed(source),
		LastPoll:    w.lastPoll,
		Heartbeat:   heartbeat,
		FirstSeen:   w.firstSeen,
		NetworkBack: networkBack,
	}
	timing.Declared = !timing.Failing && timing.Interval > source.Interval()
	if t := source.Status.NotBefore; t != nil && !w.newSpec(source) { // it may be another server now
		timing.NotBefore = t.Time
	}
	if t := source.Status.LastPollTime; t != nil {
		timing.RecordedPoll = t.Time
	}
	return polling.Due(timing)
}

// interval is the one in force: the source's own, or the longer one that its last poll has led to.
func (w *watchedSource) interval(source *v1alpha1.FeedSource) time.Duration {
	own, recorded := source.Interval(), source.Status.EffectiveInterval
	if recorded == nil || source.Status.ObservedGeneration != source.Generation {
		return polling.EffectiveInterval(own, int(source.Status.ConsecutiveFailures))
	}
	return polling.InForce(own, recorded.Duration)
}

// eager says whether a person waits for the poll: the source is new, or has changed, or they have
// asked for it.
func (w *watchedSource) eager(source *v1alpha1.FeedSource) bool {
	return source.Status.LastPollTime == nil || w.changed(source)
}

// changed says whether the spec in force was never polled, or a poll that a person asks for was
// not made yet. The status may be older than what this process has done.
func (w *watchedSource) changed(source *v1alpha1.FeedSource) bool {
	return w.newSpec(source) || pollForced(source) && w.token != pollToken(source)
}

func (w *watchedSource) newSpec(source *v1alpha1.FeedSource) bool {
	return source.Status.ObservedGeneration != source.Generation && w.generation != source.Generation
}

// pollForced says whether a person asks for a poll that was not made yet.
func pollForced(source *v1alpha1.FeedSource) bool {
	token := pollToken(source)
	return token != "" && token != source.Status.LastHandledPoll
}

// pollToken is the value of the poll annotation, in the form in which it is compared and kept.
func pollToken(source *v1alpha1.FeedSource) string {
	return lifecycle.TokenOf(source.Annotations[v1alpha1.AnnotationPoll])
}
