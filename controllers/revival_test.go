// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/mastodontest"
)

// otherToken replaces accessToken.
const otherToken = "mstdn-9876543210-RECOGNISABLE-another"

// R3.8: a token is replaced as people do it: the new one is in the Secret before the old one is
// revoked. The items that meet the old one are posted with the new one, and nobody has to ask for it.
func TestARotatedTokenLosesNoPost(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.mastodon()
	w.openDestination("press", server.URL)
	w.secret("press", "accessToken", otherToken)
	server.SetToken(otherToken)
	web := feedtest.New(t)
	web.List(web.Entries("news", 3)...)
	w.source("news", web.FeedURL(), postsTo("press"))
	w.itemsInTime("news", allProcessed(3)) // the Secret may be read before the items are seen that failed, and is read again only after a while
	if err := onePostEach(server, "/articles/news-1", "/articles/news-2", "/articles/news-3"); err != nil {
		t.Error(err)
	}
}

// R3.8: so it is with the key of a provider.
func TestARotatedKeyLosesNoSummary(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.gemini("gemini")
	w.untilProvider("gemini", isReady)
	w.secret("gemini", "apiKey", otherKey)
	server.SetKey(otherKey)
	web := feedtest.New(t)
	web.List(web.Entries("news", 10)...)
	w.source("news", web.FeedURL(), summarizedBy("gemini"))
	w.itemsInTime("news", allProcessed(10))
}

// R3.8: a destination that had refused its token is deleted, and applied again with a good one. Items
// that failed for the first one revive, as do those that came while there was none.
func TestItemsReviveWhenARefusingDestinationIsAppliedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.mastodon()
	made := w.openDestination("press", server.URL)
	server.SetToken(otherToken)
	web := feedtest.New(t)
	web.List(web.Entries("news", 2)...)
	w.source("news", web.FeedURL(), postsTo("press"))
	w.untilItems("news", eachOf(2, inPhase(v1alpha1.PhaseFailed, v1alpha1.ReasonAuthenticationFailed)))
	w.untilDestination("press", isClosed(v1alpha1.ReasonCredentialsRefused))
	if err := w.client.Delete(t.Context(), made); err != nil {
		t.Fatal(err)
	}
	more := feedtest.New(t)
	more.List(more.Entries("more", 1)...)
	w.source("more", more.FeedURL(), postsTo("press"))
	w.untilItems("more", eachOf(1, waitsFor("does not exist")))
	server.SetToken(accessToken)
	w.destination("press", server.URL)
	w.awaitItems("news", allProcessed(2))
	w.awaitItems("more", allProcessed(1))
	if err := onePostEach(server, "/articles/news-1", "/articles/news-2", "/articles/more-1"); err != nil {
		t.Error(err)
	}
}

// R3.8, R4.5: a post that failed for a refused token is made once that is cured, though another
// delivery of the same item has not ended.
func TestACuredDeliveryDoesNotWaitForTheOthers(t *testing.T) {
	t.Parallel()
	t.Run("that are retried", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		cured, busy := w.mastodon(), w.mastodon()
		w.openDestination("cured", cured.URL)
		w.openDestination("busy", busy.URL)
		cured.SetToken(otherToken)
		busy.OnPost(func(p *mastodontest.Pending) bool {
			p.Answer(http.StatusTooManyRequests, "application/json", `{"error":"slow down"}`)
			return true
		})
		w.oneItem("cured", "busy")
		w.untilItem("news", inState("cured", v1alpha1.DeliveryDead))
		w.untilItem("news", hasFailed("busy", 1))
		w.curedOf("cured", otherToken)
		w.awaitItem("news", inState("cured", v1alpha1.DeliveryDone))
		item := w.awaitItem("news", inPhase(v1alpha1.PhaseDeferred, v1alpha1.ReasonAPIFailed))
		if row, err := rowTo(item, "busy"); err != nil || row.FailedAttempts != 1 {
			t.Errorf("the other delivery: %+v, %v", row, err)
		}
		busy.OnPost(nil)
		w.untilEnded("news", 1)
		w.untilItems("news", allProcessed(1))
		if len(cured.Posts()) != 1 || len(busy.Posts()) != 1 {
			t.Errorf("posts %+v and %+v", cured.Posts(), busy.Posts())
		}
	})
	t.Run("that wait for a suspended destination", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		cured, other := w.mastodon(), w.mastodon()
		w.openDestination("cured", cured.URL)
		w.destination("other", other.URL, suspended)
		cured.SetToken(otherToken)
		w.oneItem("cured", "other")
		w.untilItem("news", inState("cured", v1alpha1.DeliveryDead))
		w.curedOf("cured", otherToken)
		item := w.awaitItem("news", inState("cured", v1alpha1.DeliveryDone))
		if err := inState("other", v1alpha1.DeliveryQueued)(item); err != nil || len(cured.Posts()) != 1 {
			t.Errorf("%v; posts %+v", err, cured.Posts())
		}
	})
}

// curedOf puts another token into the Secret of a destination that refused the one before, half a minute
// after that, and waits until the destination is open. No time passes once it may be: posts that are under
// way then would run out of theirs.
func (w *world) curedOf(name, token string) {
	w.t.Helper()
	w.untilDestination(name, isClosed(v1alpha1.ReasonCredentialsRefused))
	w.clock.Step(30 * time.Second)
	w.secret(name, "accessToken", token)
	w.untilDestination(name, isOpen)
}

// R3.1, R3.8: a firewall before the server refuses one post. That says nothing of the token: the
// destination stays open, the others are posted, and the one is tried again.
func TestAPostThatAFirewallRefusesClosesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.mastodon()
	server.OnPost(func(p *mastodontest.Pending) bool {
		if !strings.Contains(p.Post.Text, "/articles/news-1") {
			return false
		}
		p.Answer(http.StatusForbidden, "text/html", "<html>blocked by the firewall</html>")
		return true
	})
	w.openDestination("press", server.URL)
	web := feedtest.New(t)
	web.List(web.Entries("news", 5)...)
	w.source("news", web.FeedURL(), postsTo("press"))
	w.awaitItems("news", eachOf(5, func(item *v1alpha1.FeedItem) error {
		if !strings.HasSuffix(item.Spec.URL, "/articles/news-1") {
			return inPhase(v1alpha1.PhaseProcessed, v1alpha1.ReasonNone)(item)
		}
		return errors.Join(inPhase(v1alpha1.PhaseDeferred, v1alpha1.ReasonAPIFailed)(item), hasFailed("press", 1)(item))
	}))
	w.untilDestination("press", isOpen)
	server.OnPost(nil)
	w.untilEnded("news", 5)
	w.untilItems("news", allProcessed(5))
	if posts := server.Posts(); len(posts) != 5 {
		t.Errorf("%d posts: %+v", len(posts), posts)
	}
}
