// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"cmp"
	"math"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/backoff"
	"github.com/feed-operator/feed-operator/internal/believable"
)

// Enqueue adds the deliveries of an item whose summary is written now. What there is already stays.
func Enqueue(item *v1alpha1.FeedItem, destinations []v1alpha1.DestinationReference) {
	for _, ref := range destinations {
		if RowOf(item, ref.Name) == nil {
			item.Status.Deliveries = append(item.Status.Deliveries, v1alpha1.Delivery{
				Destination: ref.Name, State: v1alpha1.DeliveryQueued, Key: DeliveryKey(item, ref.Name),
			})
		}
	}
}

// RowOf returns the delivery of an item to a destination, or nil.
func RowOf(item *v1alpha1.FeedItem, destination string) *v1alpha1.Delivery {
	for i := range item.Status.Deliveries {
		if item.Status.Deliveries[i].Destination == destination {
			return &item.Status.Deliveries[i]
		}
	}
	return nil
}

// DeliveryKey is what marks a post at its destination. It follows from the item and the destination's
// name, so that it is the same whoever makes it.
func DeliveryKey(item *v1alpha1.FeedItem, destination string) string {
	return keyOf(string(v1alpha1.OriginalUID(item)) + "/" + destination)
}

// anotherKey is the key that follows one which may be used up.
func anotherKey(key string) string { return keyOf(key) }

// Due returns when there is something to do for a delivery: to post it, or to find out what has become
// of it. Open is false when it has ended.
func Due(row *v1alpha1.Delivery, now time.Time) (at time.Time, open bool) {
	if row.Ended() {
		return time.Time{}, false
	}
	next := row.NextRetryTime
	if next == nil || !believable.Coming(next.Time, now, backoff.MaxHint) { // no rule of this package can have set it
		return time.Time{}, true
	}
	return next.Time, true
}

// nextDelivery returns the earliest time at which there is something to do for any delivery.
func nextDelivery(item *v1alpha1.FeedItem, now time.Time) (earliest time.Time, open bool) {
	for i := range item.Status.Deliveries {
		at, rowOpen := Due(&item.Status.Deliveries[i], now)
		if rowOpen && (!open || at.Before(earliest)) {
			earliest, open = at, true
		}
	}
	return earliest, open
}

// Intend notes that a delivery is about to be posted, in a call that ends within timeout. Whoever
// wrote this down may make the call.
func Intend(item *v1alpha1.FeedItem, destination, textHash string, timeout time.Duration, now time.Time) {
	row := RowOf(item, destination)
	if row.FirstAttemptTime == nil || row.State == v1alpha1.DeliveryQueued && uncertain(row) {
		row.FirstAttemptTime = &metav1.Time{Time: now.Truncate(time.Second)}
	}
	if MustLookUp(row) {
		row.Repeated = addBounded(row.Repeated, 1)
	}
	row.Failure = doubt(row, now)
	row.State = v1alpha1.DeliveryIntent
	row.TextHash = textHash
	row.NotAfter = roundUp(now.Add(timeout))
	row.NextRetryTime = &metav1.Time{Time: row.NotAfter.Add(SettleTime)}
	progress(item, now)
}

// Announced reports whether the intent of a post stands on a delivery, with the time after which it is not made any more.
func Announced(row *v1alpha1.Delivery) bool {
	return row != nil && row.State == v1alpha1.DeliveryIntent && row.NotAfter != nil
}

// Announces reports whether a change of an item announces a post that was not announced before.
func Announces(before, after *v1alpha1.FeedItem) bool {
	for i := range after.Status.Deliveries {
		row := &after.Status.Deliveries[i]
		if was := RowOf(before, row.Destination); Announced(row) && (!Announced(was) || !was.NotAfter.Equal(row.NotAfter)) {
			return true
		}
	}
	return false
}

