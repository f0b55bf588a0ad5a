// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/backoff"
	"github.com/feed-operator/feed-operator/internal/believable"
)

// SettleTime is how long after the end of a call whose outcome is unknown nobody looks for its
// post or makes it again: a server may publish after the connection died, and an operator that was
// replaced may still be in the call.
const SettleTime = 30 * time.Second

// TrustKeyFor is how long after the first attempt a post may be sent again in the trust that the
// other side honours its key. Mastodon remembers keys for an hour.
const TrustKeyFor = 50 * time.Minute

// TypeUncertain is the type of the failure of a delivery of which nobody can say whether it was
// published.
const TypeUncertain = string(v1alpha1.ReasonDeliveryUncertain)

// MustLookUp reports whether a delivery may have been published already, so that the other side has to be
// asked before it is posted.
func MustLookUp(row *v1alpha1.Delivery) bool {
	return row.State == v1alpha1.DeliveryIntent || row.State == v1alpha1.DeliveryQueued && uncertain(row)
}

// MayRepeat reports for a delivery that may have been published, and where the other side cannot be
// asked, that it may be posted again because its key protects it. It has been known to be attempted for some time, whatever time
// it is: now may be by a clock that was set back since.
func MayRepeat(row *v1alpha1.Delivery, keyHonoured bool, now time.Time, known time.Duration) bool {
	if row.State == v1alpha1.DeliveryQueued { // a person has looked, and wants it posted
		return true
	}
	first := row.FirstAttemptTime
	return keyHonoured && first != nil && believable.Past(first.Time, now) && now.Before(first.Add(TrustKeyFor)) && known < TrustKeyFor
}

// repeatAt is when a delivery that may have been published, and is protected by its key, is posted
// again: after a failed call, when the retry policy says so.
func repeatAt(row *v1alpha1.Delivery, item *v1alpha1.FeedItem, policy DeliveryPolicy) *metav1.Time {
	if row.Failure == nil {
		return row.NextRetryTime
	}
	next := policy.next(row, item, 0, row.Failure.Time.Time)
	if row.NextRetryTime != nil && next.Before(row.NextRetryTime) {
		return row.NextRetryTime
	}
	return next
}

// Postpones reports whether a delivery that may have been published, and is protected by its key, is not
// to be posted again yet, or not any more.
func Postpones(row *v1alpha1.Delivery, item *v1alpha1.FeedItem, policy DeliveryPolicy, now time.Time) bool {
	at := repeatAt(row, item, policy)
	return row.State == v1alpha1.DeliveryIntent && (policy.spent(row, now) || at != nil && at.After(now) && believable.Coming(at.Time, now, backoff.MaxHint))
}

// doubt is what is to be remembered of a delivery while it is posted again in the trust in its key:
// whatever comes of this call, one before it may have published it.
func doubt(row *v1alpha1.Delivery, now time.Time) *v1alpha1.Failure {
	if row.State != v1alpha1.DeliveryIntent {
		return nil
	}
	return &v1alpha1.Failure{
		Category: v1alpha1.CategoryUnknown, Type: TypeUncertain, Retryable: true,
		Message: "An earlier attempt may have been published",
		Stage:   v1alpha1.StageDeliver, Object: row.Destination, Time: metav1.NewTime(now),
	}
}

// AttemptedSince returns the earliest time at which a delivery of an item can have been attempted, by a clock that is not more than a
// day ahead. A time that is noted and cannot be counts as none: then it is the item's creation, which is noted by the API
// server, and where that has not come yet either, now.
func AttemptedSince(item *v1alpha1.FeedItem, row *v1alpha1.Delivery, now time.Time) time.Time {
	const aDay = 24 * time.Hour // by so much the clock of whoever noted it may have been behind
	first, created := row.FirstAttemptTime, v1alpha1.Created(item).Time
	if !believable.Past(created, now) {
		created = now
	}
	switch {
	case first == nil, !believable.Past(first.Time, now), first.Add(aDay).Before(created):
		return created
	}
	return first.Time
}

// CheckedAt returns when an item was last worked on, or its creation time where what is noted has not come yet.
func CheckedAt(item *v1alpha1.FeedItem, now time.Time) time.Time {
	if last := item.LastCheck().Time; believable.Past(last, now) {
		return last
	}
	return v1alpha1.Created(item).Time
}

// abandon ends a delivery of which nobody can say whether it was published.
func abandon(row *v1alpha1.Delivery, item *v1alpha1.FeedItem, now time.Time) {
	message := "Unknown whether this was posted to " + row.Destination + ": no answer says so, and what was posted " +
		"there could not be looked up. Look there before you retry it"
	failed := &v1alpha1.Failure{
		Category: v1alpha1.CategoryUnknown, Type: TypeUncertain, Message: message,
		Stage: v1alpha1.StageDeliver, Object: row.Destination, Time: metav1.NewTime(now),
	}
	if row.Failure != nil {
		failed.HTTPStatus, failed.Chain = row.Failure.HTTPStatus, []string{row.Failure.Message}
		if runes := []rune(row.Failure.Message); len(runes) > 200 {
			failed.Chain[0] = string(runes[:200])
		}
	}
	row.Failure = failed
	giveUp(row)
	noteFailure(item, now)
}

// settledAt is from when on a delivery that may have been published is looked for.
func settledAt(row *v1alpha1.Delivery, now time.Time) time.Time {
	if row.NotAfter == nil || !believable.Coming(row.NotAfter.Time, now, backoff.MaxHint) { // somebody has edited it, or had a wrong clock
		return time.Time{}
	}
	return row.NotAfter.Add(SettleTime)
}

func uncertain(row *v1alpha1.Delivery) bool {
	return row.Failure != nil && row.Failure.Type == TypeUncertain
}
