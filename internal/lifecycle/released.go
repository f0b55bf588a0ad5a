// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
)

// Releases says when a person last asked for a retry of all that had failed: of a source's items, or
// at a provider or a destination. It is pulled: an item that failed before is due, and nothing is
// written on it until its attempt writes what it came to (R3.7).
type Releases struct {
	// Source is when that was asked of the item's source; zero for never.
	Source time.Time
	// Providers and Destinations are when it was asked of those, by name.
	Providers, Destinations map[string]time.Time
}

// Failing is a provider or a destination where the last attempt at an item, or at a delivery of it,
// has failed, and when it has.
type Failing struct {
	Stage v1alpha1.Stage
	Name  string
	Time  time.Time
}

// Failings lists where an item has failed in its last attempt, as far as it is not done with.
func Failings(item *v1alpha1.FeedItem) []Failing {
	var all []Failing
	for i := range item.Status.Deliveries {
		if row := &item.Status.Deliveries[i]; mayBeFreed(row) {
			all = append(all, Failing{v1alpha1.StageDeliver, row.Destination, row.Failure.Time.Time})
		}
	}
	if !summaryFailed(item) {
		return all
	}
	for _, failed := range item.Status.ProviderFailures {
		if !failed.Time.Before(item.Status.LastFailureTime) { // those before are of earlier attempts
			all = append(all, Failing{v1alpha1.StageSummarize, failed.Name, failed.Time.Time})
		}
	}
	return all
}

// LastFailure is when the last attempt at an item, or at a delivery of it that is not done with, has
// failed; zero where none has.
func LastFailure(item *v1alpha1.FeedItem) time.Time {
	var last time.Time
	if summaryFailed(item) {
		last = item.Status.LastFailureTime.Time
	}
	for _, at := range Failings(item) {
		last = later(last, at.Time)
	}
	return last
}

// summaryFailed says that the last attempt at the summary of an item has failed.
func summaryFailed(item *v1alpha1.FeedItem) bool {
	status := &item.Status
	return status.Summary == nil && status.LastFailureTime != nil &&
		(status.Phase == v1alpha1.PhaseDeferred || status.Phase == v1alpha1.PhaseFailed)
}

// mayBeFreed says that a delivery has failed, and that a release may bring it back.
func mayBeFreed(row *v1alpha1.Delivery) bool {
	ended := row.Ended() && row.State != v1alpha1.DeliveryDead
	return row.Failure != nil && !ended && (row.State != v1alpha1.DeliveryDead || !uncertain(row) || row.NotAfter != nil)
}

// Next is what is to be done with an item whose next step by itself is known: where it would rest,
// wait, or be told of, what was released since it failed is due.
func (r Releases) Next(item *v1alpha1.FeedItem, step Step, now time.Time) Step {
	if step.Action != Rest && step.Action != Wait && step.Action != Tell {
		return step
	}
	if r.Frees(item) {
		return Step{Action: Summarize}
	}
	for i := range item.Status.Deliveries {
		row := &item.Status.Deliveries[i]
		if !r.FreesDelivery(row) {
			continue
		}
		switch at := freedAt(row, now); {
		case !at.After(now):
			return Step{Action: Deliver}
		case step.Action == Rest, step.Action == Wait && at.Before(step.Until):
			step = Step{Action: Wait, Until: at}
		}
	}
	return step
}

// Wants says that a finished item is not done with: it is to be tried again, by what stands on it or by a release.
func (r Releases) Wants(item *v1alpha1.FeedItem, now time.Time) bool {
	switch r.Next(item, Next(item, now), now).Action {
	case Rest, Tell, Acknowledge:
		return false
	case Wait, Reset, Summarize, Deliver, Finish:
	}
	return true
}

// Frees says that the attempt at a summary which failed last did so before the release of the
// source, or of a provider that has failed in it.
func (r Releases) Frees(item *v1alpha1.FeedItem) bool {
	if !summaryFailed(item) {
		return false
	}
	if r.Source.After(item.Status.LastFailureTime.Time) {
		return true
	}
	for _, at := range Failings(item) {
		if at.Stage == v1alpha1.StageSummarize && r.Providers[at.Name].After(at.Time) {
			return true
		}
	}
	return false
}

// FreesDelivery says that a delivery failed before the release of the source or of its destination.
func (r Releases) FreesDelivery(row *v1alpha1.Delivery) bool {
	return mayBeFreed(row) && r.ofDelivery(row.Destination).After(row.Failure.Time.Time)
}

func (r Releases) ofDelivery(destination string) time.Time {
	return later(r.Source, r.Destinations[destination])
}

// freedAt is when a delivery that is freed may be worked on: where a call may be under way, not
// before that has come to rest.
func freedAt(row *v1alpha1.Delivery, now time.Time) time.Time {
	if row.State == v1alpha1.DeliveryIntent || row.State == v1alpha1.DeliveryDead && uncertain(row) {
		return settledAt(row, now)
	}
	return time.Time{}
}

