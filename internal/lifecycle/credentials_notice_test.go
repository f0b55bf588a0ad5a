// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
)

// refusing is a service that refuses some credentials, and tells so.
func refusing(refused string, destinations ...string) *v1alpha1.ServiceStatus {
	status := &v1alpha1.ServiceStatus{}
	lifecycle.QueueCredentialsNotices(status, "service", refused, destinations)
	return status
}

// noticed is the outcome of an attempt at a notice.
func noticed(status *v1alpha1.ServiceStatus, destination string, change func(*lifecycle.NotificationOutcome)) lifecycle.NotificationOutcome {
	row := lifecycle.CredentialsNoticeTo(status, destination)
	outcome := lifecycle.NotificationOutcome{Destination: destination, Key: row.Key, FailedAttempts: row.FailedAttempts}
	change(&outcome)
	return outcome
}

// R3.8: a refusal is told to each destination once, under one key, through a cure and an operator that is cut off; other
// credentials are another refusal.
func TestARefusalIsToldOnce(t *testing.T) {
	t.Parallel()
	status := refusing("key 1", here)
	first := lifecycle.CredentialsNoticeTo(status, here).Key
	if again := refusing("key 1", here); lifecycle.CredentialsNoticeTo(again, here).Key != first {
		t.Error("a notice that is queued again has another key")
	}
	lifecycle.SettleCredentialsNotice(status, "service", noticed(status, here, sent), created)
	lifecycle.QueueCredentialsNotices(status, "service", "key 1", []string{here, there})
	if row := lifecycle.CredentialsNoticeTo(status, here); row.State != v1alpha1.NotificationDone || row.ID != "7" || row.Time == nil {
		t.Errorf("told: %+v", row)
	}
	if row := lifecycle.CredentialsNoticeTo(status, there); row.State != v1alpha1.NotificationQueued || row.Key == first {
		t.Errorf("to be told: %+v", row)
	}
	lifecycle.DropCredentialsNotices(status)
	if lifecycle.CredentialsNoticeTo(status, there) != nil {
		t.Error("what is cured is told of")
	}
	lifecycle.QueueCredentialsNotices(status, "service", "key 1", []string{here})
	if row := lifecycle.CredentialsNoticeTo(status, here); row.State != v1alpha1.NotificationDone {
		t.Errorf("told twice: %+v", row)
	}
	lifecycle.QueueCredentialsNotices(status, "service", "key 2", []string{there})
	if row := lifecycle.CredentialsNoticeTo(status, there); len(status.CredentialsNotices) != 1 || row.State != v1alpha1.NotificationQueued || row.Refused != "key 2" {
		t.Errorf("another key: %+v", status.CredentialsNotices)
	}
}

// R3.8: what an older version has noted was told by an item: it says no state, which the API server reads as Done.
func TestWhatAnItemHasToldIsNotToldAgain(t *testing.T) {
	t.Parallel()
	for _, state := range []v1alpha1.NotificationState{v1alpha1.NotificationDone, ""} {
		status := &v1alpha1.ServiceStatus{CredentialsNotices: []v1alpha1.CredentialsNotice{{
			Notification: v1alpha1.Notification{Destination: here, State: state}, Refused: "key",
		}}}
		lifecycle.QueueCredentialsNotices(status, "service", "key", []string{here})
		if _, open := lifecycle.NotificationDue(&status.CredentialsNotices[0].Notification, created); open || len(status.CredentialsNotices) != 1 {
			t.Errorf("state %q: %+v", state, status.CredentialsNotices)
		}
	}
}

// R3.10: an attempt at a notice counts once, for the notice that it was made for; five that fail are the end.
func TestWhereTheOutcomeOfANoticeBelongs(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		meanwhile func(*v1alpha1.ServiceStatus, lifecycle.NotificationOutcome)
		change    func(*lifecycle.NotificationOutcome)
		noted     bool
		left      int
	}{
		"a success is noted":       {nil, sent, true, 2},
		"a failure is noted":       {nil, notSent, true, 2},
		"what is unwanted is gone": {nil, unwanted, true, 1},
		"a failure counts once": {func(status *v1alpha1.ServiceStatus, outcome lifecycle.NotificationOutcome) {
			lifecycle.SettleCredentialsNotice(status, "service", outcome, created)
		}, notSent, false, 2},
		"a success that comes after another failure is noted": {func(status *v1alpha1.ServiceStatus, _ lifecycle.NotificationOutcome) {
			lifecycle.SettleCredentialsNotice(status, "service", noticed(status, here, notSent), created)
		}, sent, true, 2},
		"a cure has taken it back": {func(status *v1alpha1.ServiceStatus, _ lifecycle.NotificationOutcome) {
			lifecycle.DropCredentialsNotices(status)
		}, sent, false, 0},
		"other credentials are refused": {func(status *v1alpha1.ServiceStatus, _ lifecycle.NotificationOutcome) {
			lifecycle.QueueCredentialsNotices(status, "service", "key 2", []string{here})
		}, sent, false, 1},
	} {
		status := refusing("key 1", here, there)
		outcome := noticed(status, here, test.change)
		if test.meanwhile != nil {
			test.meanwhile(status, outcome)
		}
		got := lifecycle.SettleCredentialsNotice(status, "service", outcome, created.Add(time.Minute))
		if got != test.noted || len(status.CredentialsNotices) != test.left {
			t.Errorf("%s: noted %t, left %+v", name, got, status.CredentialsNotices)
		}
	}
	status := refusing("key", here)
	for range lifecycle.MaxNotificationAttempts {
		lifecycle.SettleCredentialsNotice(status, "service", noticed(status, here, notSent), created)
	}
	if row := lifecycle.CredentialsNoticeTo(status, here); row.State != v1alpha1.NotificationFailed || row.NextRetryTime != nil || row.Time == nil {
		t.Errorf("after %d attempts: %+v", lifecycle.MaxNotificationAttempts, row)
	}
}

// A refusal is told to 64 destinations at most: the list is bounded, whoever names them.
func TestARefusalIsToldToSoManyAtMost(t *testing.T) {
	t.Parallel()
	var names []string
	for i := range v1alpha1.MaxCredentialsNotices + 1 {
		names = append(names, fmt.Sprintf("destination-%d", i))
	}
	if got := len(refusing("key", names...).CredentialsNotices); got != v1alpha1.MaxCredentialsNotices {
		t.Errorf("%d notices", got)
	}
}
