// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
)

// deadLetter is an item that has failed for good, and is to be told of.
func deadLetter(destinations ...string) *v1alpha1.FeedItem {
	item := newItem()
	lifecycle.Settle(item, lifecycle.Outcome{Failure: failure(v1alpha1.CategoryValidation, false)}, usual, created)
	lifecycle.Notify(item, destinations)
	return item
}

// notified is the outcome of an attempt at the notification of an item.
func notified(item *v1alpha1.FeedItem, destination string, change ...func(*lifecycle.NotificationOutcome)) lifecycle.NotificationOutcome {
	row := lifecycle.NotificationTo(item, destination)
	outcome := lifecycle.NotificationOutcome{Destination: destination, Key: row.Key, FailedAttempts: row.FailedAttempts}
	for _, c := range change {
		c(&outcome)
	}
	return outcome
}

func sent(outcome *lifecycle.NotificationOutcome)     { outcome.Sent, outcome.ID = true, "7" }
func unwanted(outcome *lifecycle.NotificationOutcome) { outcome.Unwanted = true }
func notSent(outcome *lifecycle.NotificationOutcome)  { outcome.Failure = failure("API", true) }
func refusedIt(outcome *lifecycle.NotificationOutcome) {
	outcome.Failure = failure(v1alpha1.CategoryValidation, false)
}

// Whatever ends an item as a dead letter is one; what ends it otherwise is none.
//
// R2.2, R3.10
func TestWhatIsADeadLetter(t *testing.T) {
	t.Parallel()
	for name, s := range stories() {
		if got := lifecycle.DeadLetter(&v1alpha1.FeedItemStatus{Phase: v1alpha1.PhasePending}, s.tell(t)); got != (s.phase == v1alpha1.PhaseFailed) {
			t.Errorf("%s: %s/%s, dead letter: %t", name, s.phase, s.reason, got)
		}
	}
	if item := deadLetter(); lifecycle.DeadLetter(item.Status.DeepCopy(), item) {
		t.Error("an item that had failed before has failed again")
	}
	again := deadLetter() // it was released and has failed again, in one write
	before := again.Status.DeepCopy()
	again.Status.LastFailureTime = &metav1.Time{Time: before.LastFailureTime.Add(time.Hour)}
	if !lifecycle.DeadLetter(before, again) {
		t.Error("an item that has failed once more is no dead letter")
	}
}

