// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"time"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/backoff"
	"github.com/feed-operator/feed-operator/internal/believable"
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
	// Reset: a requested retry of an item that is finished or not due. RetryNow is recorded first.
	Reset
	// Summarize: the summary is missing; an attempt is due.
	Summarize
	// Deliver: the summary is there; a delivery is due.
	Deliver
	// Finish: nothing is missing any more, but the item does not say so yet.
	Finish
	// SendNotifications: the item has failed for good; somebody is to be notified of that.
	SendNotifications
)

// Step is what is to be done with an item, and until when to wait with it.
type Step struct {
	Action Action
	// Until is the end of the waiting, for Wait.
	Until time.Time
}

// Next decides what is to be done with an item now.
func Next(item *v1alpha1.FeedItem, now time.Time) Step {
	forced := forced(item)
	if item.Terminal() {
		switch {
		case !forced:
			return afterwards(item, now)
		case item.Status.Phase == v1alpha1.PhaseProcessed && item.Status.Summary != nil:
			return Step{Action: Acknowledge}
		}
		return Step{Action: Reset}
	}
	todo := Summarize
	until := notBefore(item, now)
	if item.Status.Summary != nil {
		var open bool
		if until, open = nextDelivery(item, now); !open {
			return Step{Action: Finish}
		}
		if forced { // one delivery that is due must not use up the token of those that are not
			return Step{Action: Reset}
		}
		todo = Deliver
	}
	if until.After(now) {
		if forced {
			return Step{Action: Reset}
		}
		return Step{Action: Wait, Until: until}
	}
	return Step{Action: todo}
}

// Revived reports whether an item is to be tried again because what a provider or a destination had
// refused was cured since: an item that failed for the providers' credentials, or one with a
// delivery that was given up for those of its destination, wherever its other deliveries are.
// Cured returns when it was cured last, the zero time for never.
func Revived(item *v1alpha1.FeedItem, cured func(stage v1alpha1.Stage, name string) time.Time) bool {
	return slices.ContainsFunc(Refusals(item), func(by Refusal) bool { return cured(by.Stage, by.Name).After(by.Time) })
}

// Refusal is a provider or a destination for whose refused credentials an item, or a delivery of it,
// was given up.
type Refusal struct {
	Stage v1alpha1.Stage
	Name  string
	Time  time.Time
}

// Refusals lists what Revived asks about.
func Refusals(item *v1alpha1.FeedItem) []Refusal {
	var all []Refusal
	for i := range item.Status.Deliveries {
		if row := &item.Status.Deliveries[i]; refused(row) {
			all = append(all, Refusal{v1alpha1.StageDeliver, row.Destination, row.Failure.Time.Time})
		}
	}
	if item.Status.Phase != v1alpha1.PhaseFailed || item.Status.Reason != v1alpha1.ReasonAuthenticationFailed || item.Status.Summary != nil {
		return all
	}
	for _, failed := range item.Status.ProviderFailures {
		if failed.Category == v1alpha1.CategoryAuth {
			all = append(all, Refusal{v1alpha1.StageSummarize, failed.Name, failed.Time.Time})
		}
	}
	return all
}

// notBefore returns the earliest time of the next attempt. A time that no rule of this package
// can have set (the clock was wrong when it was written, or somebody edited it) is not waited for.
func notBefore(item *v1alpha1.FeedItem, now time.Time) time.Time {
	next := item.Status.NextRetryTime
	if item.Status.Phase != v1alpha1.PhaseDeferred || next == nil || !believable.Coming(next.Time, now, backoff.MaxHint) {
		return time.Time{}
	}
	return next.Time
}

// Token returns the value of the item's retry annotation in the form of TokenOf; empty without one.
func Token(item *v1alpha1.FeedItem) string {
	return TokenOf(item.Annotations[v1alpha1.AnnotationRetry])
}

// forced reports whether a person wants the item to be tried again.
func forced(item *v1alpha1.FeedItem) bool {
	return Token(item) != "" && Token(item) != item.Status.LastHandledRetry
}

// noteToken notes a token that was acted on. That there is none now is no reason to forget the
// last one: should the annotation come back, it must not act again.
func noteToken(status *v1alpha1.FeedItemStatus, token string) {
	if token != "" {
		status.LastHandledRetry = token
	}
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
