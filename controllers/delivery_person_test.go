// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/mastodontest"
)

// R2.8, R3.7, R4.4: a person annotates the item during the call: what came of the call is not lost,
// nothing is posted twice, and the token is used once.
func TestARetryThatIsAskedForDuringThePostMakesNoOtherPost(t *testing.T) {
	t.Parallel()
	for what, test := range map[string]struct {
		ends    func(*mastodontest.Pending) bool
		repeats int
	}{
		"the call succeeds":                   {func(*mastodontest.Pending) bool { return false }, 0},
		"its answer is lost":                  {func(p *mastodontest.Pending) bool { p.Commit(); p.Reset(); return true }, 0},
		"it breaks before anything is posted": {func(p *mastodontest.Pending) bool { p.Reset(); return true }, 1},
		"it is refused for the pace": {func(p *mastodontest.Pending) bool {
			p.Answer(http.StatusTooManyRequests, "application/json", "{}")
			return true
		}, 1},
		"it is published, and answered wrongly": {func(p *mastodontest.Pending) bool {
			p.Commit()
			p.Answer(http.StatusBadGateway, "text/html", "")
			return true
		}, 0},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			server := w.mastodon(ignoresKeys)
			w.openDestination("press", server.URL)
			asked := w.watch(server, nil)
			var calls atomic.Int32
			server.OnPost(func(p *mastodontest.Pending) bool {
				if calls.Add(1) > 1 {
					return false
				}
				items, err := w.items(t.Context(), "news")
				if err != nil || len(items) != 1 {
					t.Errorf("%d items, %v", len(items), err)
					return false
				}
				w.retry(items[0].Name, "during")
				return test.ends(p)
			})
			w.oneItem("press")
			w.untilItem("news", func(item *v1alpha1.FeedItem) error {
				if item.Status.LastHandledRetry != "during" {
					return fmt.Errorf("the token is not noted: %+v", item.Status)
				}
				return nil
			})
			w.clock.Step(4 * time.Hour) // a person's retry waits for no backoff, but as long as the server has asked for
			item := w.untilEnded("news", 1)[0]
			if err := inPhase(v1alpha1.PhaseProcessed, v1alpha1.ReasonNone)(&item); err != nil {
				t.Error(err)
			}
			w.restart() // the token does nothing any more
			w.lookAtItems("news")
			if posts, _ := asked.posted(); len(posts) != 1+test.repeats {
				t.Errorf("%d requests to post, want %d", len(posts), 1+test.repeats)
			}
			w.checkPosts(server, &item, foundAgain)
		})
	}
}

