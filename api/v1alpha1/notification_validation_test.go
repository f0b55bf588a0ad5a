// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"fmt"
	"testing"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
)

// aNotification is the least that a notification says.
var aNotification = map[string]any{"status.notifications[].destination": "admin", "status.notifications[].state": "Queued"}

func notification(i int) any {
	return map[string]any{"destination": fmt.Sprintf("destination-%d", i), "state": "Queued"}
}

// notificationRules are those of the notifications of an item (R3.10).
var notificationRules = merge(failureRules("FeedItem", "status.notifications[].failure", aNotification), map[string]rule{
	"up to four destinations are each notified once": lists("FeedItem", "status.notifications", 4, notification).unique(notification(0)),
	"a notification names its destination":           mandatory("FeedItem", "status.notifications[].destination", 253).beside(aNotification),
	"a notification is in one of three states":       choices("FeedItem", "status.notifications[].state", "Queued", "Done", "Failed").beside(aNotification),
	"a notification has failed 0 or more times":      counts("FeedItem", "status.notifications[].failedAttempts", 0).beside(aNotification),
	"a notification's key has up to 64 characters":   texts("FeedItem", "status.notifications[].key", false, 64).beside(aNotification),
	"a notification's ID has up to 128 characters":   texts("FeedItem", "status.notifications[].id", false, 128).beside(aNotification),
	"a notification's URL has up to 2,048 letters":   texts("FeedItem", "status.notifications[].url", false, 2048).beside(aNotification),
})

// R3.10: a Mastodon account is told of failures only where few can read it.
func TestWhoMayBeToldOfFailures(t *testing.T) {
	t.Parallel()
	for visibility, want := range map[v1alpha1.Visibility]bool{
		"direct": true, "private": true, "unlisted": false, "public": false,
		"": false, // what the account is set to, which is public as a rule
	} {
		described := &v1alpha1.FeedDestination{Spec: v1alpha1.FeedDestinationSpec{Mastodon: &v1alpha1.MastodonDestination{Visibility: visibility}}}
		if got := described.Confidential(); got != want {
			t.Errorf("%q: %t, want %t", visibility, got, want)
		}
	}
	source := &v1alpha1.FeedSource{Spec: v1alpha1.FeedSourceSpec{Notifications: []v1alpha1.DestinationReference{{Name: "admin"}}}}
	if !source.Notifies("admin") || source.Notifies("press") {
		t.Errorf("admin: %t, press: %t", source.Notifies("admin"), source.Notifies("press"))
	}
}