// R3.10
func TestNextAfterAFailure(t *testing.T) {
	t.Parallel()
	queued := func(next *metav1.Time) v1alpha1.Notification {
		return v1alpha1.Notification{Destination: here, State: v1alpha1.NotificationQueued, NextRetryTime: next}
	}
	at := func(after time.Duration) *metav1.Time { return &metav1.Time{Time: created.Add(after)} }
	for name, test := range map[string]struct {
		item *v1alpha1.FeedItem
		rows []v1alpha1.Notification
		want lifecycle.Step
	}{
		"nobody is to be told":              {newItem(phase(v1alpha1.PhaseFailed)), nil, lifecycle.Step{Action: lifecycle.Rest}},
		"a new notification is sent":        {newItem(phase(v1alpha1.PhaseFailed)), []v1alpha1.Notification{queued(nil)}, lifecycle.Step{Action: lifecycle.SendNotifications}},
		"one that failed waits":             {newItem(phase(v1alpha1.PhaseFailed)), []v1alpha1.Notification{queued(at(time.Minute))}, lifecycle.Step{Action: lifecycle.Wait, Until: created.Add(time.Minute)}},
		"and is sent when it is due":        {newItem(phase(v1alpha1.PhaseFailed)), []v1alpha1.Notification{queued(at(0))}, lifecycle.Step{Action: lifecycle.SendNotifications}},
		"a time that cannot be is not kept": {newItem(phase(v1alpha1.PhaseFailed)), []v1alpha1.Notification{queued(at(1000 * time.Hour))}, lifecycle.Step{Action: lifecycle.SendNotifications}},
		"the earliest is waited for": {
			newItem(phase(v1alpha1.PhaseFailed)),
			[]v1alpha1.Notification{queued(at(time.Hour)), queued(at(time.Minute)), queued(at(2 * time.Hour))},
			lifecycle.Step{Action: lifecycle.Wait, Until: created.Add(time.Minute)},
		},
		"what is done waits for nobody": {newItem(phase(v1alpha1.PhaseFailed)), []v1alpha1.Notification{
			{Destination: here, State: v1alpha1.NotificationDone}, {Destination: there, State: v1alpha1.NotificationFailed},
		}, lifecycle.Step{Action: lifecycle.Rest}},
		"an item that came through is not told of": {newItem(phase(v1alpha1.PhaseProcessed), summarized), []v1alpha1.Notification{queued(nil)}, lifecycle.Step{Action: lifecycle.Rest}},
		"one that is worked on neither":            {newItem(), []v1alpha1.Notification{queued(nil)}, lifecycle.Step{Action: lifecycle.Summarize}},
		"a person goes first":                      {newItem(phase(v1alpha1.PhaseFailed), token("1")), []v1alpha1.Notification{queued(nil)}, lifecycle.Step{Action: lifecycle.Reset}},
	} {
		test.item.Status.Notifications = test.rows
		if diff := cmp.Diff(test.want, lifecycle.Next(test.item, created)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
		// What the cache keeps of a finished item leads to the same.
		test.item.Status.Notifications = lifecycle.OpenNotifications(test.item)
		if diff := cmp.Diff(test.want, lifecycle.Next(test.item, created)); diff != "" {
			t.Errorf("%s, of the cached item (-want +got)\n%s", name, diff)
		}
	}
}

// R3.10: five failed attempts, 1, 2, 4 and 8 minutes apart, or one that no other would cure.
func TestANotificationIsGivenUp(t *testing.T) {
	t.Parallel()
	item, now := deadLetter(here, there), created
	for attempt := range 5 {
		if step := lifecycle.Next(item, now); step.Action != lifecycle.SendNotifications {
			t.Fatalf("attempt %d: %+v", attempt+1, step)
		}
		if !lifecycle.SettleNotification(item, notified(item, here, notSent), now) {
			t.Fatal("not settled")
		}
		row := lifecycle.NotificationTo(item, here)
		if attempt == 4 {
			if row.State != v1alpha1.NotificationFailed || row.NextRetryTime != nil || row.Time == nil || row.Failure.Retryable {
				t.Errorf("given up: %+v", row)
			}
			break
		}
		promised := time.Minute << attempt
		if wait := row.NextRetryTime.Sub(now); wait < promised || wait > promised*6/5+time.Second {
			t.Errorf("after %d failures it waits %s", attempt+1, wait)
		}
		now = row.NextRetryTime.Time
	}
	if !lifecycle.SettleNotification(item, notified(item, there, refusedIt), now) || lifecycle.NotificationTo(item, there).State != v1alpha1.NotificationFailed {
		t.Errorf("refused: %+v", lifecycle.NotificationTo(item, there))
	}
	if step := lifecycle.Next(item, now.Add(time.Hour)); step.Action != lifecycle.Rest {
		t.Errorf("then %+v", step)
	}
}

// R3.4, R3.10: who asks to be left alone is left alone, but not for ever.
func TestANotificationWaitsAsLongAsItIsAsked(t *testing.T) {
	t.Parallel()
	for asked, want := range map[time.Duration]time.Duration{3 * time.Hour: 3 * time.Hour, 10_000 * time.Hour: 7 * 24 * time.Hour} {
		item := deadLetter(here)
		lifecycle.SettleNotification(item, notified(item, here, notSent, func(o *lifecycle.NotificationOutcome) { o.RetryAfter = asked }), created)
		if got := lifecycle.NotificationTo(item, here).NextRetryTime.Sub(created); got != want {
			t.Errorf("asked for %s: waits %s", asked, got)
		}
	}
}

// An outcome is noted on the notification that it belongs to, and nowhere else.
//
// R3.10
func TestWhereTheOutcomeOfANotificationBelongs(t *testing.T) {
	t.Parallel()
	later := created.Add(time.Minute)
	for name, test := range map[string]struct {
		meanwhile func(*testing.T, *v1alpha1.FeedItem, lifecycle.NotificationOutcome)
		change    func(*lifecycle.NotificationOutcome)
		noted     bool
		left      int
	}{
		"a success is noted":       {nil, sent, true, 2},
		"a failure is noted":       {nil, notSent, true, 2},
		"what is unwanted is gone": {nil, unwanted, true, 1},
		"a failure counts once": {func(_ *testing.T, item *v1alpha1.FeedItem, outcome lifecycle.NotificationOutcome) {
			lifecycle.SettleNotification(item, outcome, created)
		}, notSent, false, 2},
		"a success that comes after another failure is noted": {func(_ *testing.T, item *v1alpha1.FeedItem, _ lifecycle.NotificationOutcome) {
			lifecycle.SettleNotification(item, notified(item, here, notSent), created)
		}, sent, true, 2},
		"an item that was brought back has none": {func(t *testing.T, item *v1alpha1.FeedItem, _ lifecycle.NotificationOutcome) {
			t.Helper()
			release(t, item, "again", created)
		}, sent, false, 0},
		"one that has failed again has others": {func(t *testing.T, item *v1alpha1.FeedItem, _ lifecycle.NotificationOutcome) {
			t.Helper()
			release(t, item, "again", created)
			lifecycle.Settle(item, lifecycle.Outcome{Failure: failure(v1alpha1.CategoryValidation, false)}, usual, created)
			lifecycle.Notify(item, []string{here})
		}, sent, false, 1},
	} {
		item := deadLetter(here, there)
		outcome := notified(item, here, test.change)
		if test.meanwhile != nil {
			test.meanwhile(t, item, outcome)
		}
		if got := lifecycle.SettleNotification(item, outcome, later); got != test.noted || len(item.Status.Notifications) != test.left {
			t.Errorf("%s: noted %t, left %+v", name, got, item.Status.Notifications)
		}
	}
}

// R3.10: a notification changes nothing about the item but its own row.
func TestNotificationsLeaveTheItemAlone(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		item, now := deadLetter(here, there), created
		want := item.DeepCopy()
		want.Status.Notifications = nil
		for range rapid.IntRange(0, 20).Draw(t, "attempts") {
			now = now.Add(time.Duration(rapid.IntRange(0, 1000).Draw(t, "seconds")) * time.Second)
			name := rapid.SampledFrom([]string{here, there}).Draw(t, "destination")
			if lifecycle.NotificationTo(item, name) == nil {
				continue
			}
			change := rapid.SampledFrom([]func(*lifecycle.NotificationOutcome){notSent, notSent, notSent, sent, refusedIt, unwanted}).Draw(t, "outcome")
			lifecycle.SettleNotification(item, notified(item, name, change), now)
			for i := range item.Status.Notifications {
				if row := &item.Status.Notifications[i]; row.FailedAttempts > 5 || row.State != v1alpha1.NotificationQueued && row.NextRetryTime != nil {
					t.Fatalf("%+v", row)
				}
			}
			got := item.DeepCopy()
			got.Status.Notifications, got.Status.History = nil, want.Status.History
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatal(diff)
			}
		}
	})
}
