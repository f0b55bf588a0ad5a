// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/apitest"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
	"github.com/feed-operator/feed-operator/internal/mastodontest"
	"github.com/feed-operator/feed-operator/internal/record"
)

// Each of these rules keeps an item from being posted twice, and the next rule does not catch what one of them lets pass. So each is
// tested alone, where nothing else stands between it and a second post.

// timeout sets how long a call of a destination may take.
func timeout(d time.Duration) func(*v1alpha1.FeedDestination) {
	return func(described *v1alpha1.FeedDestination) { described.Spec.Timeout = &metav1.Duration{Duration: d} }
}

// rewrite writes the status of an item as somebody else does: another operator, or a person.
func (w *world) rewrite(name string, change func(*v1alpha1.FeedItem)) {
	w.t.Helper()
	apitest.Eventually(w.t, func(ctx context.Context) error {
		var item v1alpha1.FeedItem
		if err := w.client.Get(ctx, types.NamespacedName{Namespace: w.namespace, Name: name}, &item); err != nil {
			return err
		}
		change(&item)
		return w.client.Status().Update(ctx, &item)
	})
}

// R3.3, R4.4: what may have been posted is not repeated in place, at a server that would post it again; it is looked for.
func TestWhatMayHaveBeenPostedIsNotRepeatedInPlace(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(*mastodontest.Pending){
		"it says that it has failed":     after(http.StatusInternalServerError, "application/json", `{"error":"Oops"}`),
		"it cuts the connection":         func(p *mastodontest.Pending) { p.Commit(); p.Reset() },
		"a gateway before it has waited": after(http.StatusGatewayTimeout, "text/html", "<html>504</html>"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, repeating)
			server := w.mastodon(ignoresKeys)
			w.openDestination("press", server.URL)
			server.OnPost(func(p *mastodontest.Pending) bool {
				answer(p)
				return true
			})
			w.oneItem("press")
			w.timePasses(func() error {
				items, err := w.items(t.Context(), "news")
				if err != nil {
					return err
				}
				return eachOf(1, hasFailed("press", 1))(items)
			})
			if err := onePostEach(server, "/articles/news-1"); err != nil {
				t.Error(err)
			}
			item := w.untilItem("news", inState("press", v1alpha1.DeliveryIntent))
			w.clock.SetTime(item.Status.Deliveries[0].NextRetryTime.Time)
			w.untilItems("news", allProcessed(1))
			if err := onePostEach(server, "/articles/news-1"); err != nil {
				t.Error(err)
			}
		})
	}
}

// R4.4: a call that is repeated in place ends with its intent: after that somebody else may look for the post, and make it.
func TestARepetitionInPlaceEndsWithItsIntent(t *testing.T) {
	t.Parallel()
	const allowed, took = time.Minute, 8 * time.Second
	var mu sync.Mutex
	var left []time.Duration // for each call, when it begins
	w := newWorld(t, repeating, func(w *world) {
		w.onCall = func(r *http.Request) {
			if r.Method != http.MethodPost {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			until, bounded := r.Context().Deadline()
			if !bounded {
				t.Error("a call has no end")
			}
			if left = append(left, time.Until(until)); len(left) == 1 {
				w.clock.FakeClock.Step(took)
			}
		}
	})
	server := w.mastodon()
	cutOffPost(t, server, w, timeout(allowed))
	w.timePasses(func() error {
		mu.Lock()
		defer mu.Unlock()
		if len(left) < 2 {
			return errNotYet
		}
		return nil
	})
	mu.Lock()
	defer mu.Unlock()
	if most := allowed - took + time.Second; left[1] > most { // an intent ends with a whole second
		t.Errorf("the repetition has %s, want %s at most", left[1], most)
	}
}

// R2.8: what an item says is known to the process that has made it, and is not read for its first attempt. It is in single cases, as where
// the test has it looked at once more.
func TestAnItemThatWasJustMadeIsNotReadForItsFirstAttempt(t *testing.T) {
	t.Parallel()
	const count = 8
	w := newWorld(t)
	var reads atomic.Int32
	w.faults.on(func(r *http.Request) *metav1.Status {
		if r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/feeditems/") {
			reads.Add(1)
		}
		return nil
	})
	for round := range 10 {
		reads.Store(0)
		name := fmt.Sprintf("news-%d", round)
		web := feedtest.New(t)
		web.List(web.Entries(name, count)...)
		w.source(name, web.FeedURL())
		w.untilItems(name, allProcessed(count))
		if reads.Load() < count {
			return
		}
	}
	t.Errorf("%d items were always read as often, at least", count)
}

// R4.4: of two who have read the same state of an item and claim what is to be done next, one has the right to do it.
func TestAClaimIsLostToWhoWasFaster(t *testing.T) {
	t.Parallel()
	item := &v1alpha1.FeedItem{ObjectMeta: metav1.ObjectMeta{Namespace: server.Namespace(t), Name: "item"}}
	item.Spec.SourceRef = v1alpha1.SourceReference{Name: "news", UID: "uid"}
	item.Spec.Title, item.Spec.URL, item.Spec.GUID = "Title", "https://news.example/1", "1"
	if err := server.Client.Create(t.Context(), item); err != nil {
		t.Fatal(err)
	}
	first, second := item.DeepCopy(), item.DeepCopy()
	claim := func(item *v1alpha1.FeedItem, reason v1alpha1.Reason) error {
		return record.Claim(t.Context(), server.Client, item, func(item *v1alpha1.FeedItem) bool {
			item.Status.Phase, item.Status.Reason = v1alpha1.PhasePending, reason
			return true
		})
	}
	if err := claim(first, v1alpha1.ReasonWaiting); err != nil {
		t.Fatal(err)
	}
	if err := claim(second, v1alpha1.ReasonNone); !apierrors.IsConflict(err) {
		t.Errorf("both have claimed it (%v)", err)
	}
}

