// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/geminitest"
	"github.com/feed-operator/feed-operator/internal/mastodontest"
)

// brakes are how a person stops the posts of a source.
var brakes = map[string]func(*world, *v1alpha1.FeedSource){
	"suspended": func(w *world, source *v1alpha1.FeedSource) { w.change(source, `{"spec":{"suspend":true}}`) },
	"deleted": func(w *world, source *v1alpha1.FeedSource) {
		if err := w.client.Delete(w.t.Context(), source); err != nil {
			w.t.Fatal(err)
		}
	},
	"without the destination": func(w *world, source *v1alpha1.FeedSource) { w.change(source, `{"spec":{"destinations":null}}`) },
}

// brake stops a source, and returns when the operator can know.
func (w *world) brake(source *v1alpha1.FeedSource, how func(*world, *v1alpha1.FeedSource)) {
	w.t.Helper()
	how(w, source)
	var live v1alpha1.FeedSource
	gone := w.client.Get(w.t.Context(), client.ObjectKeyFromObject(source), &live)
	await(w.t, func() error {
		var known v1alpha1.FeedSource
		err := w.manager.GetClient().Get(w.t.Context(), client.ObjectKeyFromObject(source), &known)
		switch {
		case gone != nil && !apierrors.IsNotFound(err):
			return errNotYet
		case gone == nil && (err != nil || known.Generation != live.Generation):
			return errNotYet
		}
		return nil
	})
}

// R1.9, R4.4: a source is stopped while a model writes the summary of its item. That is kept, and not posted; once the
// source goes on, it is posted once.
func TestWhatIsStoppedDuringTheModelsCallIsNotPosted(t *testing.T) {
	t.Parallel()
	for how, stop := range brakes {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			server := w.mastodon()
			w.openDestination("press", server.URL)
			called, answer := make(chan struct{}, 16), make(chan struct{})
			w.gemini("gemini").OnCall(func(geminitest.Call) (geminitest.Answer, bool) {
				called <- struct{}{}
				<-answer
				return geminitest.Answer{}, false
			})
			w.untilProvider("gemini", isReady)
			web := feedtest.New(t)
			web.List(web.Entries("news", 1)...)
			source := w.source("news", web.FeedURL(), postsTo("press"), summarizedBy("gemini"))
			<-called
			w.brake(source, stop)
			close(answer)
			w.awaitItem("news", func(item *v1alpha1.FeedItem) error {
				if item.Status.Summary == nil {
					return errors.New("no summary yet")
				}
				return nil
			})
			w.pause("news")
			if posts := len(server.Posts()); posts != 0 {
				t.Fatalf("%d posts of a source that is %s", posts, how)
			}
			if how == "suspended" {
				w.change(source, `{"spec":{"suspend":false}}`)
				w.untilItems("news", allProcessed(1))
				if err := onePostEach(server, "/articles/news-1"); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// R1.9, R4.4: a source is stopped while it is found out that a post was not made, which is not made then.
func TestWhatIsStoppedDuringTheLookIsNotPostedAgain(t *testing.T) {
	t.Parallel()
	for how, stop := range brakes {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			server := w.mastodon(ignoresKeys)
			w.openDestination("press", server.URL)
			looked, answer := make(chan struct{}, 16), make(chan struct{})
			var gated atomic.Bool
			asked := w.watch(server, func(_ http.ResponseWriter, r *http.Request) bool {
				if gated.Load() && r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/statuses") {
					looked <- struct{}{}
					<-answer
				}
				return false
			})
			server.OnPost(func(p *mastodontest.Pending) bool {
				p.Reset()
				return true
			})
			source := w.oneItem("press")
			item := w.untilItem("news", hasFailed("press", 1))
			server.OnPost(nil)
			gated.Store(true)
			w.clock.SetTime(item.Status.Deliveries[0].NextRetryTime.Time)
			w.lookAtItems("news")
			<-looked
			w.brake(source, stop)
			close(answer)
			w.pause("news")
			if posts, _ := asked.posted(); len(posts) != 1 {
				t.Errorf("sent %d times, want once, before the source was %s", len(posts), how)
			}
		})
	}
}
