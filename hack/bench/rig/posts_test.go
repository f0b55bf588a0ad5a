// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"testing"

	"github.com/feed-operator/feed-operator/hack/bench/news"
	"github.com/feed-operator/feed-operator/internal/mastodontest"
)

func TestItemsThatAreNotPostedOnceAreFound(t *testing.T) {
	t.Parallel()
	entries := news.Entries("source-000", 4)
	post := func(url string) mastodontest.Post {
		return mastodontest.Post{Text: "A title\n\nA summary.\n\n" + url + "\n\n#news"}
	}
	var posts []mastodontest.Post
	for _, entry := range entries {
		posts = append(posts, post(entry.URL))
	}
	if wrong := NotPostedOnce(posts, entries); wrong != 0 {
		t.Errorf("%d of the posts are wrong, want none", wrong)
	}
	posts[0] = posts[1] // one is missing, one is there twice
	posts = append(posts, post(news.Articles+"another-000001"), mastodontest.Post{Text: "No link"})
	if wrong := NotPostedOnce(posts, entries); wrong != 4 {
		t.Errorf("%d of the posts are wrong, want 4", wrong)
	}
}
