// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/controllers"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/mastodontest"
	"github.com/feed-operator/feed-operator/internal/queue"
)

// refuseUntil answers a post with 429 until a time.
func refuseUntil(p *mastodontest.Pending, reset time.Time) {
	p.Header().Set("X-RateLimit-Remaining", "0")
	p.Header().Set("X-RateLimit-Reset", reset.UTC().Format("2006-01-02T15:04:05.000000Z"))
	p.Answer(http.StatusTooManyRequests, "application/json", `{"error":"Too many requests"}`)
}

// aboutArticle returns the item of an article.
func aboutArticle(t *testing.T, items []v1alpha1.FeedItem, article string) types.NamespacedName {
	t.Helper()
	for i := range items {
		if strings.HasSuffix(items[i].Spec.URL, "/articles/"+article) {
			return client.ObjectKeyFromObject(&items[i])
		}
	}
	t.Fatalf("no item of %s", article)
	return types.NamespacedName{}
}

// oneOf checks that one of the items passes a check.
func oneOf(check func(*v1alpha1.FeedItem) error) func([]v1alpha1.FeedItem) error {
	return func(items []v1alpha1.FeedItem) error {
		err := errNotYet
		for i := range items {
			if err = check(&items[i]); err == nil {
				return nil
			}
		}
		return err
	}
}

// R2.3, R4.5: an item's turn has come at one destination while another one refuses it with 429. It keeps its turn, also where it is being looked at at
// that moment by a reconcile for which the API server is slow: at a scarce destination the oldest goes first.
func TestAnItemKeepsItsTurnAtOneDestinationWhileAnotherOneRefusesIt(t *testing.T) {
	t.Parallel()
	const n = 3
	w := newWorld(t)
	reset := w.clock.Now().Add(3 * time.Hour)
	press, chat := w.mastodon(), w.mastodon()
	w.destination("press", press.URL, suspended)
	w.destination("chat", chat.URL, suspended)
	web := feedtest.New(t)
	web.List(web.Entries("news", n)...)
	w.source("news", web.FeedURL(), postsTo("press", "chat"))
	items := w.untilItems("news", allQueued(n))
	second := aboutArticle(t, items, "news-2")

	var posts atomic.Int32
	pressAsked, pressAnswers := make(chan struct{}), make(chan struct{})
	press.OnPost(func(*mastodontest.Pending) bool {
		if posts.Add(1) == 1 { // the oldest one
			close(pressAsked)
			<-pressAnswers
		}
		return false
	})
	chatAsked, chatAnswers := make(chan struct{}), make(chan struct{})
	once := sync.OnceFunc(func() { close(chatAsked) })
	chat.OnPost(func(p *mastodontest.Pending) bool {
		if !strings.Contains(p.Post.Text, "/articles/news-2") {
			return false
		}
		once()
		<-chatAnswers
		refuseUntil(p, reset)
		return true
	})
	w.changeDestination("press", `{"spec":{"suspend":false}}`)
	<-pressAsked
	w.changeDestination("chat", `{"spec":{"suspend":false}}`)
	<-chatAsked

	var reads gate
	open := reads.close(t)
	w.faults.on(func(r *http.Request) *metav1.Status {
		if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/feeditems/"+second.Name) {
			reads.pass(r)
		}
		return nil
	})
	w.lookAt(controllers.ItemKey, second)
	await(t, reads.isHeld)
	close(pressAnswers)
	w.awaitItems("news", oneOf(inState("press", v1alpha1.DeliveryDone))) // so it is the second one's turn there
	close(chatAnswers)
	w.awaitItems("news", oneOf(hasFailed("chat", 1)))
	w.poll("news") // what is wrong has had its time
	open()
	w.untilItems("news", eachOf(n, inState("press", v1alpha1.DeliveryDone)))
	if diff := gocmp.Diff(oldestFirst(n), order(press)); diff != "" {
		t.Errorf("order of posts: %s", diff)
	}
}

