// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/mastodontest"
)

// notOnce lists what keeps the posts of a server from being each item's once: posts that belong to no
// item, or to two, and items whose post is missing there or is about something else.
func notOnce(items []v1alpha1.FeedItem, posts []mastodontest.Post, server string) []string {
	var wrong []string
	byID := map[string]mastodontest.Post{}
	for _, post := range posts {
		byID[post.ID] = post
	}
	owner := map[string]string{}
	for i := range items {
		item := &items[i]
		for j := range item.Status.Deliveries {
			row := &item.Status.Deliveries[j]
			if row.State != v1alpha1.DeliveryDone || !strings.HasPrefix(row.URL, server+"/") {
				continue
			}
			post, there := byID[row.ID]
			switch other := owner[row.ID]; {
			case !there:
				wrong = append(wrong, fmt.Sprintf("%s (%s) is said to be posted at %s, but it is not", item.Name, item.Spec.Title, row.URL))
			case other != "":
				wrong = append(wrong, fmt.Sprintf("%s and %s have the same post: %s", other, item.Name, row.URL))
			case !strings.Contains(post.Text, item.Spec.URL):
				wrong = append(wrong, fmt.Sprintf("the post of %s lacks its link %s", item.Name, item.Spec.URL))
			}
			owner[row.ID] = item.Name
		}
	}
	for _, post := range posts {
		if owner[post.ID] == "" {
			title, _, _ := strings.Cut(post.Text, "\n")
			wrong = append(wrong, fmt.Sprintf("%s/@feeds/%s (%s) was posted, but no item says so", server, post.ID, title))
		}
	}
	return wrong
}

// postOf returns the first post of an item, or nil.
func postOf(item *v1alpha1.FeedItem) *v1alpha1.Delivery {
	for i := range item.Status.Deliveries {
		if row := &item.Status.Deliveries[i]; row.State == v1alpha1.DeliveryDone {
			return row
		}
	}
	return nil
}