// R4.4: an operator looks for a post that may have been made. Meanwhile another one, which has found out the same before it, claims the
// post and is making it: what the first finds out belongs to an intent that is not there any more.
func TestWhoLooksLongerThanAnotherDoesNotPost(t *testing.T) {
	t.Parallel()
	looking, answer := make(chan struct{}, 16), make(chan struct{})
	w := newWorld(t)
	server := w.mastodon(ignoresKeys)
	asked := w.watch(server, func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/statuses") && r.URL.Query().Get("limit") != "1" {
			looking <- struct{}{}
			<-answer
		}
		return false
	})
	w.oneItem("press")
	item := w.awaitItem("news", waitsFor(`"press"`))
	w.rewrite(item.Name, func(item *v1alpha1.FeedItem) {
		lifecycle.Intend(item, "press", "", time.Second, w.clock.Now().Add(-time.Hour))
	})
	w.openDestination("press", server.URL)
	w.timePasses(func() error { // as long as the call may have gone on, by the time that passes here
		select {
		case <-looking:
			return nil
		default:
			return errNotYet
		}
	})
	w.rewrite(item.Name, func(item *v1alpha1.FeedItem) { lifecycle.Intend(item, "press", "", time.Minute, w.clock.Now()) })
	close(answer)
	w.pause("news")
	if posts, _ := asked.posted(); len(posts) != 0 {
		t.Fatalf("posted %d times beside another", len(posts))
	}
	w.awaitItem("news", inState("press", v1alpha1.DeliveryIntent))
}

// R4.4: the operator that made a post had a clock five minutes ahead, and nobody saw the end of its call. Another one, whose clock is
// right, finds the post, though it is older than its first attempt.
func TestAPostThatIsOlderThanItsFirstAttemptIsFound(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.mastodon(ignoresKeys)
	w.openDestination("press", server.URL)
	server.OnPost(func(p *mastodontest.Pending) bool {
		p.Commit()
		p.Reset()
		return true
	})
	w.oneItem("press")
	item := w.untilItem("news", hasFailed("press", 1))
	server.OnPost(nil)
	w.rewrite(item.Name, func(item *v1alpha1.FeedItem) {
		first := item.Status.Deliveries[0].FirstAttemptTime
		*first = metav1.NewTime(first.Add(5 * time.Minute))
	})
	w.clock.Step(10 * time.Minute)
	w.untilEnded("news", 1)
	if err := onePostEach(server, "/articles/news-1"); err != nil {
		t.Error(err)
	}
}

// R2.10, R3.7: while the items that are too old are being removed, somebody asks for one of them to be tried again. That one stays: it
// is another one than was judged, also where it was deleted and made again.
func TestWhatChangesWhileItIsRemovedStays(t *testing.T) {
	t.Parallel()
	web := feedtest.New(t)
	web.List(web.Entries("news", 3)...)
	failing(web)
	w := newWorld(t)
	source := w.source("news", web.FeedURL(), triedAgain(0), keepMost(100), rarely)
	items := w.untilItems("news", eachOf(3, inPhase(v1alpha1.PhaseFailed, v1alpha1.ReasonRetryLimitExceeded)))
	w.change(source, `{"spec":{"suspend":true}}`)
	w.untilSource("news", saysOf(v1alpha1.ReasonSuspended))
	w.untilRemembered(1)
	var once sync.Once
	wanted := items[1].Name
	w.faults.on(func(r *http.Request) *metav1.Status {
		if r.Method == http.MethodDelete && strings.HasSuffix(r.URL.Path, "/feeditems/"+wanted) {
			once.Do(func() { w.retry(wanted, "again") })
		}
		return nil
	})
	w.clock.Step(31 * 24 * time.Hour)
	retention := w.retention(w.clock)
	for range 2 { // the second time it is known what was asked for
		w.untilUpToDate()
		if _, err := retention.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(source)}); err != nil {
			t.Fatal(err)
		}
	}
	left, err := w.items(t.Context(), "news")
	if err != nil || len(left) != 1 || left[0].Name != wanted || left[0].UID != items[1].UID {
		t.Errorf("%d items are left, %v; want %s", len(left), err, wanted)
	}
}

// R2.8: a FeedSource was deleted and applied again under the same name. The items of the old one, which the API server has not removed
// yet, are not worked on, posted or counted as if they were the new one's.
func TestItemsOfAnEarlierSourceOfTheSameNameAreLeftAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.mastodon()
	w.openDestination("press", server.URL)
	web, empty := feedtest.New(t), feedtest.New(t)
	web.List(web.Entries("news", 3)...)
	old := w.source("news", web.FeedURL(), postsTo("press"), summarizedBy("later"))
	w.awaitItems("news", eachOf(3, waitsFor(`"later"`)))
	if err := w.client.Delete(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	w.untilUpToDate()
	source := w.source("news", empty.FeedURL(), postsTo("press"))
	w.untilSource("news", func(source *v1alpha1.FeedSource) error {
		if source.Status.LastSuccessTime == nil {
			return errNotYet
		}
		return nil
	})
	if source.UID == old.UID {
		t.Fatal("it is the same source")
	}
	w.pause("news")
	items, err := w.items(t.Context(), "news")
	if err = errors.Join(err, eachOf(3, waitsFor(`"later"`))(items)); err != nil {
		t.Error(err)
	}
	if posts := len(server.Posts()); posts != 0 {
		t.Errorf("%d posts", posts)
	}
	if now := w.untilSource("news", func(*v1alpha1.FeedSource) error { return nil }); now.Status.Items.Unprocessed != 0 {
		t.Errorf("they are counted as those of the new source: %+v", now.Status.Items)
	}
}
