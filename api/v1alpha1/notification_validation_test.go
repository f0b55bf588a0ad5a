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
var notificationRules = merge(toldRules("FeedItem", "status.notifications", aNotification), map[string]rule{
	"up to four destinations are each notified once": lists("FeedItem", "status.notifications", 4, notification).unique(notification(0)),
})

// toldRules are those of each notification in a list, of which least is the least that one says.
func toldRules(kind, list string, least map[string]any) map[string]rule {
	field, named := list+"[]", map[string]rule{}
	for sentence, r := range map[string]rule{
		"names its destination":           mandatory(kind, field+".destination", 253),
		"is in one of three states":       choices(kind, field+".state", "Queued", "Done", "Failed"),
		"has failed 0 or more times":      counts(kind, field+".failedAttempts", 0),
		"has a key of up to 64 letters":   texts(kind, field+".key", false, 64),
		"has an ID of up to 128 letters":  texts(kind, field+".id", false, 128),
		"has a URL of up to 2048 letters": texts(kind, field+".url", false, 2048),
	} {
		named[kind+": "+field+" "+sentence] = r.beside(least)
	}
	return merge(failureRules(kind, field+".failure", least), named)
}

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