// DeliveryOutcome is what one attempt at a delivery has come to. Exactly one of Posted, AlreadyPosted, Failure,
// Missing, Unverifiable, Protected, Dropped and Again is set.
type DeliveryOutcome struct {
	Destination string
	// Token is the item's retry token when the attempt began.
	Token string
	// Began is when the call began; the zero time where none was made.
	Began time.Time
	// NotAfter of the intent that the outcome belongs to; nil for a delivery that was not under way.
	NotAfter *metav1.Time
	// Posted is set if it was published, with the ID and the URL of the post.
	Posted  bool
	ID, URL string
	// Duplicate means that the receiver had it already, by its own answer.
	Duplicate bool
	// Repeated is how many calls were made again though the one before may have arrived.
	Repeated int32
	// AlreadyPosted means that the destination has a post of the entry, at URL, that another item has made.
	AlreadyPosted bool
	// Failure of the call. Uncertain means that it may have been published nevertheless.
	Failure   *v1alpha1.Failure
	Uncertain bool
	// Looking is set if the failed call was one that looked for the post.
	Looking bool
	// RetryAfter is how long the other side asked for a pause.
	RetryAfter time.Duration
	// Missing means that it was looked for, and was not published. Mistaken means that posts were passed
	// over because they are recorded on other items: one of them may have been made with the key of
	// this one, which is not used again then.
	Missing, Mistaken bool
	// Unverifiable means that it may have been published, that the other side cannot be asked, and that
	// its key does not protect it (any more).
	Unverifiable bool
	// Protected means that it may have been published, and that its key allows to post it again when
	// its time has come.
	Protected bool
	// FirstAttempt is when the batch that it was in was first tried, nil where it was in none; Batches is in how many it was before, and GivenUp
	// means that there may be no more attempts at that.
	FirstAttempt *metav1.Time
	Batches      int32
	GivenUp      bool
	// Dropped is set if it is not wanted any more.
	Dropped bool
	// Again is set if nothing was done that counts. Image is what has become of the image, if that is new; ImageAgain has it uploaded once more.
	Again, ImageAgain bool
	Image             *v1alpha1.DeliveryImage
	// RetryRequests that are known when the attempt ends: it serves them.
	RetryRequests RetryRequests
}

// SettleDelivery writes the outcome of an attempt at a delivery, that ended now, into the item's status. It returns false when the outcome does not
// belong there any more: the delivery has ended, or is under way by somebody else. A post that was made is always noted.
func SettleDelivery(item *v1alpha1.FeedItem, outcome DeliveryOutcome, policy DeliveryPolicy, now time.Time) bool {
	row := RowOf(item, outcome.Destination)
	if item.Status.Summary == nil || !outcome.belongsOn(row) {
		return false
	}
	before := *row
	outcome.noteRepetitions(row)
	if row.Image = cmp.Or(outcome.Image, row.Image); outcome.ImageAgain {
		row.Image = nil
	}
	switch {
	case outcome.Posted:
		made(row, outcome, now)
	case outcome.AlreadyPosted, outcome.Dropped:
		notMade(row, outcome)
	case outcome.Missing:
		if outcome.Mistaken {
			row.Key = anotherKey(row.Key)
		}
		notPublished(row, item, policy, now)
	case outcome.Unverifiable, outcome.Protected && policy.spent(row, now):
		abandon(row, item, now)
	case outcome.Protected:
		row.NextRetryTime = repeatAt(row, item, policy)
	case outcome.Again:
		if !uncertain(row) {
			row.State = v1alpha1.DeliveryQueued
			row.NextRetryTime = nil
		}
	default:
		failDelivery(row, item, outcome, policy, now)
	}
	outcome.RetryRequests.markServed(row, before.Failure, now)
	enterDelivery(&item.Status, &before, row, outcome, now)
	if outcome.Token == Token(item) { // a newer one is not handled by this
		noteToken(&item.Status, outcome.Token)
	}
	settleDeliveries(item, now)
	return true
}

// belongsOn reports whether a delivery still stands where the attempt began. A post that was made counts in any case.
func (o *DeliveryOutcome) belongsOn(row *v1alpha1.Delivery) bool {
	switch {
	case row == nil, row.State == v1alpha1.DeliveryDone:
		return false
	case !o.Posted && (row.Ended() || !sameIntent(row, o.NotAfter) || o.FirstAttempt != nil && row.Batches != o.Batches):
		return false // of a batch it was noted before, and somebody has asked for a retry since
	case o.Uncertain && row.Failure != nil && !uncertain(row):
		return false // it is noted already: only the answer of who has written it down was lost
	}
	return true
}

// noteRepetitions counts what was sent again though it may have arrived; and notes when the batch was tried that the delivery was in.
func (o *DeliveryOutcome) noteRepetitions(row *v1alpha1.Delivery) {
	again := o.Repeated
	if o.FirstAttempt != nil {
		row.Batches = addBounded(row.Batches, 1)
		if MustLookUp(row) { // a person has decided that it is sent again
			again++
		}
	}
	row.Repeated = addBounded(row.Repeated, again)
	if row.FirstAttemptTime == nil {
		row.FirstAttemptTime = o.FirstAttempt.DeepCopy()
	}
}

// made ends a delivery that has arrived.
func made(row *v1alpha1.Delivery, outcome DeliveryOutcome, now time.Time) {
	row.State = v1alpha1.DeliveryDone
	row.ID, row.URL, row.Duplicate = outcome.ID, outcome.URL, outcome.Duplicate
	row.Time = &metav1.Time{Time: now}
	row.NextRetryTime, row.Failure = nil, nil
}

