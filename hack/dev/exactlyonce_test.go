// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/mastodontest"
)

const standInURL = "http://127.0.0.1:8089"

func posted(name, id string) v1alpha1.FeedItem {
	item := summarized(name)
	item.Status.Deliveries = []v1alpha1.Delivery{{
		Destination: "mastodon", State: v1alpha1.DeliveryDone, ID: id, URL: standInURL + "/@feeds/" + id, Time: &metav1.Time{Time: noon},
	}}
	return item
}

func postAbout(name, id string) mastodontest.Post {
	return mastodontest.Post{ID: id, Text: "Title of " + name + "\n\nhttps://example.org/" + name}
}

// R4.4, R6.1: `make run ONCE=1` fails when anything was posted twice, or not at all.
func TestPostsAreEachItemsOnce(t *testing.T) {
	t.Parallel()
	elsewhere := posted("two", "7")
	elsewhere.Status.Deliveries[0].URL = "https://mastodon.example/@press/7"
	for name, test := range map[string]struct {
		items []v1alpha1.FeedItem
		posts []mastodontest.Post
		want  []string
	}{
		"each item has its post": {
			items: []v1alpha1.FeedItem{posted("one", "1"), posted("two", "2")},
			posts: []mastodontest.Post{postAbout("one", "1"), postAbout("two", "2")},
		},
		"a post at another server is not looked for": {
			items: []v1alpha1.FeedItem{posted("one", "1"), elsewhere},
			posts: []mastodontest.Post{postAbout("one", "1")},
		},
		"a post that was made twice": {
			items: []v1alpha1.FeedItem{posted("one", "1")},
			posts: []mastodontest.Post{postAbout("one", "1"), postAbout("one", "2")},
			want:  []string{standInURL + "/@feeds/2 (Title of one) was posted, but no item says so"},
		},
		"a post that is not there": {
			items: []v1alpha1.FeedItem{posted("one", "1")},
			want:  []string{"one (Title of one) is said to be posted at " + standInURL + "/@feeds/1, but it is not"},
		},
		"two items with one post": {
			items: []v1alpha1.FeedItem{posted("one", "1"), posted("two", "1")},
			posts: []mastodontest.Post{postAbout("one", "1")},
			want:  []string{"one and two have the same post: " + standInURL + "/@feeds/1"},
		},
		"a post about something else": {
			items: []v1alpha1.FeedItem{posted("one", "1")},
			posts: []mastodontest.Post{postAbout("two", "1")},
			want:  []string{"the post of one lacks its link https://example.org/one"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, notOnce(test.items, test.posts, standInURL)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
