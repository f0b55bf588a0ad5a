// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/backoff"
)

// settleDeliveries gives an item that has its summary the phase that follows from its deliveries:
// Processed when all have ended well, Failed when all have ended and one is dead, and else Pending
// or Deferred.
func settleDeliveries(item *v1alpha1.FeedItem, now time.Time) {
	item.Status.LastCheckTime = &metav1.Time{Time: now}
	if _, open := nextDelivery(item, now); open {
		progress(item, now)
		return
	}
	finishDelivered(item)
	setConditions(item, backoff.Policy{}, now)
}

// finishDelivered ends an item whose deliveries have all ended.
func finishDelivered(item *v1alpha1.FeedItem) {
	status := &item.Status
	for i := range status.Deliveries {
		row := &status.Deliveries[i]
		if row.State != v1alpha1.DeliveryDead {
			continue
		}
		status.Phase = v1alpha1.PhaseFailed
		status.Reason = deadReason(row)
		status.RetryCount = retries(row)
		status.NextRetryTime = nil
		if row.Failure != nil {
			status.Failure = row.Failure.DeepCopy()
			status.Failure.Retryable = false
		}
		return
	}
	finish(item, v1alpha1.ReasonNone)
}

// deadReason returns why a delivery was given up.
func deadReason(row *v1alpha1.Delivery) v1alpha1.Reason {
	switch {
	case row.Failure == nil, row.Failure.Retryable:
		if row.Failure != nil && uncertain(row) {
			return v1alpha1.ReasonDeliveryUncertain
		}
		return v1alpha1.ReasonRetryLimitExceeded
	case uncertain(row):
		return v1alpha1.ReasonDeliveryUncertain
	}
	return finalReason(Outcome{Failure: row.Failure}, false)
}

// progress shows on an item what its open deliveries have come to: the largest of their counts and
// the earliest of their times. It is Pending while one is under way or can be tried, Deferred while
// all wait.
func progress(item *v1alpha1.FeedItem, now time.Time) {
	status := &item.Status
	before := status.Phase
	status.Phase, status.Reason = v1alpha1.PhaseDeferred, v1alpha1.ReasonNone
	status.RetryCount, status.NextRetryTime, status.Failure = 0, nil, nil
	for i := range status.Deliveries {
		row := &status.Deliveries[i]
		at, open := Due(row, now)
		if !open {
			continue
		}
		status.RetryCount = max(status.RetryCount, retries(row))
		underWay := row.State == v1alpha1.DeliveryIntent && (row.Failure == nil || uncertain(row))
		if row.Failure != nil && !underWay {
			status.Reason = v1alpha1.ReasonAPIFailed
			if status.Failure == nil || status.Failure.Time.Before(&row.Failure.Time) {
				status.Failure = row.Failure.DeepCopy()
			}
		}
		if underWay || !at.After(now) {
			status.Phase = v1alpha1.PhasePending
		}
		if at.After(now) && (status.NextRetryTime == nil || at.Before(status.NextRetryTime.Time)) {
			status.NextRetryTime = &metav1.Time{Time: at}
		}
	}
	if status.Phase == v1alpha1.PhasePending {
		status.NextRetryTime = nil
	}
	if status.Phase != before {
		status.LastCheckTime = &metav1.Time{Time: now}
	}
	setConditions(item, backoff.Policy{}, now)
}

// retries is the number of failed attempts after the first.
func retries(row *v1alpha1.Delivery) int32 { return max(row.FailedAttempts-1, 0) }

// retryDeliveries makes the deliveries of an item due that are to be retried, by a request or
// for new credentials. Those that were given up start anew; new credentials bring back only those that had failed for the old ones:
// it has not looked for what may have been published. That is still looked for first, after its
// settle time.
func retryDeliveries(item *v1alpha1.FeedItem, byPerson bool, now time.Time) {
	for i := range item.Status.Deliveries {
		row := &item.Status.Deliveries[i]
		switch row.State {
		case v1alpha1.DeliveryDead:
			if !byPerson && !refused(row) {
				continue
			}
			row.State, row.FailedAttempts, row.NextRetryTime = v1alpha1.DeliveryQueued, 0, nil
			if !uncertain(row) {
				row.Failure, row.FirstAttemptTime = nil, nil
			}
		case v1alpha1.DeliveryQueued:
			if byPerson {
				row.NextRetryTime = nil
			}
		case v1alpha1.DeliveryIntent:
			// What a person wants to have tried does not wait for the backoff of a failed call or look.
			if settled := settledAt(row, now); byPerson && row.NextRetryTime != nil && row.NextRetryTime.After(settled) {
				row.NextRetryTime, row.Failure = &metav1.Time{Time: settled}, nil
			}
		case v1alpha1.DeliveryDone, v1alpha1.DeliveryDropped, v1alpha1.DeliveryAlreadyPosted:
		}
	}
}

// DeliveryPolicy is how often and when a failed delivery is tried again.
type DeliveryPolicy struct {
	backoff.Policy
}

// maxDeliveryTime is how long a delivery is tried, whatever its policy says (R3.4).
const maxDeliveryTime = 7 * 24 * time.Hour

// DeliveryPolicyOf returns the policy that a destination's spec asks for.
func DeliveryPolicyOf(destination *v1alpha1.FeedDestination) DeliveryPolicy {
	return DeliveryPolicy{backoff.Of(destination)}
}

// exhausted reports whether a delivery has failed as often, or has been tried as long, as it may.
func (p DeliveryPolicy) exhausted(row *v1alpha1.Delivery, now time.Time) bool {
	return int(row.FailedAttempts) > p.MaxRetries ||
		row.FirstAttemptTime != nil && now.Sub(row.FirstAttemptTime.Time) >= maxDeliveryTime
}

// lookupsExhausted reports whether a delivery was looked for as often as it may be: for ten times more than it
// may be posted, because it must be known.
func (p DeliveryPolicy) lookupsExhausted(row *v1alpha1.Delivery) bool {
	const looks = 10
	return int(row.FailedAttempts) > p.MaxRetries+looks
}

// spent reports whether a delivery whose last call has failed is not tried again.
func (p DeliveryPolicy) spent(row *v1alpha1.Delivery, now time.Time) bool {
	return row.Failure != nil && (!row.Failure.Retryable || p.exhausted(row, now))
}

// next is when a delivery that failed at a time is tried again.
func (p DeliveryPolicy) next(row *v1alpha1.Delivery, item *v1alpha1.FeedItem, retryAfter time.Duration, failedAt time.Time) *metav1.Time {
	wait := p.Delay(int(retries(row)), string(item.UID)+"/"+row.Destination)
	asked := min(retryAfter, backoff.MaxHint)
	if asked > wait && row.Failure != nil && row.Failure.Category == v1alpha1.CategoryRateLimit {
		// The other side is paused for exactly that long by its cool-down. Until that ends the
		// delivery stands in line, and must not be late for its turn.
		return &metav1.Time{Time: failedAt.Add(asked).Truncate(time.Second)}
	}
	return roundUp(failedAt.Add(max(wait, asked)))
}

// Queues reports for a delivery that waits for its time that it stands in line meanwhile: its
// destination asked for a pause, and when that ends, what was published first goes first.
func Queues(row *v1alpha1.Delivery) bool {
	return row.State == v1alpha1.DeliveryQueued && row.Failure != nil && row.Failure.Category == v1alpha1.CategoryRateLimit
}