// Pinned deliveries: a destination that is removed from the spec is dropped, unless it is posted
// already; what is kept is posted.
func TestADestinationThatIsRemovedFromTheSpecIsDropped(t *testing.T) {
	t.Parallel()
	t.Run("while the item waits for it", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		server := w.mastodon()
		w.destination("press", server.URL, func(d *v1alpha1.FeedDestination) { d.Spec.Suspend = true })
		source := w.oneItem("press")
		w.untilItem("news", inState("press", v1alpha1.DeliveryQueued))
		w.change(source, `{"spec":{"destinations":null}}`)
		w.untilItem("news", inState("press", v1alpha1.DeliveryDropped))
		w.wantDropped(server, 0)
	})
	t.Run("while its object does not exist", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		server := w.mastodon()
		source := w.oneItem("press")
		w.untilItem("news", inState("press", v1alpha1.DeliveryQueued))
		w.change(source, `{"spec":{"destinations":null}}`)
		w.untilItem("news", inState("press", v1alpha1.DeliveryDropped))
		w.openDestination("press", server.URL)
		w.wantDropped(server, 0)
	})
	t.Run("while a retry is due later", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		server := w.mastodon()
		w.openDestination("press", server.URL)
		server.OnPost(func(p *mastodontest.Pending) bool {
			p.Answer(http.StatusTooManyRequests, "application/json", "{}")
			return true
		})
		source := w.oneItem("press")
		w.untilItem("news", hasFailed("press", 1))
		server.OnPost(nil)
		w.change(source, `{"spec":{"destinations":null}}`)
		w.untilEnded("news", 1)
		w.wantDropped(server, 1)
	})
	t.Run("while nobody knows, and it was not posted", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		server := w.mastodon()
		w.openDestination("press", server.URL)
		server.OnPost(func(p *mastodontest.Pending) bool { p.Reset(); return true })
		source := w.oneItem("press")
		w.untilItem("news", hasFailed("press", 1))
		server.OnPost(nil)
		w.change(source, `{"spec":{"destinations":null}}`)
		w.untilEnded("news", 1)
		w.wantDropped(server, 1)
	})
	t.Run("while nobody knows, and it was posted", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		server := w.mastodon()
		w.openDestination("press", server.URL)
		server.OnPost(func(p *mastodontest.Pending) bool { p.Commit(); p.Reset(); return true })
		source := w.oneItem("press")
		w.untilItem("news", hasFailed("press", 1))
		server.OnPost(nil)
		w.change(source, `{"spec":{"destinations":null}}`)
		item := w.untilEnded("news", 1)[0]
		w.checkPosts(server, &item, foundAgain)
	})
	t.Run("but not the other one", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		server := w.mastodon()
		suspended := func(d *v1alpha1.FeedDestination) { d.Spec.Suspend = true }
		w.destination("press", server.URL, suspended)
		w.destination("blog", server.URL, suspended)
		source := w.oneItem("press", "blog")
		w.untilItem("news", inState("press", v1alpha1.DeliveryQueued))
		w.change(source, `{"spec":{"destinations":[{"name":"blog"}]}}`)
		w.untilItem("news", inState("press", v1alpha1.DeliveryDropped))
		w.changeDestination("blog", `{"spec":{"suspend":false}}`)
		w.untilItem("news", inState("blog", v1alpha1.DeliveryDone))
		w.changeDestination("press", `{"spec":{"suspend":false}}`)
		w.wantProcessed(server, 1)
	})
}

// wantDropped checks that the item has ended well without a post.
func (w *world) wantDropped(server *mastodontest.Server, calls int) {
	w.t.Helper()
	item := w.untilItem("news", inPhase(v1alpha1.PhaseProcessed, v1alpha1.ReasonNone))
	if err := inState("press", v1alpha1.DeliveryDropped)(item); err != nil {
		w.t.Error(err)
	}
	w.lookAtItems("news")
	if got := server.Count("POST /api/v1/statuses"); got != calls || len(server.Posts()) != 0 {
		w.t.Errorf("%d requests to post, want %d; posts %+v", got, calls, server.Posts())
	}
}

// wantProcessed checks that the item has ended well with so many posts in all.
func (w *world) wantProcessed(server *mastodontest.Server, posts int) {
	w.t.Helper()
	w.untilItem("news", inPhase(v1alpha1.PhaseProcessed, v1alpha1.ReasonNone))
	w.lookAtItems("news")
	if made := server.Posts(); len(made) != posts {
		w.t.Errorf("%d posts, want %d: %+v", len(made), posts, made)
	}
}

// R2.2, R3.7: a post that the server refuses is given up, and posted when a person has mended the
// template and asks for it.
func TestARefusedPostIsMadeOnceTheTemplateIsMended(t *testing.T) {
	t.Parallel()
	for what, answer := range map[string]struct {
		status int
		body   string
	}{
		"as Mastodon refuses":   {http.StatusUnprocessableEntity, `{"error":"Validation failed: Text is bad"}`},
		"as GoToSocial refuses": {http.StatusBadRequest, `{"error":"Bad Request: text is bad"}`},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			server := w.mastodon()
			server.OnPost(func(p *mastodontest.Pending) bool {
				if !strings.Contains(p.Post.Text, "WRONG") {
					return false
				}
				p.Answer(answer.status, "application/json", answer.body)
				return true
			})
			w.openDestination("press", server.URL, func(d *v1alpha1.FeedDestination) { d.Spec.Template = "WRONG {{.Title}} {{.URL}}" })
			w.oneItem("press")
			item := w.untilItem("news", inPhase(v1alpha1.PhaseFailed, v1alpha1.ReasonInvalidConfiguration))
			if failed := item.Status.Failure; failed.HTTPStatus != int32(answer.status) || failed.Stage != v1alpha1.StageDeliver || failed.Retryable {
				t.Errorf("failure %+v", failed)
			}
			w.clock.Step(24 * time.Hour)
			w.lookAtItems("news")
			if got := server.Count("POST /api/v1/statuses"); got != 1 {
				t.Errorf("%d requests to post, want 1: no retry cures it", got)
			}
			w.changeDestination("press", `{"spec":{"template":"{{.Title}} {{.URL}}"}}`)
			w.retry(item.Name, "mended")
			w.wantProcessed(server, 1)
		})
	}
}

