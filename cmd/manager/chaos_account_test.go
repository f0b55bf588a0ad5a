// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
	"github.com/feed-operator/feed-operator/internal/mastodontest"
)

// account compares what there is with what there should be, story by story: in the API server, and at the accounts by what their servers hold.
func (n *town) account(t *testing.T) {
	t.Helper()
	stories := 0
	for _, name := range feedNames {
		for _, story := range n.plan.feeds[name].stories {
			stories++
			wrong := n.accountOf(story, destinationsOf(name))
			if len(wrong) > 0 {
				t.Errorf("%s: %s\n%s", story.name, strings.Join(wrong, "; "), n.chronicle.about(story.name))
			}
		}
	}
	notices := n.accountNotices(t)
	posts := 0
	for _, name := range []string{press, mirror} {
		for _, post := range n.accounts[name].Posts() {
			if posts++; storyOf(post.Text) == "" {
				t.Errorf("%s has a post of nothing that was listed: %+v", name, post)
			}
		}
		n.accountDelivered(t, name)
	}
	for name, kept := range n.replicas {
		for _, one := range kept.processes() {
			if said := one.said.String(); strings.Contains(said, "panic:") || strings.Contains(said, "fatal error:") || strings.Contains(said, "Observed a panic") {
				t.Errorf("replica %s (process %d) panicked", name, one.command.Process.Pid)
			}
		}
	}
	t.Logf("%d stories, %d posts and %d notices are accounted for, after %s", stories, posts, notices, n.plan.counts())
}

// accountOf returns what is wrong with a story.
func (n *town) accountOf(story *story, destinations []string) (wrong []string) {
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	items := n.chronicle.itemsOf(story.name)
	ofSource := map[types.UID]int{}
	for _, item := range items {
		if ofSource[item.last.Spec.SourceRef.UID]++; ofSource[item.last.Spec.SourceRef.UID] == 2 {
			say("it became an item more than once")
		}
	}
	if len(items) == 0 {
		return append(wrong, "it is no item")
	}
	// A replica that was frozen may make one more of a source that is gone, which nobody works on.
	slices.SortStableFunc(items, func(a, b chronicledItem) int { return cmp.Compare(there(a), there(b)) })
	item := items[len(items)-1]
	if !n.remembered(item.last) {
		say("the memory of its source does not know it")
	}
	if item.deleted && !item.unwanted && item.last.Status.Phase != v1alpha1.PhaseProcessed {
		say("it was removed while it was %s", stateOf(item.last))
	}
	if times, each := n.chronicle.paid(story.name); times > each*len(n.plan.crew.replicas()) {
		say("the model wrote about it %d times, want %d for each of %s", times, each, n.plan.crew)
	}
	for _, name := range destinations {
		posts := n.accounts[name].postsOf(story.name)
		row := lifecycle.RowOf(item.last, name)
		least, most := 1, 1
		switch {
		case story.spoiled:
			least, most = 0, 0
		case item.deleted && row == nil:
			least, most = 0, 0
		case item.deleted && row.State == v1alpha1.DeliveryIntent: // it was just being posted
			least = 0
		case item.deleted && row.State != v1alpha1.DeliveryDone:
			least, most = 0, 0
		}
		if len(items) > 1 && most == 0 && !story.spoiled { // of a source that was applied again: one of those before may have been posted
			most = 1
		}
		for _, before := range items[:len(items)-1] {
			if before.deleted && n.chronicle.forgotten(before, name) {
				most++
			}
		}
		if len(posts) < least || len(posts) > most {
			say("%d posts at %s, want %d to %d:%s", len(posts), name, least, most, inShort(posts))
			continue
		}
		if !item.deleted && !story.spoiled && len(items) == 1 && (row == nil || row.State != v1alpha1.DeliveryDone || row.ID != posts[0].ID) {
			say("its row for %s is %+v, the post is %s", name, row, posts[0].ID)
		}
	}
	return wrong
}

// there is 1 for an item that is there, and 0 for one that was deleted.
func there(item chronicledItem) int {
	if item.deleted {
		return 0
	}
	return 1
}

// inShort reports for posts what tells them apart.
func inShort(posts []mastodontest.Post) string {
	var b strings.Builder
	for _, post := range posts {
		title, _, _ := strings.Cut(post.Text, "\n")
		fmt.Fprintf(&b, " %s at %s with the key %s (%q)", post.ID, post.CreatedAt.Format(time.DateTime), post.Key, title)
	}
	return b.String()
}

// accountNotices compares the notices at the desk with those that items have queued, and returns how many there are. One that was queued is
// sent once, unless its item was retried or deleted before.
func (n *town) accountNotices(t *testing.T) int {
	t.Helper()
	sent := map[string]int{}
	for _, post := range n.accounts[desk].Posts() {
		sent[post.Key]++
	}
	total := len(n.accounts[desk].Posts())
	for _, name := range feedNames {
		for _, story := range n.plan.feeds[name].stories {
			var wrong []string
			for _, item := range n.chronicle.itemsOf(story.name) {
				for key, state := range item.notices {
					row := lastNotice(item.last, key)
					due := state == v1alpha1.NotificationDone || !item.deleted && row != nil
					if sent[key] > 1 || due && sent[key] != 1 {
						wrong = append(wrong, fmt.Sprintf("its notice %s, last seen as %s, was sent %d times", key, state, sent[key]))
					}
					delete(sent, key)
				}
				if !item.deleted && story.spoiled && len(item.last.Status.Notifications) != 1 {
					wrong = append(wrong, fmt.Sprintf("%d notices", len(item.last.Status.Notifications)))
				}
			}
			if len(wrong) > 0 {
				t.Errorf("%s: %s\n%s", story.name, strings.Join(wrong, "; "), n.chronicle.about(story.name))
			}
		}
	}
	for key, times := range sent {
		t.Errorf("a notice with the key %s was sent %d times, and no item says so", key, times)
	}
	return total
}

func lastNotice(item *v1alpha1.FeedItem, key string) *v1alpha1.Notification {
	for i := range item.Status.Notifications {
		if item.Status.Notifications[i].Key == key {
			return &item.Status.Notifications[i]
		}
	}
	return nil
}

// accountDelivered compares what a destination counts with what its server holds.
func (n *town) accountDelivered(t *testing.T, name string) {
	t.Helper()
	var destination v1alpha1.FeedDestination
	if err := server.Client.Get(t.Context(), client.ObjectKey{Namespace: n.namespace, Name: name}, &destination); err != nil {
		t.Error(err)
		return
	}
	posts, counted := int64(len(n.accounts[name].Posts())), destination.Status.Delivered
	if uncounted := n.chronicle.uncounted(name); counted > posts || counted < posts-uncounted {
		t.Errorf("%s counts %d posts, its server has %d, of which %d may not be counted", name, counted, posts, uncounted)
	}
}
