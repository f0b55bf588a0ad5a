// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/controllers"
	"github.com/feed-operator/feed-operator/internal/apitest"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/mastodontest"
)

// accessToken is recognisable, so that it is found wherever it must not be.
const accessToken = "mstdn-0123456789-RECOGNISABLE-abcdefghijklmn"

// mastodon starts a Mastodon server that lives by the clock of the world.
func (w *world) mastodon(change ...func(*mastodontest.Options)) *mastodontest.Server {
	w.t.Helper()
	options := mastodontest.Options{Token: accessToken, TokenMayRead: true, Now: w.clock.Now}
	for _, c := range change {
		c(&options)
	}
	server := mastodontest.New(options)
	w.t.Cleanup(server.Close)
	return server
}

// secret makes or changes a Secret with one value.
func (w *world) secret(name, key, value string) {
	w.t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}}
	secret.StringData = map[string]string{key: value}
	err := w.client.Create(w.t.Context(), secret)
	if err != nil {
		err = w.client.Update(w.t.Context(), secret)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// destination makes a FeedDestination with its Secret, of the same name.
func (w *world) destination(name, serverURL string, change ...func(*v1alpha1.FeedDestination)) *v1alpha1.FeedDestination {
	w.t.Helper()
	w.secret(name, "accessToken", accessToken)
	made := &v1alpha1.FeedDestination{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}}
	made.Spec.Mastodon = &v1alpha1.MastodonDestination{Server: serverURL, SecretRef: v1alpha1.SecretReference{Name: name}}
	for _, c := range change {
		c(made)
	}
	if err := w.client.Create(w.t.Context(), made); err != nil {
		w.t.Fatal(err)
	}
	return made
}

// postsTo names the destinations of a source.
func postsTo(names ...string) func(*v1alpha1.FeedSource) {
	return func(source *v1alpha1.FeedSource) {
		for _, name := range names {
			source.Spec.Destinations = append(source.Spec.Destinations, v1alpha1.DestinationReference{Name: name})
		}
	}
}

// untilDestination waits until a destination passes a check, and returns it.
func (w *world) untilDestination(name string, check func(*v1alpha1.FeedDestination) error) *v1alpha1.FeedDestination {
	w.t.Helper()
	var found v1alpha1.FeedDestination
	apitest.Eventually(w.t, func(ctx context.Context) error {
		found = v1alpha1.FeedDestination{}
		key := types.NamespacedName{Namespace: w.namespace, Name: name}
		if err := w.client.Get(ctx, key, &found); err != nil {
			return err
		}
		err := check(&found)
		if err != nil {
			w.lookAt(controllers.DestinationKey, key)
		}
		return err
	})
	checkRules(w.t, found.Generation, found.Status.ObservedGeneration, found.Status.Conditions)
	return &found
}

// hasReady checks the Ready condition of conditions.
func hasReady(conditions []metav1.Condition, status metav1.ConditionStatus, reason string) error {
	for _, condition := range conditions {
		if condition.Type != v1alpha1.ConditionReady {
			continue
		}
		if condition.Status != status || condition.Reason != reason {
			return fmt.Errorf("Ready is %s/%s (%s), want %s/%s", condition.Status, condition.Reason, condition.Message, status, reason)
		}
		return nil
	}
	return errors.New("there is no Ready condition")
}

// onePostEach checks that each text is in exactly one post, and that there are no others.
func onePostEach(server *mastodontest.Server, texts ...string) error {
	posts := server.Posts()
	if len(posts) != len(texts) {
		return fmt.Errorf("%d posts, want %d: %+v", len(posts), len(texts), posts)
	}
	for _, text := range texts {
		found := 0
		for _, post := range posts {
			if strings.Contains(post.Text, text) {
				found++
			}
		}
		if found != 1 {
			return fmt.Errorf("%d posts about %q, want 1: %+v", found, text, posts)
		}
	}
	return nil
}

