// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/mastodontest"
)

// tells names who is told of the failures of a source.
func tells(names ...string) func(*v1alpha1.FeedSource) {
	return func(source *v1alpha1.FeedSource) {
		for _, name := range names {
			source.Spec.Notifications = append(source.Spec.Notifications, v1alpha1.DestinationReference{Name: name})
		}
	}
}

// seenBy sets who sees what is posted to a destination.
func seenBy(visibility v1alpha1.Visibility) func(*v1alpha1.FeedDestination) {
	return func(described *v1alpha1.FeedDestination) { described.Spec.Mastodon.Visibility = visibility }
}

// triedAgain sets how often an item is tried again.
func triedAgain(most int32) func(*v1alpha1.FeedSource) {
	return func(source *v1alpha1.FeedSource) { source.Spec.Retry = &v1alpha1.RetryPolicy{MaxRetries: &most} }
}

// told checks what has become of the notification of an item that has failed for good.
func told(name string, state v1alpha1.NotificationState, failedAttempts int32) func(*v1alpha1.FeedItem) error {
	return func(item *v1alpha1.FeedItem) error {
		for _, row := range item.Status.Notifications {
			if row.Destination != name {
				continue
			}
			if row.State != state || row.FailedAttempts != failedAttempts || item.Status.Phase != v1alpha1.PhaseFailed {
				return fmt.Errorf("notification %+v of an item that is %s", row, item.Status.Phase)
			}
			return nil
		}
		return fmt.Errorf("no notification to %q: %s/%s", name, item.Status.Phase, item.Status.Reason)
	}
}

// outcome is the status of an item without its notifications, and without what its history says of them.
func outcome(item *v1alpha1.FeedItem) v1alpha1.FeedItemStatus {
	status := *item.Status.DeepCopy()
	status.Notifications, status.History = nil, nil
	return status
}

// brokenPages makes a source "news" with entries whose pages cannot be had, and that are not tried again.
func (w *world) brokenPages(n int, change ...func(*v1alpha1.FeedSource)) *feedtest.Server {
	w.t.Helper()
	web := feedtest.New(w.t)
	web.OnRequest(func(rw http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/feed.xml" {
			return false
		}
		rw.WriteHeader(http.StatusBadGateway)
		return true
	})
	web.List(web.Entries("news", n)...)
	w.source("news", web.FeedURL(), append([]func(*v1alpha1.FeedSource){triedAgain(0)}, change...)...)
	return web
}

// R3.10: a dead letter has a Warning, and is told of once, in a direct post with all the facts.
func TestADeadLetterIsToldOf(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.mastodon()
	w.openDestination("admin", server.URL, seenBy(v1alpha1.VisibilityDirect))
	web := w.brokenPages(1, triedAgain(1), tells("admin"))
	item := w.untilItem("news", inPhase(v1alpha1.PhaseDeferred, v1alpha1.ReasonDownloadFailed))
	first := item.Status.LastCheckTime.UTC().Format("2006-01-02 15:04:05")
	if len(item.Status.Notifications) != 0 || len(server.Posts()) != 0 {
		t.Errorf("told of an item that is tried again: %+v", item.Status.Notifications)
	}
	w.clock.SetTime(item.Status.NextRetryTime.Time)
	item = w.untilItem("news", told("admin", v1alpha1.NotificationDone, 0))
	if err := inPhase(v1alpha1.PhaseFailed, v1alpha1.ReasonRetryLimitExceeded)(item); err != nil {
		t.Error(err)
	}
	w.lookAtItems("news")
	posts := server.Posts()
	if len(posts) != 1 {
		t.Fatalf("%d posts", len(posts))
	}
	if row := item.Status.Notifications[0]; posts[0].Visibility != "direct" || posts[0].ID != row.ID || row.URL == "" || posts[0].Key != row.Key || row.Time == nil {
		t.Errorf("post %+v, notification %+v", posts[0], row)
	}
	for _, fact := range []string{
		item.Namespace + "/" + item.Name, "News about news-1", web.ArticleURL("news-1"), "502", first, "retries: 1",
		"kubectl -n " + item.Namespace + " annotate feeditem " + item.Name + " " + v1alpha1.AnnotationRetry + "=",
	} {
		if !strings.Contains(posts[0].Text, fact) {
			t.Errorf("%q is not told:\n%s", fact, posts[0].Text)
		}
	}
	await(t, func() error {
		var all eventsv1.EventList
		if err := w.client.List(t.Context(), &all, client.InNamespace(w.namespace)); err != nil {
			return err
		}
		for _, event := range all.Items {
			if event.Type == "Warning" && event.Reason == string(v1alpha1.ReasonRetryLimitExceeded) && event.Regarding.Name == item.Name {
				return nil
			}
		}
		return errNotYet
	})
	for _, object := range w.everything() {
		text, err := json.Marshal(object.Object)
		if err != nil {
			t.Fatal(err)
		}
		holdsNoToken(t, object.GetKind()+" "+object.GetName(), string(text)) // R5.6
	}
}