// R3.13: a person takes a destination off a source of which many items are queued, while the API server is slow to write. No more of them are worked on at
// once than there are places.
func TestNoMoreItemsAreWorkedOnThanThereArePlacesWhileWritesAreSlow(t *testing.T) {
	t.Parallel()
	const workers = 2
	const n = 24
	w := newWorld(t, func(w *world) { w.workers = workers })
	server := w.mastodon()
	w.destination("press", server.URL, suspended)
	web := feedtest.New(t)
	web.List(web.Entries("news", n)...)
	source := w.source("news", web.FeedURL(), postsTo("press"))
	w.untilItems("news", allQueued(n))
	var writes gate
	var underWay, most atomic.Int32
	open := writes.close(t)
	w.onItemWrites(func(r *http.Request, _ string) *metav1.Status {
		now := underWay.Add(1)
		defer underWay.Add(-1)
		for before := most.Load(); now > before; before = most.Load() {
			if most.CompareAndSwap(before, now) {
				break
			}
		}
		writes.pass(r)
		return nil
	})
	if err := w.client.Patch(t.Context(), source, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"destinations":null}}`))); err != nil {
		t.Fatal(err)
	}
	await(t, writes.isHeld)
	w.lookAtItems("news")
	w.poll("news")
	open()
	if places := queue.LimitOf(workers).Slots(); int(most.Load()) > places {
		t.Errorf("%d items were written at once, with %d places", most.Load(), places)
	}
	w.untilItems("news", allProcessed(n))
}

// R5.1: a destination is deleted after a post, and made again by the same name for another server, before its counts were written. They are not those of the
// one that replaces it.
func TestTheCountsOfADestinationAreNotThoseOfTheOneThatReplacesIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server, another := w.mastodon(), w.mastodon()
	replaced := w.openDestination("press", server.URL)
	w.oneItem("press")
	w.untilItems("news", allProcessed(1))
	if err := w.client.Delete(t.Context(), replaced); err != nil {
		t.Fatal(err)
	}
	w.openDestination("press", another.URL)
	w.restart() // what was counted is written then
	w.untilDestination("press", func(d *v1alpha1.FeedDestination) error {
		if d.Status.Delivered != 0 || len(another.Posts()) != 0 {
			t.Errorf("%d delivered of %d posts", d.Status.Delivered, len(another.Posts()))
		}
		return nil
	})
}

// R3.13, R3.8: the credentials of a destination are refused for which many items wait, while the API server is slow to write. No more of them are worked on at
// once than there are places.
func TestNoMoreItemsAreGivenUpAtOnceThanThereArePlacesWhileWritesAreSlow(t *testing.T) {
	t.Parallel()
	const workers = 2
	const n = 24
	w := newWorld(t, func(w *world) { w.workers = workers })
	server := w.mastodon(func(options *mastodontest.Options) { options.Token = "another-token-than-that" })
	w.destination("press", server.URL, suspended)
	web := feedtest.New(t)
	web.List(web.Entries("news", n)...)
	w.source("news", web.FeedURL(), postsTo("press"))
	w.untilItems("news", allQueued(n))
	var writes gate
	var underWay, most atomic.Int32
	open := writes.close(t)
	w.onItemWrites(func(r *http.Request, _ string) *metav1.Status {
		now := underWay.Add(1)
		defer underWay.Add(-1)
		for before := most.Load(); now > before; before = most.Load() {
			if most.CompareAndSwap(before, now) {
				break
			}
		}
		writes.pass(r)
		return nil
	})
	w.changeDestination("press", `{"spec":{"suspend":false}}`)
	w.untilDestination("press", isClosed(v1alpha1.ReasonCredentialsRefused))
	w.lookAtItems("news")
	await(t, writes.isHeld)
	w.lookAtItems("news")
	open()
	if places := queue.LimitOf(workers).Slots(); int(most.Load()) > places {
		t.Errorf("%d items were written at once, with %d places", most.Load(), places)
	}
	w.untilItems("news", eachOf(n, inState("press", v1alpha1.DeliveryDead)))
}

// R4.4, R3.14: a post was refused while the cache was behind. Hours later a person has it tried again, and the answer to that is lost. Its key is as good as any
// that was used a moment ago: it is posted again by that, and no person is asked.
func TestAnIntentThatIsOverIsForgottenThoughTheCacheIsBehind(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.mastodon(writeOnly)
	var posts atomic.Int32
	asked, answers := make(chan struct{}), make(chan struct{})
	server.OnPost(func(p *mastodontest.Pending) bool {
		switch posts.Add(1) {
		case 1:
			close(asked)
			<-answers
			p.Answer(http.StatusUnprocessableEntity, "application/json", `{"error":"Validation failed"}`)
		case 2:
			p.Commit()
			p.Reset()
		default:
			return false
		}
		return true
	})
	w.openDestination("press", server.URL)
	w.oneItem("press")
	<-asked
	open := w.faults.behind.close(t)
	close(answers)
	item := w.awaitItem("news", inState("press", v1alpha1.DeliveryDead))
	w.poll("news") // what is wrong has had its time
	open()
	w.clock.Step(2 * time.Hour) // longer than a key is trusted
	w.retry(item.Name, "again")
	w.untilItem("news", inState("press", v1alpha1.DeliveryIntent))
	ended := w.untilEnded("news", 1)
	if err := inPhase(v1alpha1.PhaseProcessed, v1alpha1.ReasonNone)(&ended[0]); err != nil || len(server.Posts()) != 1 {
		t.Errorf("%v; %d posts after %d requests", err, len(server.Posts()), posts.Load())
	}
}

// R4.4, R3.14: the process is frozen for five minutes while it waits to make a call again, and the API server's clock is set back by a day meanwhile. Another
// one may have made the post by then: it is not made before it was looked for.
func TestARepetitionInPlaceEndsWithItsIntentThoughTheClockIsSetBackMeanwhile(t *testing.T) {
	t.Parallel()
	w, log := loggingWorld(t, repeating)
	server := w.mastodon()
	net, _ := cutOffPost(t, server, w)
	log.callFailed(t)
	net.heal()
	w.ahead.Store(-int64(24 * time.Hour))
	w.clock.FakeClock.Step(5 * time.Minute)
	item := w.awaitItem("news", func(item *v1alpha1.FeedItem) error {
		if inState("press", v1alpha1.DeliveryIntent)(item) == nil {
			return errNotYet
		}
		return nil
	})
	if len(server.Posts()) != 0 {
		t.Errorf("posted five minutes after its intent: %+v", item.Status.Deliveries[0])
	}
}

// R4.4, R3.14: so it is where the process is frozen between the write of the intent and the call.
func TestACallIsNotMadeLongAfterItsIntentThoughTheClockIsSetBackMeanwhile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.mastodon()
	asked := w.watch(server, nil)
	w.openDestination("press", server.URL)
	frozen := make(chan struct{})
	once := sync.OnceFunc(func() {
		w.ahead.Store(-int64(24 * time.Hour))
		w.clock.FakeClock.Step(5 * time.Minute)
		close(frozen)
	})
	w.faults.then(func(r *http.Request) {
		if r.Method == http.MethodPatch && strings.Contains(r.URL.Path, "/feeditems/") {
			once()
		}
	})
	w.oneItem("press")
	<-frozen
	w.awaitItem("news", func(item *v1alpha1.FeedItem) error {
		_, err := rowTo(item, "press")
		return err
	})
	w.poll("news") // what is wrong has had its time
	if posts, looks := asked.posted(); len(posts) != 0 && looks == 0 {
		t.Errorf("%d requests to post five minutes after the intent was written, and nobody had looked", len(posts))
	}
}
