// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feedsource

import (
	"time"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/believable"
	"github.com/feed-operator/feed-operator/internal/derive"
	"github.com/feed-operator/feed-operator/internal/polling"
)

// due returns when the source is to be polled next; networkBack is when the last outage has ended.
func (w *sourceState) due(source *v1alpha1.FeedSource, networkBack, now time.Time) time.Time {
	if !w.redo.IsZero() && !w.changed(source) { // what a person has changed may be what was missing
		return w.redo
	}
	timing := derive.Timing(source, now)
	timing.LastPoll, timing.FirstSeen = w.lastPoll, w.firstSeen
	if believable.Past(networkBack, now) {
		timing.NetworkBack = networkBack
	}
	// The status may be older than what this process has done.
	timing.Changed = w.changed(source)
	if w.interval > timing.Interval && !timing.Failing {
		timing.Interval, timing.Declared = w.interval, w.interval > source.Interval()
	}
	if t := source.Status.NotBefore; t != nil && !w.newSpec(source) && believable.Coming(t.Time, now, polling.MaxInterval) {
		timing.NotBefore = t.Time
	}
	return polling.Due(timing)
}

// correctTimes forgets the times that this process has noted while its clock was wrong. What it has seen first then, it has seen first
// now.
func (w *sourceState) correctTimes(now time.Time) {
	for _, at := range []*time.Time{&w.lastPoll, &w.lastNews, &w.countsWritten, &w.countsStaleSince} {
		if !believable.Past(*at, now) {
			*at = time.Time{}
		}
	}
	if !believable.Past(w.firstSeen, now) {
		w.firstSeen = now
	}
	if !believable.Coming(w.redo, now, polling.MaxInterval) {
		w.redo = time.Time{}
	}
}

// urgent reports whether a person waits for the poll: the source is new, or has changed, or they have
// asked for it.
func (w *sourceState) urgent(source *v1alpha1.FeedSource) bool {
	return source.Status.LastPollTime == nil || w.changed(source)
}

// changed reports whether the spec in force was never polled, or a poll that a person asks for was
// not made yet. The status may be older than what this process has done.
func (w *sourceState) changed(source *v1alpha1.FeedSource) bool {
	return w.newSpec(source) || derive.PollForced(source) && w.token != derive.PollToken(source)
}

func (w *sourceState) newSpec(source *v1alpha1.FeedSource) bool {
	return source.Status.ObservedGeneration != source.Generation && w.generation != source.Generation
}
