// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/mastodontest"
	"github.com/feed-operator/feed-operator/internal/portion"
)

// R3.3, R4.5: a server asks for a pause in the answer to a post, while somebody changes how it is called. It is left alone until that time
// all the same, by other items too: whether the answer comes while the destination is asked anew, or afterwards.
func TestAServerThatIsBusyIsLeftAloneThoughItsDestinationIsChanged(t *testing.T) {
	t.Parallel()
	for name, askedAnew := range portion.Some(map[string]bool{"answered while it is asked anew": true, "answered afterwards": false}, 1) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			reset := w.clock.Now().Add(20 * time.Minute)
			server := w.mastodon()
			var asked, posted gate
			w.openDestination("press", server.URL)
			server.OnRequest(func(_ http.ResponseWriter, r *http.Request) bool {
				if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/verify_credentials") {
					asked.pass(r)
				}
				return false
			})
			server.OnPost(func(p *mastodontest.Pending) bool {
				posted.pass(p.Request)
				if w.clock.Now().Before(reset) {
					refuseUntil(p, reset)
					return true
				}
				return false
			})
			answer := posted.close(t)
			web := feedtest.New(t)
			entries := web.Entries("news", 2)
			web.List(entries[0])
			w.source("news", web.FeedURL(), postsTo("press"))
			await(t, posted.isHeld)
			tell := asked.close(t)
			const change = `{"spec":{"timeout":"31s"}}`
			if askedAnew {
				w.patchDestination("press", change)
				await(t, asked.isHeld)
				answer()
				w.untilItem("news", hasFailed("press", 1))
				tell()
			} else {
				tell()
				w.changeDestination("press", change)
				w.untilDestination("press", isOpen)
				answer()
				w.untilItem("news", hasFailed("press", 1))
			}
			w.untilDestination("press", isClosed(v1alpha1.ReasonCoolingDown))
			web.List(entries...)
			w.poll("news")
			w.untilItems("news", allQueued(2))
			w.clock.SetTime(reset.Add(-time.Second))
			w.lookAtItems("news")
			w.settles()
			if got := server.Count("POST /api/v1/statuses"); got != 1 {
				t.Errorf("%d requests to post before %s, want the one that was refused", got, reset)
			}
			w.itemsInTime("news", allProcessed(2))
			if made := len(server.Posts()); made != 2 {
				t.Errorf("%d posts of two entries", made)
			}
		})
	}
}
