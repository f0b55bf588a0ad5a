// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/mastodontest"
)

// publishesUntold has a server publish what it is asked to, and nobody is told.
func publishesUntold(server *mastodontest.Server) {
	server.OnPost(func(p *mastodontest.Pending) bool {
		p.Commit()
		p.Reset()
		return true
	})
}

// leavesInDoubt has an entry published of which nobody is told, and deletes its source. It returns where the feed is.
func (w *world) leavesInDoubt(server *mastodontest.Server) *feedtest.Server {
	w.t.Helper()
	w.openDestination("press", server.URL)
	web := feedtest.New(w.t)
	web.List(web.Entries("news", 1)...)
	publishesUntold(server)
	w.source("news", web.FeedURL(), postsTo("press"))
	w.untilItem("news", hasFailed("press", 1))
	server.OnPost(nil)
	w.remove("news")
	return web
}

// R4.4: a source is deleted while it is not known whether its entry was posted, and is applied again some hours later. Nobody has asked for
// what was posted there meanwhile.
func TestAnUncertainPostIsNotMadeAgainHoursAfterItsSourceWasDeleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.mastodon(ignoresKeys)
	web := w.leavesInDoubt(server)
	for range 3 {
		w.clock.Step(time.Hour + time.Minute)
		w.settles()
	}
	w.source("news", web.FeedURL(), postsTo("press"))
	w.itemsInTime("news", allProcessed(1))
	if err := onePostEach(server, "/articles/news-1"); err != nil {
		t.Error(err)
	}
}

// R4.4, R3.13: what another namespace posts takes the room of what is known of posts. What is held here of an item that is gone stays held.
func TestAnotherNamespaceCannotMakeAnUncertainPostBeForgotten(t *testing.T) {
	t.Parallel()
	tenants := newTenants(t, 2, func(w *world) { w.postsInMemory = 2 })
	w, other := tenants[0], tenants[1]
	server, theirs, flood := w.mastodon(ignoresKeys), other.mastodon(), feedtest.New(t)
	other.openDestination("flood", theirs.URL)
	web := w.leavesInDoubt(server)
	flood.List(flood.Entries("flood", 5)...)
	other.source("flood", flood.FeedURL(), postsTo("flood"))
	other.untilItems("flood", allProcessed(5))
	entries := flood.Entries("flood", 6)
	flood.List(entries...)
	other.poll("flood")
	other.untilItems("flood", allProcessed(6))
	w.source("news", web.FeedURL(), postsTo("press"))
	w.itemsInTime("news", allProcessed(1))
	if err := onePostEach(server, "/articles/news-1"); err != nil {
		t.Error(err)
	}
}

// R4.4, R3.14: nobody can know whether an item that is gone has posted an entry; that is decided for the next item, and the API server does
// not take it at first. It is not posted for that.
func TestWhatNobodyCanKnowIsNotPostedBecauseItCouldNotBeWritten(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.mastodon(both(ignoresKeys, writeOnly))
	web := w.leavesInDoubt(server)
	var refused atomic.Int32
	w.onItemWrites(func(_ *http.Request, body string) *metav1.Status {
		if !strings.Contains(body, "Unknown whether") || refused.Add(1) > 8 {
			return nil
		}
		return databaseFull.DeepCopy()
	})
	w.source("news", web.FeedURL(), postsTo("press"))
	w.itemsInTime("news", eachOf(1, func(item *v1alpha1.FeedItem) error {
		if !item.Terminal() {
			return errNotYet
		}
		return nil
	}))
	if refused.Load() == 0 {
		t.Error("nothing was refused")
	}
	if posts := len(server.Posts()); posts != 1 {
		t.Errorf("%d posts of one entry", posts)
	}
}
