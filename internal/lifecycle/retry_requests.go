// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
)

// RetryRequests are when a person last asked for a retry of all that had failed: of a source's items, or
// at a provider or a destination. It is pulled: an item that failed before is due, and nothing is
// written on it until its attempt writes what it came to (R3.7).
type RetryRequests struct {
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
		if row := &item.Status.Deliveries[i]; mayBeRetried(row) {
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

// summaryFailed reports whether the last attempt at the summary of an item has failed.
func summaryFailed(item *v1alpha1.FeedItem) bool {
	status := &item.Status
	return status.Summary == nil && status.LastFailureTime != nil &&
		(status.Phase == v1alpha1.PhaseDeferred || status.Phase == v1alpha1.PhaseFailed)
}

// mayBeRetried reports whether a delivery has failed, and may be retried on request.
func mayBeRetried(row *v1alpha1.Delivery) bool {
	ended := row.Ended() && row.State != v1alpha1.DeliveryDead
	return row.Failure != nil && !ended && (row.State != v1alpha1.DeliveryDead || !uncertain(row) || row.NotAfter != nil)
}

// Next is what is to be done with an item whose next step by itself is known: where it would rest,
// wait, or be notified of, it is due if a retry was requested since it failed.
func (r RetryRequests) Next(item *v1alpha1.FeedItem, step Step, now time.Time) Step {
	if step.Action != Rest && step.Action != Wait && step.Action != SendNotifications {
		return step
	}
	if r.Covers(item) {
		return Step{Action: Summarize}
	}
	for i := range item.Status.Deliveries {
		row := &item.Status.Deliveries[i]
		if !r.CoversDelivery(row) {
			continue
		}
		switch at := retryableAt(row, now); {
		case !at.After(now):
			return Step{Action: Deliver}
		case step.Action == Rest, step.Action == Wait && at.Before(step.Until):
			step = Step{Action: Wait, Until: at}
		}
	}
	return step
}

// Wants reports whether a finished item is not done with: it is to be retried, by what stands on it or by a request.
func (r RetryRequests) Wants(item *v1alpha1.FeedItem, now time.Time) bool {
	switch r.Next(item, Next(item, now), now).Action {
	case Rest, SendNotifications, Acknowledge:
		return false
	case Wait, Reset, Summarize, Deliver, Finish:
	}
	return true
}

// Covers reports whether the attempt at a summary which failed last did so before the request
// for the source, or for a provider that has failed in it.
func (r RetryRequests) Covers(item *v1alpha1.FeedItem) bool {
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

// CoversDelivery reports whether a delivery failed before the request for the source or for its destination.
func (r RetryRequests) CoversDelivery(row *v1alpha1.Delivery) bool {
	return mayBeRetried(row) && r.forDelivery(row.Destination).After(row.Failure.Time.Time)
}

func (r RetryRequests) forDelivery(destination string) time.Time {
	return later(r.Source, r.Destinations[destination])
}

// retryableAt is when a delivery that is to be retried may be worked on: where a call may be under way, not
// before that has come to rest.
func retryableAt(row *v1alpha1.Delivery, now time.Time) time.Time {
	if row.State == v1alpha1.DeliveryIntent || row.State == v1alpha1.DeliveryDead && uncertain(row) {
		return settledAt(row, now)
	}
	return time.Time{}
}

// Apply makes due what the requests cover of an item: the summary, or deliveries. An item that had failed
// starts anew, with its whole retry budget; what was judged against is judged again. It is part of
// the write of the attempt, and reports whether it has changed anything.
//
// A delivery of which nobody knows whether it was published is looked for first, and given up again
// where that cannot be done: who retries a thousand items has not looked for each of their posts.
func (r RetryRequests) Apply(item *v1alpha1.FeedItem, now time.Time) bool {
	if r.Covers(item) {
		reopen(item, now)
		judgeAgain(item)
		item.Status.Phase, item.Status.Reason = v1alpha1.PhaseDeferred, v1alpha1.ReasonNone
		item.Status.NextRetryTime = roundUp(now)
		return true
	}
	freed := false
	for i := range item.Status.Deliveries {
		if row := &item.Status.Deliveries[i]; r.CoversDelivery(row) {
			freed = true
			retryRow(row, now)
		}
	}
	if freed {
		reopen(item, now)
		progress(item, now)
	}
	return freed
}

func retryRow(row *v1alpha1.Delivery, now time.Time) {
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
		row.Failure, row.FirstAttemptTime, row.Image = nil, nil, nil // what was uploaded may be gone by now
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

// failedAt is when an attempt at a summary that ends now has failed: after every request that it
// serves, so that none of them covers the item again.
func (r RetryRequests) failedAt(failures []v1alpha1.ProviderFailure, now time.Time) metav1.Time {
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
	at := o.RetryRequests.failedAt(o.ProviderFailures, now)
	o.ProviderFailures = slices.Clone(o.ProviderFailures)
	for i := range o.ProviderFailures {
		o.ProviderFailures[i].Time = at
	}
}

// markServed notes that a delivery which has failed just now, and not as before, has done so after the
// requests that this attempt serves.
func (r RetryRequests) markServed(row *v1alpha1.Delivery, before *v1alpha1.Failure, now time.Time) {
	if row.Failure == nil || row.Failure == before {
		return
	}
	if released := r.forDelivery(row.Destination); !released.IsZero() && !row.Failure.Time.Truncate(time.Second).After(released) {
		row.Failure.Time = FailedAfter(released, now)
	}
}

// FailedAfter returns the time of a failure that happens now, as it is to be noted where
// credentials were replaced or a retry was requested at a time: after that, though failures are noted by the second only.
func FailedAfter(released, now time.Time) metav1.Time {
	if at := now.Truncate(time.Second); released.IsZero() || at.After(released) {
		return metav1.NewTime(now)
	}
	return metav1.NewTime(released.Truncate(time.Second).Add(time.Second))
}

// AfterFailures returns the time to record for a retry that was requested now, after the one before at
// last, of what failed last at a time: after all those failures, which are noted by the second
// only, and clearly after the request before.
func AfterFailures(last *metav1.MicroTime, failed, now time.Time) *metav1.MicroTime {
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
