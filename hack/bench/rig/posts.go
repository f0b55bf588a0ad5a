// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"regexp"

	"github.com/feed-operator/feed-operator/hack/bench/news"
	"github.com/feed-operator/feed-operator/internal/feed"
	"github.com/feed-operator/feed-operator/internal/mastodontest"
)

var articleLink = regexp.MustCompile(regexp.QuoteMeta(news.Articles) + `\S+`)

// NotPostedOnce counts the entries that are not in exactly one post, and the posts about no entry.
func NotPostedOnce(posts []mastodontest.Post, entries []feed.Entry) int {
	found := map[string]int{}
	for _, post := range posts {
		found[articleLink.FindString(post.Text)]++
	}
	wrong := 0
	for _, entry := range entries {
		if found[entry.URL] != 1 {
			wrong++
		}
		delete(found, entry.URL)
	}
	for _, strays := range found {
		wrong += strays
	}
	return wrong
}