// R3.10: a delivery that was given up is told of too.
func TestADeadDeliveryIsToldOf(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	press, admin := w.mastodon(), w.mastodon()
	press.OnPost(func(p *mastodontest.Pending) bool {
		p.Answer(http.StatusUnprocessableEntity, "application/json", `{"error":"no"}`)
		return true
	})
	w.openDestination("press", press.URL)
	w.openDestination("admin", admin.URL, seenBy(v1alpha1.VisibilityPrivate))
	web := feedtest.New(t)
	web.List(web.Entries("news", 1)...)
	w.source("news", web.FeedURL(), postsTo("press"), tells("admin"))
	item := w.untilItem("news", told("admin", v1alpha1.NotificationDone, 0))
	if posts := admin.Posts(); len(posts) != 1 || posts[0].Visibility != "private" || !strings.Contains(posts[0].Text, item.Name) {
		t.Errorf("posts %+v", posts)
	}
}

// R3.10: a notification that fails is tried five times, and changes nothing else about the item.
func TestAFailingNotificationIsBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.mastodon()
	server.OnPost(func(p *mastodontest.Pending) bool {
		p.Answer(http.StatusServiceUnavailable, "application/json", `{"error":"down"}`)
		return true
	})
	w.openDestination("admin", server.URL, seenBy(v1alpha1.VisibilityDirect))
	w.brokenPages(1, tells("admin"))
	item := w.untilItem("news", told("admin", v1alpha1.NotificationQueued, 1))
	before := outcome(item)
	for attempt := int32(2); attempt <= 5; attempt++ {
		wait := item.Status.Notifications[0].NextRetryTime.Sub(w.clock.Now())
		if promised := time.Minute << (attempt - 2); wait < promised || wait > promised*6/5+time.Second {
			t.Errorf("attempt %d after %s, want %s", attempt, wait, promised)
		}
		w.clock.SetTime(item.Status.Notifications[0].NextRetryTime.Time)
		state := v1alpha1.NotificationQueued
		if attempt == 5 {
			state = v1alpha1.NotificationFailed
		}
		item = w.untilItem("news", told("admin", state, attempt))
	}
	if failed := item.Status.Notifications[0].Failure; failed.Stage != v1alpha1.StageNotify || failed.Object != "admin" || failed.HTTPStatus != 503 || failed.Retryable {
		t.Errorf("failure %+v", failed)
	}
	if diff := cmp.Diff(before, outcome(item)); diff != "" {
		t.Errorf("the item has changed:\n%s", diff)
	}
	w.clock.Step(time.Hour)
	w.lookAtItems("news")
	if got := server.Count("POST /api/v1/statuses"); got != 5 {
		t.Errorf("%d requests", got)
	}
}

// R3.10, R3.12: a notification waits for a destination that is missing or suspended, which is no attempt,
// and survives a restart; the source says which destination is missing.
func TestANotificationWaitsForItsDestination(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.mastodon()
	w.brokenPages(1, tells("admin"))
	item := w.untilItem("news", told("admin", v1alpha1.NotificationQueued, 0))
	before := outcome(item)
	w.untilSource("news", blocked(v1alpha1.ReasonDestinationMissing, `"admin"`))
	made := w.destination("admin", server.URL, seenBy(v1alpha1.VisibilityDirect), suspended)
	w.untilSource("news", isReadySource)
	w.untilDestination("admin", isClosed(v1alpha1.ReasonSuspended))
	w.lookAtItems("news")
	w.restart()
	w.clock.Step(24 * time.Hour)
	w.untilDestination("admin", isClosed(v1alpha1.ReasonSuspended))
	w.lookAtItems("news")
	w.untilItem("news", told("admin", v1alpha1.NotificationQueued, 0))
	w.suspend(made, false)
	item = w.awaitItem("news", told("admin", v1alpha1.NotificationDone, 0))
	if diff := cmp.Diff(before, outcome(item)); diff != "" || len(server.Posts()) != 1 {
		t.Errorf("%d posts; the item has changed:\n%s", len(server.Posts()), diff)
	}
}

// blocked checks that a source says that somebody cannot be told of its failures.
func blocked(reason, words string) func(*v1alpha1.FeedSource) error {
	return func(source *v1alpha1.FeedSource) error {
		if source.Status.LastPollTime == nil {
			return errNotYet
		}
		said := meta.FindStatusCondition(source.Status.Conditions, v1alpha1.ConditionNotificationsBlocked)
		if said == nil || said.Reason != reason || !strings.Contains(said.Message, words) {
			return fmt.Errorf("conditions %+v", source.Status.Conditions)
		}
		return nil
	}
}

func isReadySource(source *v1alpha1.FeedSource) error {
	if meta.FindStatusCondition(source.Status.Conditions, v1alpha1.ConditionNotificationsBlocked) != nil {
		return fmt.Errorf("conditions %+v", source.Status.Conditions)
	}
	return hasReady(source.Status.Conditions, "True", v1alpha1.ReasonSucceeded)
}