// R4.1, R4.4, R4.5
func TestASummaryIsPostedOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.mastodon()
	w.destination("press", server.URL)
	w.untilDestination("press", func(d *v1alpha1.FeedDestination) error {
		return hasReady(d.Status.Conditions, metav1.ConditionTrue, v1alpha1.ReasonSucceeded)
	})
	web := feedtest.New(t)
	web.List(web.Entries("news", 3)...)
	w.source("news", web.FeedURL(), postsTo("press"))
	items := w.untilItems("news", allProcessed(3))
	if err := onePostEach(server, "/articles/news-1", "/articles/news-2", "/articles/news-3"); err != nil {
		t.Error(err)
	}
	for i := range items {
		row := items[i].Status.Deliveries[0]
		if row.State != v1alpha1.DeliveryDone || row.ID == "" || row.URL == "" || row.Time == nil || row.FirstAttemptTime == nil {
			t.Errorf("delivery %+v", row)
		}
	}
	found := w.untilDestination("press", func(d *v1alpha1.FeedDestination) error {
		if d.Status.Delivered != 3 {
			return fmt.Errorf("%d delivered", d.Status.Delivered)
		}
		return nil
	})
	if found.Status.Server == nil || !found.Status.Server.CanRead || !found.Status.Server.HonoursKeys || found.Status.Server.MaxCharacters != 500 {
		t.Errorf("server %+v", found.Status.Server)
	}
}

// R4.4: what was posted is known by the destination's name.
func TestADestinationThatIsDeletedAndAppliedAgainPostsNothingAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.mastodon()
	made := w.destination("press", server.URL)
	web := feedtest.New(t)
	web.List(web.Entries("news", 2)...)
	w.source("news", web.FeedURL(), postsTo("press"))
	w.untilItems("news", allProcessed(2))
	if err := w.client.Delete(t.Context(), made); err != nil {
		t.Fatal(err)
	}
	web.List(web.Entries("news", 3)...)
	w.poll("news")
	waits := func(items []v1alpha1.FeedItem) error {
		for i := range items {
			if strings.Contains(items[i].Spec.URL, "news-3") {
				if message := readyMessage(&items[i]); items[i].Status.Reason != v1alpha1.ReasonWaiting || !strings.Contains(message, `"press"`) {
					return fmt.Errorf("%s/%s: %s", items[i].Status.Phase, items[i].Status.Reason, message)
				}
				return nil
			}
		}
		return errors.New("the third item is not there")
	}
	w.untilItems("news", waits)
	w.destination("press", server.URL)
	w.untilItems("news", allProcessed(3))
	w.restart()
	w.poll("news")
	if err := onePostEach(server, "/articles/news-1", "/articles/news-2", "/articles/news-3"); err != nil {
		t.Error(err)
	}
}

// R3.8: items fail without calls while the token is wrong, and revive by themselves.
func TestItemsReviveWhenAWrongTokenIsReplaced(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.mastodon()
	w.destination("press", server.URL)
	w.secret("press", "accessToken", "wrong")
	refused := func(d *v1alpha1.FeedDestination) error {
		return hasReady(d.Status.Conditions, metav1.ConditionFalse, v1alpha1.ReasonCredentialsRefused)
	}
	w.untilDestination("press", func(d *v1alpha1.FeedDestination) error {
		w.clock.Step(5 * time.Minute)
		return refused(d)
	})
	web := feedtest.New(t)
	web.List(web.Entries("news", 3)...)
	w.source("news", web.FeedURL(), postsTo("press"))
	w.untilItems("news", eachOf(3, refusedItem))
	if made := server.Count("POST /api/v1/statuses"); made != 0 {
		t.Errorf("%d calls were made with a token that is known to be wrong", made)
	}
	w.restart() // what is known of the token survives
	w.untilDestination("press", refused)
	w.clock.Step(30 * time.Second) // before the token is right: posts that are under way then would run out of time
	w.secret("press", "accessToken", accessToken)
	w.untilDestination("press", func(d *v1alpha1.FeedDestination) error {
		return hasReady(d.Status.Conditions, metav1.ConditionTrue, v1alpha1.ReasonSucceeded)
	})
	w.untilItems("news", allProcessed(3))
	if err := onePostEach(server, "/articles/news-1", "/articles/news-2", "/articles/news-3"); err != nil {
		t.Error(err)
	}
}
