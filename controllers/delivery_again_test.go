// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/controllers"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/mastodontest"
)

// R4.4: two destinations of an item post to the same account, and one of the two posts gets lost. The
// other one is not taken for it.
func TestTwoDestinationsWithOneAccountGetAPostEach(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.mastodon()
	var calls atomic.Int32
	server.OnPost(func(p *mastodontest.Pending) bool {
		if calls.Add(1) != 2 {
			return false
		}
		p.Reset()
		return true
	})
	w.openDestination("first", server.URL)
	w.openDestination("second", server.URL)
	w.oneItem("first", "second")
	item := w.untilEnded("news", 1)[0]
	if err := inPhase(v1alpha1.PhaseProcessed, v1alpha1.ReasonNone)(&item); err != nil {
		t.Error(err)
	}
	rows := item.Status.Deliveries
	if posts := server.Posts(); len(posts) != 2 || rows[0].ID == rows[1].ID {
		t.Errorf("%d posts, %s and %s on the item", len(posts), rows[0].URL, rows[1].URL)
	}
}

// R2.8, R4.4: somebody removes a summary by hand to have another one written. What was posted stays
// posted, and is not posted again, whether the server honours keys or not.
func TestASummaryThatIsRemovedByHandIsNotPostedAgain(t *testing.T) {
	t.Parallel()
	for what, options := range map[string]func(*mastodontest.Options){
		"the server honours keys": func(*mastodontest.Options) {},
		"the server ignores keys": ignoresKeys,
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			server := w.mastodon(options)
			w.openDestination("press", server.URL)
			w.oneItem("press")
			item := w.untilItem("news", inPhase(v1alpha1.PhaseProcessed, v1alpha1.ReasonNone))
			patch := client.RawPatch(types.MergePatchType, []byte(`{"status":{"summary":null,"phase":"Unprocessed"}}`))
			if err := w.client.Status().Patch(t.Context(), item, patch); err != nil {
				t.Fatal(err)
			}
			w.untilUpToDate()
			w.lookAt(controllers.ItemKey, client.ObjectKeyFromObject(item)) // at what somebody has done to a status it looks when it is time
			w.untilItems("news", allProcessed(1))
			w.lookAtItems("news")
			w.wantProcessed(server, 1)
		})
	}
}

// R3.13, R4.5: a destination hangs when it is asked for a post, and the same item is due at another
// one, which takes one post at a time: neither this item nor those of others are held up there.
func TestALookupThatHangsKeepsNoSlotElsewhere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hangs, busy := w.mastodon(), w.mastodon()
	w.openDestination("hangs", hangs.URL, patient)
	w.openDestination("busy", busy.URL)
	hangs.OnPost(func(p *mastodontest.Pending) bool { p.Reset(); return true })
	busy.OnPost(func(p *mastodontest.Pending) bool {
		p.Answer(http.StatusTooManyRequests, "application/json", `{"error":"slow down"}`)
		return true
	})
	web := feedtest.New(t)
	web.List(web.Entries("both", 1)...)
	w.source("both", web.FeedURL(), postsTo("hangs", "busy"))
	w.untilItem("both", hasFailed("busy", 1))
	item := w.untilItem("both", hasFailed("hangs", 1))
	var g gate
	open := g.close(t)
	hangs.OnRequest(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/verify_credentials") {
			g.pass(r)
		}
		return false
	})
	busy.OnPost(nil)
	due := item.Status.Deliveries[0].NextRetryTime
	if other := item.Status.Deliveries[1].NextRetryTime; due.Before(other) {
		due = other
	}
	w.clock.SetTime(due.Time)
	w.lookAt(controllers.ItemKey, client.ObjectKeyFromObject(item))
	await(t, g.isHeld)
	w.awaitItem("both", inState("busy", v1alpha1.DeliveryDone))
	quickly := feedtest.New(t)
	quickly.List(quickly.Entries("quick", 1)...)
	w.source("quick", quickly.FeedURL(), postsTo("busy"))
	w.awaitItems("quick", allProcessed(1))
	if posts := hangs.Posts(); len(posts) != 0 {
		t.Errorf("posts %+v", posts)
	}
	open()
}
