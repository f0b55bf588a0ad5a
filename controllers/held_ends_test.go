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
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/controllers"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/geminitest"
	"github.com/feed-operator/feed-operator/internal/provider"
)

// R3.14, R3.8: the only item of a namespace of which no writes are taken is deleted, or its source with it. Nobody is left to find out that
// they are taken again; the notice that the credentials of its provider are refused is sent all the same, and the source does not go on
// saying that its items are held.
func TestAHoldEndsWithTheOnlyItemThatFindsOut(t *testing.T) {
	t.Parallel()
	for name, late := range map[string]bool{"": false, "the operator hears late what it has said": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			holdEndsWithTheOnlyItem(t, late)
		})
	}
}

func holdEndsWithTheOnlyItem(t *testing.T, late bool) {
	t.Helper()
	w := newWorld(t)
	refused := w.refuses(overQuota, "")
	admin := w.mastodon()
	w.openDestination("admin", admin.URL, seenBy(v1alpha1.VisibilityDirect))
	gemini := w.gemini("gemini")
	w.untilProvider("gemini", isReady)
	gemini.OnCall(func(geminitest.Call) (geminitest.Answer, bool) {
		refused.on.Store(true)
		return geminitest.KeyInvalid(), true
	})
	web := feedtest.New(t)
	web.List(web.Entries("news", 1)...)
	w.source("news", web.FeedURL(), summarizedBy("gemini"), tells("admin"))
	var hear atomic.Value
	w.faults.then(func(r *http.Request) { // before the operator knows that it has said it
		var source v1alpha1.FeedSource
		if late && r.Method == http.MethodPatch && strings.Contains(r.URL.Path, "/feedsources/") && hear.Load() == nil &&
			w.client.Get(r.Context(), client.ObjectKey{Namespace: w.namespace, Name: "news"}, &source) == nil && saysHeld("exceeded quota")(&source) == nil {
			hear.Store(w.faults.sourcesBehind.close(t))
		}
	})
	w.untilSourceIn(5*time.Second, "news", saysOf(v1alpha1.ReasonSucceeded))
	if late { // the time of a world waits for what its operator hears
		w.untilGivenUp(refused)
		await(t, func() error {
			if hear.Load() != nil {
				return nil
			}
			w.clock.FakeClock.Step(time.Minute)
			return errNotYet
		})
	} else {
		w.last(refused)
	}
	w.untilSource("news", saysHeld("exceeded quota"))
	items, err := w.items(t.Context(), "news")
	if err != nil || len(items) != 1 {
		t.Fatalf("%d items (%v)", len(items), err)
	}
	if err := w.client.Delete(t.Context(), &items[0], client.Preconditions{UID: &items[0].UID}); err != nil {
		t.Fatal(err)
	}
	if !late {
		w.untilUpToDate()
	}
	refused.on.Store(false)
	posts(t, admin, 1)
	w.untilSource("news", saysHeld(""))
	if open, is := hear.Load().(func()); is {
		open()
	}
}

// R3.14: nothing is taken of anybody, and the one item of which that is known is deleted by its tenant. That ends nothing for the others: one of theirs finds
// out that it is not over, before a model is asked.
func TestTheHoldOfAllOutlastsTheItemThatWasRefused(t *testing.T) {
	t.Parallel()
	const n = 5
	model := &script{}
	w := newWorld(t, func(w *world) {
		w.others = []string{w.api.Namespace(t)}
		w.builtin = model
	})
	refused := w.refuses(databaseFull, "")
	var asked atomic.Int32
	model.answer = func(_ int, request provider.Request) (provider.Response, error) {
		if strings.Contains(request.Title, "theirs") {
			refused.on.Store(true)
		} else {
			asked.Add(1)
		}
		return written(request), nil
	}
	theirs := feedtest.New(t)
	theirs.List(theirs.Entries("theirs", 1)...)
	source := &v1alpha1.FeedSource{ObjectMeta: metav1.ObjectMeta{Namespace: w.others[0], Name: "theirs"}}
	source.Spec.URL = theirs.FeedURL()
	if err := w.client.Create(t.Context(), source); err != nil {
		t.Fatal(err)
	}
	await(t, func() error {
		if !refused.on.Load() {
			return errNotYet
		}
		return nil
	})
	w.untilGivenUp(refused)
	web := feedtest.New(t)
	web.List(web.Entries("news", n)...)
	w.source("news", web.FeedURL())
	w.untilItems("news", hasItems(n))
	w.lookAtItems("news")
	var items v1alpha1.FeedItemList
	if err := w.client.List(t.Context(), &items, client.InNamespace(w.others[0])); err != nil || len(items.Items) != 1 {
		t.Fatalf("%d items (%v)", len(items.Items), err)
	}
	if err := w.client.Delete(t.Context(), &items.Items[0]); err != nil {
		t.Fatal(err)
	}
	await(t, func() error {
		err := errNotYet
		refused.refused.Range(func(item, _ any) bool {
			if name, _ := item.(string); strings.HasPrefix(name, "news-") {
				err = nil
			}
			return err != nil
		})
		return err
	})
	if got := asked.Load(); got != 0 {
		t.Errorf("%d summaries were asked for that could not be written", got)
	}
	refused.on.Store(false)
	await(t, func() error {
		w.clock.FakeClock.Step(5 * time.Second)
		items, err := w.items(t.Context(), "news")
		if err != nil {
			return err
		}
		return allProcessed(n)(items)
	})
}

// R3.14: while the API server is away and takes no writes, an item whose turn it is to find out cannot be read. The next one tries as late as after a
// refusal, and not at once.
func TestTheAPIServerIsNotReadAgainAndAgainWhileItIsAway(t *testing.T) {
	t.Parallel()
	const n = 3
	w := newWorld(t)
	var writing, reading atomic.Bool // whether that is refused
	var writes, reads atomic.Int32
	w.faults.on(func(r *http.Request) *metav1.Status {
		switch ofItem := strings.Contains(r.URL.Path, "/feeditems/news-"); {
		case ofItem && r.Method == http.MethodPatch && writing.Load():
			writes.Add(1)
		case ofItem && r.Method == http.MethodGet && reading.Load():
			reads.Add(1)
		default:
			return nil
		}
		return &metav1.Status{} // no answer
	})
	w.webhookTo("ops", w.webhook().URL)
	w.untilItemsWaitFor("ops", n)
	writing.Store(true)
	w.changeDestination("ops", `{"spec":{"suspend":false}}`)
	await(t, func() error {
		if writes.Load() == 0 {
			return errNotYet
		}
		return nil
	})
	items, err := w.items(t.Context(), "news")
	if err != nil {
		t.Fatal(err)
	}
	reading.Store(true)
	await(t, func() error {
		if reads.Load() > 0 {
			return nil
		}
		w.clock.FakeClock.Step(10 * time.Second)
		return errNotYet
	})
	for range 5 { // the clock stands
		for i := range items {
			w.lookAt(controllers.ItemKey, client.ObjectKeyFromObject(&items[i]))
		}
	}
	if got := reads.Load(); got > 2*n {
		t.Errorf("%d reads while nothing is answered", got)
	}
}