// R3.10: nothing is told where everybody could read it; the item and the source say so.
func TestFailuresAreNotToldInPublic(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.mastodon()
	w.openDestination("admin", server.URL)
	w.openDestination("press", server.URL, seenBy("unlisted"))
	w.brokenPages(1, tells("admin", "press"))
	item := w.untilItem("news", func(item *v1alpha1.FeedItem) error {
		return errors.Join(told("admin", v1alpha1.NotificationFailed, 1)(item), told("press", v1alpha1.NotificationFailed, 1)(item))
	})
	for _, row := range item.Status.Notifications {
		if !strings.Contains(row.Failure.Message, "direct or private") {
			t.Errorf("failure %+v", row.Failure)
		}
	}
	source := w.untilSource("news", blocked(v1alpha1.ReasonNotConfidential, "direct or private"))
	if err := hasReady(source.Status.Conditions, "True", v1alpha1.ReasonSucceeded); err != nil {
		t.Error(err)
	}
	if got := server.Count("POST /api/v1/statuses"); got != 0 {
		t.Errorf("%d requests to post", got)
	}
	w.changeDestination("admin", `{"spec":{"mastodon":{"visibility":"direct"}}}`)
	w.changeDestination("press", `{"spec":{"mastodon":{"visibility":"private"}}}`)
	w.untilSource("news", isReadySource)
}

// R3.7, R3.10: a forced retry takes back what was not told yet; failing again is told anew.
func TestAnItemThatFailsAgainIsToldOfAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.mastodon()
	made := w.openDestination("admin", server.URL, seenBy(v1alpha1.VisibilityDirect))
	web := w.brokenPages(1, tells("admin"))
	item := w.untilItem("news", told("admin", v1alpha1.NotificationDone, 0))
	key := item.Status.Notifications[0].Key
	w.retry(item.Name, "1")
	w.untilItem("news", func(item *v1alpha1.FeedItem) error {
		if item.Status.LastHandledRetry != "1" {
			return errNotYet
		}
		return told("admin", v1alpha1.NotificationDone, 0)(item)
	})
	await(t, func() error {
		if len(server.Posts()) != 2 {
			return fmt.Errorf("%d posts", len(server.Posts()))
		}
		return nil
	})
	w.suspend(made, true)
	w.untilDestination("admin", isClosed(v1alpha1.ReasonSuspended))
	w.retry(item.Name, "2")
	item = w.untilItem("news", told("admin", v1alpha1.NotificationQueued, 0))
	if item.Status.Notifications[0].Key == key {
		t.Error("the notifications of two failures have one key")
	}
	web.OnRequest(nil)
	w.retry(item.Name, "3")
	item = w.untilItem("news", inPhase(v1alpha1.PhaseProcessed, v1alpha1.ReasonNone))
	if len(item.Status.Notifications) != 0 {
		t.Errorf("a processed item is told of: %+v", item.Status.Notifications)
	}
	w.suspend(made, false)
	w.untilDestination("admin", isOpen)
	w.lookAtItems("news")
	if len(server.Posts()) != 2 {
		t.Errorf("%d posts", len(server.Posts()))
	}
}

// R3.10: a notification goes after all deliveries that wait for the same destination.
func TestANotificationDelaysNoDelivery(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.mastodon()
	made := w.destination("admin", server.URL, seenBy(v1alpha1.VisibilityDirect), suspended, func(described *v1alpha1.FeedDestination) {
		described.Spec.MaxConcurrent = new(int32(1))
	})
	w.untilDestination("admin", isClosed(v1alpha1.ReasonSuspended))
	w.brokenPages(1, tells("admin"))
	w.untilItem("news", told("admin", v1alpha1.NotificationQueued, 0))
	w.lookAtItems("news")
	web := feedtest.New(t)
	web.List(web.Entries("good", 3)...)
	w.source("good", web.FeedURL(), postsTo("admin"))
	w.untilItems("good", eachOf(3, waitsFor(`"admin"`)))
	w.suspend(made, false)
	w.awaitItems("good", allProcessed(3))
	w.awaitItem("news", told("admin", v1alpha1.NotificationDone, 0))
	var got []string
	for _, post := range server.Posts() {
		_, name, _ := strings.Cut(post.Text, "/articles/")
		name, _, _ = strings.Cut(name, "\n")
		got = append(got, name)
	}
	if diff := cmp.Diff([]string{"good-1", "good-2", "good-3", "news-1"}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// R3.10: a notification that was sent, but whose answer was lost, is sent again with the same key.
func TestANotificationIsSentAgainWithTheSameKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.mastodon()
	server.OnPost(func(p *mastodontest.Pending) bool { p.Commit(); p.Reset(); return true })
	w.openDestination("admin", server.URL, seenBy(v1alpha1.VisibilityDirect))
	w.brokenPages(1, tells("admin"))
	item := w.untilItem("news", told("admin", v1alpha1.NotificationQueued, 1))
	server.OnPost(nil)
	w.clock.SetTime(item.Status.Notifications[0].NextRetryTime.Time)
	w.untilItem("news", told("admin", v1alpha1.NotificationDone, 1))
	if len(server.Posts()) != 1 {
		t.Errorf("%d posts", len(server.Posts()))
	}
}
