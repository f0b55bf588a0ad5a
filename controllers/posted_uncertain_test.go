// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"testing"

	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/mastodontest"
)

// R4.4: a source is deleted while it is not known whether its entry was posted, and applied again. The post is there, and is not made again.
func TestAnUncertainPostOfADeletedSourceIsNotMadeAgain(t *testing.T) {
	t.Parallel()
	for name, as := range map[string]string{"under the same name": "news", "under another name": "renamed"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			server := w.mastodon(ignoresKeys)
			w.openDestination("press", server.URL)
			web := feedtest.New(t)
			web.List(web.Entries("news", 1)...)
			server.OnPost(func(p *mastodontest.Pending) bool { // it is published, and nobody is told
				p.Commit()
				p.Reset()
				return true
			})
			w.source("news", web.FeedURL(), postsTo("press"))
			w.untilItem("news", hasFailed("press", 1))
			server.OnPost(nil)
			w.remove("news")
			w.source(as, web.FeedURL(), postsTo("press"))
			w.itemsInTime(as, allProcessed(1)) // the call may go on for a while
			if err := onePostEach(server, "/articles/news-1"); err != nil {
				t.Error(err)
			}
		})
	}
}
