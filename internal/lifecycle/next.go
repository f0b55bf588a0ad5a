// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
)

// Action is what is to be done with an item.
type Action int

const (
	// Rest: the item is finished; nothing happens to it by itself.
	Rest Action = iota
	// Wait: nothing before Step.Until.
	Wait
	// Acknowledge: a forced retry of an item that is done. It is noted, and nothing else happens.
	Acknowledge
	// Reset: a forced retry of an item that is finished or not due. Release is written down first.
	Reset
	// Summarize: the summary is missing; an attempt is due.
	Summarize
	// Finish: nothing is missing any more, but the item does not say so yet.
	Finish
)

// Step is what is to be done with an item, and until when to wait with it.
type Step struct {
	Action Action
	// Until is the end of the waiting, for Wait.
	Until time.Time
}

// Next decides what is to be done with an item now.
func Next(item *v1alpha1.FeedItem, now time.Time) Step {
	forced := Token(item) != item.Status.LastHandledRetry && Token(item) != ""
	done := item.Status.Summary != nil

	if item.Terminal() {
		switch {
		case !forced:
			return Step{Action: Rest}
		case item.Status.Phase == v1alpha1.PhaseProcessed && done:
			return Step{Action: Acknowledge}
		}
		return Step{Action: Reset}
	}
	if done {
		return Step{Action: Finish}
	}
	if until := notBefore(item, now); until.After(now) {
		if forced {
			return Step{Action: Reset}
		}
		return Step{Action: Wait, Until: until}
	}
	return Step{Action: Summarize}
}

// notBefore returns the earliest time of the next attempt. A time that no rule of this package
// can have set (the clock was wrong when it was written, or somebody edited it) is not waited for.
func notBefore(item *v1alpha1.FeedItem, now time.Time) time.Time {
	next := item.Status.NextRetryTime
	if item.Status.Phase != v1alpha1.PhaseDeferred || next == nil || next.After(now.Add(maxHint+time.Minute)) {
		return time.Time{}
	}
	return next.Time
}

// Token returns the value of the item's retry annotation in the form of TokenOf; empty without one.
func Token(item *v1alpha1.FeedItem) string {
	return TokenOf(item.Annotations[v1alpha1.AnnotationRetry])
}

// TokenOf returns the value of an annotation in the form in which it is compared and kept: as it
// is, or its hash where it is longer than the status may hold.
func TokenOf(value string) string {
	if len(value) <= 256 {
		return value
	}
	sum := sha256.Sum256([]byte(value))
	return "sha256:" + hex.EncodeToString(sum[:])
}
