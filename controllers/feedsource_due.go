// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"time"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/derive"
	"github.com/feed-operator/feed-operator/internal/polling"
)

// due says when the source is to be polled next; networkBack is when the last outage has ended.
func (w *watchedSource) due(source *v1alpha1.FeedSource, networkBack time.Time) time.Time {
	if !w.redo.IsZero() && !w.changed(source) { // what a person has changed may be what was missing
		return w.redo
	}
	timing := derive.Timing(source)
	timing.LastPoll, timing.FirstSeen, timing.NetworkBack = w.lastPoll, w.firstSeen, networkBack
	// The status may be older than what this process has done.
	timing.Changed = w.changed(source)
	if t := source.Status.NotBefore; t != nil && !w.newSpec(source) {
		timing.NotBefore = t.Time
	}
	return polling.Due(timing)
}

// eager says whether a person waits for the poll: the source is new, or has changed, or they have
// asked for it.
func (w *watchedSource) eager(source *v1alpha1.FeedSource) bool {
	return source.Status.LastPollTime == nil || w.changed(source)
}

// changed says whether the spec in force was never polled, or a poll that a person asks for was
// not made yet. The status may be older than what this process has done.
func (w *watchedSource) changed(source *v1alpha1.FeedSource) bool {
	return w.newSpec(source) || derive.PollForced(source) && w.token != derive.PollToken(source)
}

func (w *watchedSource) newSpec(source *v1alpha1.FeedSource) bool {
	return source.Status.ObservedGeneration != source.Generation && w.generation != source.Generation
}
