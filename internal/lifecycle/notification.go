// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"crypto/sha256"
	"encoding/hex"
	"math"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/backoff"
	"github.com/feed-operator/feed-operator/internal/believable"
)

// MaxNotificationAttempts is how many failed attempts make a notification be given up.
const MaxNotificationAttempts = 5

// notificationRetries is when a notification that failed is tried again: after 1, 2, 4 and 8 minutes, all within
// the hour for which servers remember a key.
var notificationRetries = backoff.Policy{InitialDelay: time.Minute, MaxDelay: 10 * time.Minute, Multiplier: 2}

// DeadLetter reports whether an item has failed for good since its status was the one before: also one
// that had failed, was retried, and has failed again in one write.
func DeadLetter(before *v1alpha1.FeedItemStatus, item *v1alpha1.FeedItem) bool {
	return item.Status.Phase == v1alpha1.PhaseFailed &&
		(before.Phase != v1alpha1.PhaseFailed || !before.LastFailureTime.Equal(item.Status.LastFailureTime))
}

// Notify queues the notifications of an item that has failed for good, one to each destination, in place of those
// of its failure before.
func Notify(item *v1alpha1.FeedItem, destinations []string) {
	var rows []v1alpha1.Notification
	for _, name := range destinations {
		key := notificationKey(item, name)
		if told := NotificationTo(item, name); told != nil && told.Key == key {
			rows = append(rows, *told)
			continue
		}
		rows = append(rows, v1alpha1.Notification{Destination: name, State: v1alpha1.NotificationQueued, Key: key})
	}
	item.Status.Notifications = rows
}

// notificationKey is what marks the notification of this failure of an item at its destination.
func notificationKey(item *v1alpha1.FeedItem, destination string) string {
	failure := ""
	if item.Status.LastFailureTime != nil {
		failure = item.Status.LastFailureTime.UTC().Format(time.RFC3339Nano) + "/" + item.Status.LastHandledRetry
	}
	return keyOf("notification/" + string(v1alpha1.OriginalUID(item)) + "/" + destination + "/" + failure)
}

// keyOf is what marks a notification at its destination, the same for all its attempts.
func keyOf(of string) string {
	sum := sha256.Sum256([]byte(of))
	return hex.EncodeToString(sum[:16])
}

// NotificationTo returns the notification of an item to a destination, or nil.
func NotificationTo(item *v1alpha1.FeedItem, destination string) *v1alpha1.Notification {
	for i := range item.Status.Notifications {
		if item.Status.Notifications[i].Destination == destination {
			return &item.Status.Notifications[i]
		}
	}
	return nil
}

// NotificationDue returns when a notification is to be sent. Open is false when it has ended.
func NotificationDue(row *v1alpha1.Notification, now time.Time) (at time.Time, open bool) {
	if row.State != v1alpha1.NotificationQueued {
		return time.Time{}, false
	}
	next := row.NextRetryTime
	if next == nil || !believable.Coming(next.Time, now, backoff.MaxHint) { // no rule of this package can have set it
		return time.Time{}, true
	}
	return next.Time, true
}

// OpenNotifications returns the notifications that are still to be sent, with what Next asks about them
// only.
func OpenNotifications(item *v1alpha1.FeedItem) []v1alpha1.Notification {
	var open []v1alpha1.Notification
	for i := range item.Status.Notifications {
		row := &item.Status.Notifications[i]
		if item.Status.Phase == v1alpha1.PhaseFailed && row.State == v1alpha1.NotificationQueued {
			open = append(open, v1alpha1.Notification{Destination: row.Destination, State: row.State, NextRetryTime: row.NextRetryTime})
		}
	}
	return open
}

// afterwards is what is still to be done with a finished item: it may have to be told of.
func afterwards(item *v1alpha1.FeedItem, now time.Time) Step {
	step := Step{Action: Rest}
	for _, row := range OpenNotifications(item) {
		at, _ := NotificationDue(&row, now)
		if !at.After(now) {
			return Step{Action: SendNotifications}
		}
		if step.Action == Rest || at.Before(step.Until) {
			step = Step{Action: Wait, Until: at}
		}
	}
	return step
}

