// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/geminitest"
	"github.com/feed-operator/feed-operator/internal/mastodontest"
)

// refusedItem checks that an item has failed for refused credentials.
var refusedItem = inPhase(v1alpha1.PhaseFailed, v1alpha1.ReasonAuthenticationFailed)

// posts waits until a server has so many posts, and returns them.
func posts(t *testing.T, server *mastodontest.Server, n int) []mastodontest.Post {
	t.Helper()
	await(t, func() error {
		if got := len(server.Posts()); got != n {
			return fmt.Errorf("%d posts, want %d", got, n)
		}
		return nil
	})
	return server.Posts()
}

// manySources makes two sources with 15 entries each, summarized by Gemini.
func (w *world) manySources() (first, second *feedtest.Server) {
	w.t.Helper()
	webs := map[string]*feedtest.Server{}
	for _, name := range []string{"first", "second"} {
		web := feedtest.New(w.t)
		web.List(web.Entries(name, 15)...)
		w.source(name, web.FeedURL(), summarizedBy("gemini"), tells("admin"))
		webs[name] = web
	}
	return webs["first"], webs["second"]
}

// R3.8: 30 items of two sources fail for one refused key: one notification that names the provider and
// what to change; the next wrong key is one more; a restart is none.
func TestOneRefusedKeyIsOneNotification(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	admin := w.mastodon()
	made := w.openDestination("admin", admin.URL, seenBy(v1alpha1.VisibilityDirect))
	gemini := w.gemini("gemini")
	w.untilProvider("gemini", isReady)
	w.suspend(made, true)
	w.untilDestination("admin", isClosed(v1alpha1.ReasonSuspended))
	var refuse atomic.Bool
	refuse.Store(true)
	gemini.OnCall(func(geminitest.Call) (geminitest.Answer, bool) { return geminitest.KeyInvalid(), refuse.Load() })
	first, _ := w.manySources()
	w.untilItems("first", eachOf(15, refusedItem))
	w.untilItems("second", eachOf(15, refusedItem))
	w.untilProvider("gemini", isNotReady(v1alpha1.ReasonCredentialsRefused))
	if rows := w.notificationsOf("first", "second"); len(rows) != 0 {
		t.Fatalf("%d notifications of items: %+v", len(rows), rows)
	}
	w.untilProvider("gemini", notices(v1alpha1.NotificationQueued))
	w.restart()
	w.untilProvider("gemini", isNotReady(v1alpha1.ReasonCredentialsRefused))
	w.suspend(made, false)
	text := posts(t, admin, 1)[0].Text
	for _, fact := range []string{"AIProvider " + w.namespace + "/gemini", "Secret gemini", "API key not valid"} {
		if !strings.Contains(text, fact) {
			t.Errorf("%q is not told:\n%s", fact, text)
		}
	}
	if strings.Contains(text, apiKey) || strings.Contains(text, "FeedItem") {
		t.Errorf("told:\n%s", text)
	}

	// One more item, and a person who has all of them tried again, hear nothing new.
	first.List(first.Entries("first", 16)...)
	w.poll("first")
	items := w.untilItems("first", eachOf(16, refusedItem))
	for i := range items {
		w.retry(items[i].Name, "again")
	}
	w.untilItems("first", eachOf(16, func(item *v1alpha1.FeedItem) error {
		if item.Status.LastHandledRetry != "again" {
			return errNotYet
		}
		return refusedItem(item)
	}))
	w.lookAtItems("first")
	w.restart()
	w.lookAtItems("second")
	posts(t, admin, 1)

	// Another key that passes the check and is refused then: all items fail once more.
	w.secret("gemini", "apiKey", otherKey)
	gemini.SetKey(otherKey)
	before := w.untilProvider("gemini", isNotReady(v1alpha1.ReasonCredentialsRefused))
	w.clock.Step(30 * time.Second)
	w.untilProvider("gemini", func(p *v1alpha1.AIProvider) error {
		if p.Status.RefusedCredentials == before.Status.RefusedCredentials || p.Status.RefusedCredentials == "" {
			return errNotYet
		}
		return isNotReady(v1alpha1.ReasonCredentialsRefused)(p)
	})
	w.untilItems("second", eachOf(15, refusedItem))
	posts(t, admin, 2)
	w.untilItems("first", eachOf(16, refusedItem))
	w.lookAtItems("first")
	posts(t, admin, 2)

	// The right one ends it.
	refuse.Store(false)
	w.secret("gemini", "apiKey", otherKey+" ") // another version of the Secret
	w.clock.Step(30 * time.Second)
	w.untilProvider("gemini", isReady)
	w.untilItems("first", allProcessed(16))
	w.untilItems("second", allProcessed(15))
	posts(t, admin, 2)
	w.untilProvider("gemini", notices(v1alpha1.NotificationDone))
}

