// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"testing"
)

// R4.4: a source is deleted while it is not known whether its entry was posted, and applied again. The post is there, and is not made again.
func TestAnUncertainPostOfADeletedSourceIsNotMadeAgain(t *testing.T) {
	t.Parallel()
	for name, as := range map[string]string{"under the same name": "news", "under another name": "renamed"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			server := w.mastodon(ignoresKeys)
			web := w.leavesInDoubt(server)
			w.source(as, web.FeedURL(), postsTo("press"))
			w.itemsInTime(as, allProcessed(1)) // the call may go on for a while
			if err := onePostEach(server, "/articles/news-1"); err != nil {
				t.Error(err)
			}
		})
	}
}
