// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"sync/atomic"
	"testing"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/mastodontest"
)

// R4.4, R5.1: a destination counts the posts of items that stand there: one whose answer was lost, when it is found; a
// notification is none.
func TestADestinationCountsThePostsThatStand(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.mastodon(ignoresKeys)
	w.openDestination("press", server.URL, seenBy(v1alpha1.VisibilityPrivate))
	wantCounted := func(posts int64) {
		t.Helper()
		w.restart() // what was counted is written then
		w.untilDestination("press", func(d *v1alpha1.FeedDestination) error {
			if d.Status.Delivered != posts || (d.Status.LastDeliveryTime == nil) != (posts == 0) {
				t.Errorf("%d delivered, the last at %v, want %d", d.Status.Delivered, d.Status.LastDeliveryTime, posts)
			}
			return nil
		})
	}
	w.brokenPages(1, tells("press"))
	w.untilItem("news", told("press", v1alpha1.NotificationDone, 0))
	wantCounted(0)

	var lost atomic.Bool
	server.OnPost(func(p *mastodontest.Pending) bool {
		if !lost.CompareAndSwap(false, true) {
			return false
		}
		p.Commit()
		p.Reset()
		return true
	})
	web := feedtest.NewAt(t, "127.0.0.2")
	web.List(web.Entries("lost", 1)...)
	w.source("lost", web.FeedURL(), postsTo("press"))
	w.untilEnded("lost", 1)
	wantCounted(1)
}