// R2.2, R4.1: an item that fits nowhere is given up without a call.
func TestAPostThatCannotBeMadeIsGivenUpWithoutACall(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.mastodon(func(o *mastodontest.Options) { o.MaxCharacters = 10 })
	w.openDestination("press", server.URL)
	w.oneItem("press")
	item := w.untilItem("news", func(item *v1alpha1.FeedItem) error {
		if item.Status.Phase != v1alpha1.PhaseFailed {
			return fmt.Errorf("%s/%s", item.Status.Phase, item.Status.Reason)
		}
		return nil
	})
	if failed := item.Status.Failure; failed.Stage != v1alpha1.StageDeliver || failed.Object != "press" || failed.Retryable {
		t.Errorf("failure %+v", failed)
	}
	if got := server.Count("POST /api/v1/statuses"); got != 0 {
		t.Errorf("%d requests to post", got)
	}
}

// R3.7, R4.4: where nobody but a person can know, a person can have it posted.
func TestAnUncertainPostIsMadeWhenAPersonAsksForIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.mastodon(both(ignoresKeys, writeOnly))
	w.openDestination("press", server.URL)
	server.OnPost(func(p *mastodontest.Pending) bool { p.Reset(); return true })
	w.oneItem("press")
	w.untilItem("news", hasFailed("press", 1))
	server.OnPost(nil)
	item := w.untilEnded("news", 1)[0]
	if err := inPhase(v1alpha1.PhaseFailed, v1alpha1.ReasonDeliveryUncertain)(&item); err != nil {
		t.Fatal(err)
	}
	w.restart()
	w.lookAtItems("news")
	if got := server.Count("POST /api/v1/statuses"); got != 1 {
		t.Fatalf("%d requests to post before anybody asked for the second", got)
	}
	w.retry(item.Name, "it is not there")
	w.wantProcessed(server, 1)
	w.retry(item.Name, "it is not there")
	w.wantProcessed(server, 1)
}

// R4.4: a person who asks for a post that is there after all does not get a second one.
func TestAPersonWhoErrsMakesNoSecondPost(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var mayRead atomic.Bool
	server := w.mastodon(ignoresKeys)
	w.watch(server, func(rw http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodGet || strings.HasSuffix(r.URL.Path, "/instance") || mayRead.Load() {
			return false
		}
		http.Error(rw, `{"error":"This action is outside the authorized scopes"}`, http.StatusForbidden)
		return true
	})
	w.openDestination("press", server.URL)
	server.OnPost(func(p *mastodontest.Pending) bool { p.Commit(); p.Reset(); return true })
	w.oneItem("press")
	w.untilItem("news", hasFailed("press", 1))
	server.OnPost(nil)
	item := w.untilEnded("news", 1)[0]
	if err := inPhase(v1alpha1.PhaseFailed, v1alpha1.ReasonDeliveryUncertain)(&item); err != nil {
		t.Fatal(err)
	}
	mayRead.Store(true)
	w.changeDestination("press", `{"spec":{"maxConcurrent":3}}`) // so that the token is looked at again
	w.retry(item.Name, "post it")
	w.wantProcessed(server, 1)
}