// notices checks the states of the notices that a provider refuses its credentials.
func notices(states ...v1alpha1.NotificationState) func(*v1alpha1.AIProvider) error {
	return func(p *v1alpha1.AIProvider) error {
		var got []v1alpha1.NotificationState
		for _, notice := range p.Status.CredentialsNotices {
			got = append(got, notice.State)
		}
		if !slices.Equal(got, states) {
			return fmt.Errorf("notices %+v", p.Status.CredentialsNotices)
		}
		return nil
	}
}

// notificationsOf returns the notifications on the items of sources.
func (w *world) notificationsOf(sources ...string) []v1alpha1.Notification {
	w.t.Helper()
	var rows []v1alpha1.Notification
	for _, source := range sources {
		items, err := w.items(w.t.Context(), source)
		if err != nil {
			w.t.Fatal(err)
		}
		for i := range items {
			rows = append(rows, items[i].Status.Notifications...)
		}
	}
	return rows
}

// R3.8: so it is with the token of a destination; the other destinations are told.
func TestOneRefusedTokenIsOneNotification(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	admin, press := w.mastodon(), w.mastodon()
	w.openDestination("admin", admin.URL, seenBy(v1alpha1.VisibilityDirect))
	w.openDestination("press", press.URL)
	press.SetToken(otherToken)
	web := feedtest.New(t)
	web.List(web.Entries("news", 10)...)
	w.source("news", web.FeedURL(), postsTo("press"), tells("admin"))
	w.untilItems("news", eachOf(10, refusedItem))
	if rows := w.notificationsOf("news"); len(rows) != 0 {
		t.Errorf("%d notifications of items: %+v", len(rows), rows)
	}
	text := posts(t, admin, 1)[0].Text
	if !strings.Contains(text, "FeedDestination "+w.namespace+"/press") || !strings.Contains(text, "Secret press") || strings.Contains(text, accessToken) {
		t.Errorf("told:\n%s", text)
	}
	w.lookAtItems("news")
	posts(t, admin, 1)
}

// R3.8: the operator is cut off after the notice is queued, and before the items are written that have failed: nothing is
// lost, and nothing told twice.
func TestACrashLosesNoNoticeOfCredentials(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	admin := w.mastodon()
	w.openDestination("admin", admin.URL, seenBy(v1alpha1.VisibilityDirect))
	gemini := w.gemini("gemini")
	w.untilProvider("gemini", isReady)
	gemini.OnCall(func(geminitest.Call) (geminitest.Answer, bool) { return geminitest.KeyInvalid(), true })
	w.onItemWrites(func(_ *http.Request, body string) *metav1.Status {
		if !strings.Contains(body, `"`+string(v1alpha1.PhaseFailed)+`"`) {
			return nil
		}
		return &metav1.Status{Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: "not now"}
	})
	w.manySources()
	w.untilProvider("gemini", func(p *v1alpha1.AIProvider) error {
		if len(p.Status.CredentialsNotices) != 1 {
			return fmt.Errorf("notices %+v", p.Status.CredentialsNotices)
		}
		return isNotReady(v1alpha1.ReasonCredentialsRefused)(p)
	})
	w.stop()
	w.faults.on(nil)
	w.start()
	w.untilItems("first", eachOf(15, refusedItem))
	w.untilItems("second", eachOf(15, refusedItem))
	if rows := w.notificationsOf("first", "second"); len(rows) != 0 {
		t.Errorf("%d notifications of items: %+v", len(rows), rows)
	}
	w.untilProvider("gemini", notices(v1alpha1.NotificationDone))
	posts(t, admin, 1)
}