// NotificationOutcome is what one attempt at a notification has come to. Exactly one of Sent, Failure
// and Unwanted is set.
type NotificationOutcome struct {
	Destination string
	// Key and FailedAttempts of the notification when the attempt began.
	Key            string
	FailedAttempts int32
	// Began is when the call was made.
	Began time.Time
	// Sent is set if it was posted, with the ID and the URL of the post.
	Sent    bool
	ID, URL string
	// Failure of the attempt; not retryable where another one would meet it again.
	Failure *v1alpha1.Failure
	// RetryAfter is how long the other side asked for a pause.
	RetryAfter time.Duration
	// Unwanted is set if nobody names the destination any more.
	Unwanted bool
}

// SettleNotification writes the outcome of an attempt at a notification, that ended now, into the item's
// status; it changes nothing else there. It returns false when the outcome does not belong there any
// more: the item was revived, or the attempt is noted already.
func SettleNotification(item *v1alpha1.FeedItem, outcome NotificationOutcome, now time.Time) bool {
	row := NotificationTo(item, outcome.Destination)
	if row == nil || !outcome.belongsTo(row) {
		return false
	}
	if outcome.Unwanted {
		item.Status.Notifications = slices.DeleteFunc(item.Status.Notifications, func(other v1alpha1.Notification) bool {
			return other.Destination == outcome.Destination
		})
		return true
	}
	outcome.note(row, string(item.UID), now)
	enterNotification(&item.Status, row, outcome.Began, now)
	return true
}

// belongsTo reports whether a notification still stands where the attempt began. A success counts also after another
// failure was noted.
func (o *NotificationOutcome) belongsTo(row *v1alpha1.Notification) bool {
	return row.Key == o.Key && row.State == v1alpha1.NotificationQueued && (o.Sent || row.FailedAttempts == o.FailedAttempts)
}

// note writes on a notification what an attempt has come to. Owner is the UID of what it is on.
func (o *NotificationOutcome) note(row *v1alpha1.Notification, owner string, now time.Time) {
	if o.Sent {
		row.State, row.ID, row.URL = v1alpha1.NotificationDone, o.ID, o.URL
		row.Time = &metav1.Time{Time: now}
		row.NextRetryTime, row.Failure = nil, nil
		return
	}
	if row.FailedAttempts < math.MaxInt32 {
		row.FailedAttempts++
	}
	row.Failure = o.Failure.DeepCopy()
	if !row.Failure.Retryable || row.FailedAttempts >= MaxNotificationAttempts {
		row.Failure.Retryable = false
		row.State, row.Time, row.NextRetryTime = v1alpha1.NotificationFailed, &metav1.Time{Time: now}, nil
		return
	}
	wait := notificationRetries.Delay(int(row.FailedAttempts)-1, owner+"/notify/"+row.Destination)
	row.NextRetryTime = roundUp(now.Add(max(wait, min(o.RetryAfter, backoff.MaxHint))))
}

// dropNotifications takes back what was not sent of the failure of an item that is worked on again.
func dropNotifications(item *v1alpha1.FeedItem) {
	var ended []v1alpha1.Notification
	for _, row := range item.Status.Notifications {
		if row.State != v1alpha1.NotificationQueued {
			ended = append(ended, row)
		}
	}
	item.Status.Notifications = ended
}

// DueNow notes on the notifications of an item that are to be sent that this is so from now on. It reports whether that has changed
// anything.
func DueNow(item *v1alpha1.FeedItem, now time.Time) (changed bool) {
	for i := range item.Status.Notifications {
		row := &item.Status.Notifications[i]
		at, open := NotificationDue(row, now)
		if !open || at.After(now) || row.NextRetryTime != nil && row.NextRetryTime.Time.Equal(now.Truncate(time.Second)) {
			continue
		}
		row.NextRetryTime, changed = &metav1.Time{Time: now.Truncate(time.Second)}, true
	}
	return changed
}