// notMade ends a delivery that is not to be made.
func notMade(row *v1alpha1.Delivery, outcome DeliveryOutcome) {
	row.State, row.NextRetryTime = v1alpha1.DeliveryDropped, nil
	if outcome.AlreadyPosted {
		alreadyMade(row, outcome.URL)
	}
}

// alreadyMade ends a delivery to a destination that has a post of the entry.
func alreadyMade(row *v1alpha1.Delivery, url string) {
	row.State, row.URL = v1alpha1.DeliveryAlreadyPosted, url
	row.NextRetryTime, row.Failure = nil, nil
}

func sameIntent(row *v1alpha1.Delivery, notAfter *metav1.Time) bool {
	if notAfter == nil {
		return row.State == v1alpha1.DeliveryQueued
	}
	return row.State == v1alpha1.DeliveryIntent && row.NotAfter.Equal(notAfter)
}

// failDelivery counts a failed attempt. One that may have been published stays an intent, until somebody has looked.
func failDelivery(row *v1alpha1.Delivery, item *v1alpha1.FeedItem, outcome DeliveryOutcome, policy DeliveryPolicy, now time.Time) {
	repeated, doubtful := row.FailedAttempts > 0, uncertain(row)
	row.FailedAttempts = addBounded(row.FailedAttempts, 1)
	row.Failure = outcome.Failure.DeepCopy()
	if row.Failure.Category == v1alpha1.CategoryUnknown {
		row.Failure.Retryable = !repeated // R3.2
	}
	switch {
	case outcome.Looking:
		row.Failure.Retryable = true // it must be known, whatever it takes
		if policy.lookupsExhausted(row) {
			abandon(row, item, now)
			return
		}
		if doubtful && row.State == v1alpha1.DeliveryQueued {
			row.Failure.Type = TypeUncertain // it is still to be looked for
		}
		row.NextRetryTime = policy.next(row, item, outcome.RetryAfter, now)
	case outcome.Uncertain, doubtful && row.State == v1alpha1.DeliveryIntent:
		if outcome.Uncertain && row.Failure.Category != v1alpha1.CategoryUnknown {
			row.Failure.Retryable = true
		}
		row.NextRetryTime = &metav1.Time{Time: settledAt(row, now)}
		if asked := roundUp(now.Add(min(outcome.RetryAfter, backoff.MaxHint))); row.NextRetryTime.Before(asked) {
			row.NextRetryTime = asked
		}
	case outcome.GivenUp, policy.spent(row, now):
		giveUp(row)
	default:
		row.State = v1alpha1.DeliveryQueued
		row.NextRetryTime = policy.next(row, item, outcome.RetryAfter, now)
	}
	noteFailure(item, now)
}

// notPublished is for a delivery of which it is now known that it was not published. If its call had
// failed, it waits as long as any that has failed; if nobody saw the end of the call, it is due now.
func notPublished(row *v1alpha1.Delivery, item *v1alpha1.FeedItem, policy DeliveryPolicy, now time.Time) {
	if row.State == v1alpha1.DeliveryQueued { // it was given up and retried, and starts anew
		row.FirstAttemptTime = nil
	}
	row.State = v1alpha1.DeliveryQueued
	switch {
	case row.Failure == nil, uncertain(row):
		row.NextRetryTime, row.Failure = nil, nil
	case policy.spent(row, now):
		giveUp(row)
	default:
		failedAt := row.Failure.Time.Time
		if !believable.Past(failedAt, now) {
			failedAt = now
		}
		row.NextRetryTime = policy.next(row, item, 0, failedAt)
		if row.NextRetryTime.Time.Before(now) {
			row.NextRetryTime = roundUp(now)
		}
	}
}

// addBounded adds to a counter of the status, which stops where the type does.
func addBounded(count, more int32) int32 { return count + min(more, math.MaxInt32-count) }

func giveUp(row *v1alpha1.Delivery) {
	row.State = v1alpha1.DeliveryDead
	row.NextRetryTime = nil
}

func noteFailure(item *v1alpha1.FeedItem, now time.Time) {
	if item.Status.FirstFailureTime == nil {
		item.Status.FirstFailureTime = &metav1.Time{Time: now}
	}
	item.Status.LastFailureTime = &metav1.Time{Time: now}
}

// refused reports whether a delivery was given up because the destination refuses the credentials.
func refused(row *v1alpha1.Delivery) bool {
	return row.State == v1alpha1.DeliveryDead && row.Failure != nil && row.Failure.Category == v1alpha1.CategoryAuth
}