// Release makes due what is freed of an item: the summary, or deliveries. An item that had failed
// starts anew, with its whole retry budget; what was judged against is judged again. It is part of
// the write of the attempt, and says whether it has changed anything.
//
// A delivery of which nobody knows whether it was published is looked for first, and given up again
// where that cannot be done: who retries a thousand items has not looked for each of their posts.
func (r Releases) Release(item *v1alpha1.FeedItem, now time.Time) bool {
	if r.Frees(item) {
		reopen(item, now)
		judgeAgain(item)
		item.Status.Phase, item.Status.Reason = v1alpha1.PhaseDeferred, v1alpha1.ReasonNone
		item.Status.NextRetryTime = roundUp(now)
		return true
	}
	freed := false
	for i := range item.Status.Deliveries {
		if row := &item.Status.Deliveries[i]; r.FreesDelivery(row) {
			freed = true
			releaseRow(row, now)
		}
	}
	if freed {
		reopen(item, now)
		progress(item, now)
	}
	return freed
}

func releaseRow(row *v1alpha1.Delivery, now time.Time) {
	dead := row.State == v1alpha1.DeliveryDead
	if dead {
		row.FailedAttempts = 0
	}
	switch {
	case row.State == v1alpha1.DeliveryIntent, dead && uncertain(row):
		row.State, row.Failure = v1alpha1.DeliveryIntent, nil
		row.NextRetryTime = &metav1.Time{Time: settledAt(row, now)}
	case dead:
		row.State, row.NextRetryTime = v1alpha1.DeliveryQueued, nil
		row.Failure, row.FirstAttemptTime = nil, nil
	default:
		row.NextRetryTime = nil
	}
}

// reopen begins a finished item anew.
func reopen(item *v1alpha1.FeedItem, now time.Time) {
	if !item.Terminal() {
		return
	}
	status := &item.Status
	status.LastCheckTime = &metav1.Time{Time: now}
	status.RetryCount = 0
	status.FirstFailureTime = nil
	status.ProviderFailures = nil
	dropNotifications(item)
}

// judgeAgain forgets a verdict against the article.
func judgeAgain(item *v1alpha1.FeedItem) {
	if !item.Status.Screening.Passed() {
		item.Status.Screening, item.Status.ArticleHash = nil, ""
	}
}

// failedAt is when an attempt at a summary that ends now has failed: after every release that it
// serves, so that none of them frees the item again.
func (r Releases) failedAt(failures []v1alpha1.ProviderFailure, now time.Time) metav1.Time {
	served := r.Source
	for _, failed := range failures {
		served = later(served, r.Providers[failed.Name])
	}
	at := FailedAfter(served, now)
	for _, failed := range failures {
		if at.Before(&failed.Time) {
			at = failed.Time
		}
	}
	return at
}

// failedTogether gives the failures of providers in one attempt one time, by which they are told from
// those of earlier attempts.
func (o *Outcome) failedTogether(now time.Time) {
	at := o.Releases.failedAt(o.ProviderFailures, now)
	o.ProviderFailures = slices.Clone(o.ProviderFailures)
	for i := range o.ProviderFailures {
		o.ProviderFailures[i].Time = at
	}
}

// serve notes that a delivery which has failed just now, and not as before, has done so after the
// releases that this attempt serves.
func (r Releases) serve(row *v1alpha1.Delivery, before *v1alpha1.Failure, now time.Time) {
	if row.Failure == nil || row.Failure == before {
		return
	}
	if released := r.ofDelivery(row.Destination); !released.IsZero() && !row.Failure.Time.Truncate(time.Second).After(released) {
		row.Failure.Time = FailedAfter(released, now)
	}
}

// FailedAfter returns the time of a failure that happens now, as it is to be noted where something
// was cured or released at a time: after that, though failures are noted by the second only.
func FailedAfter(released, now time.Time) metav1.Time {
	if at := now.Truncate(time.Second); released.IsZero() || at.After(released) {
		return metav1.NewTime(now)
	}
	return metav1.NewTime(released.Truncate(time.Second).Add(time.Second))
}

// ReleasedAt returns when a release is noted that was asked for now, after one at last, of what failed
// last at a time: after all those failures, which are noted by the second only, and clearly after
// the release before.
func ReleasedAt(last *metav1.MicroTime, failed, now time.Time) *metav1.MicroTime {
	released := now.Add(time.Microsecond)
	if !released.After(failed) {
		released = failed.Add(time.Microsecond)
	}
	if last != nil && released.Before(last.Add(2*time.Second)) {
		released = last.Add(2 * time.Second)
	}
	return &metav1.MicroTime{Time: released}
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
