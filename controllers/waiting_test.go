// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/controllers"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/geminitest"
)

// gate holds questions about a service back while it is shut.
type gate struct {
	mu   sync.Mutex
	shut chan struct{}
	// Held counts the questions that were held back.
	held atomic.Int32
}

// close shuts the gate, and returns what opens it.
func (g *gate) close(t *testing.T) (open func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	shut := make(chan struct{})
	g.shut = shut
	open = sync.OnceFunc(func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.shut = nil
		close(shut)
	})
	t.Cleanup(open)
	return open
}

// pass returns when the gate is open, or the question is given up.
func (g *gate) pass(r *http.Request) {
	g.mu.Lock()
	shut := g.shut
	g.mu.Unlock()
	if shut == nil {
		return
	}
	g.held.Add(1)
	select {
	case <-shut:
	case <-r.Context().Done():
	}
}

// isHeld checks that a question waits at the gate.
func (g *gate) isHeld() error {
	if g.held.Load() == 0 {
		return fmt.Errorf("nothing was asked")
	}
	return nil
}

// gatedGemini is gemini, with a gate before the questions about its model.
func (w *world) gatedGemini(g *gate, change ...func(*v1alpha1.AIProvider)) *geminitest.Server {
	w.t.Helper()
	server := geminitest.New(apiKey)
	w.t.Cleanup(server.Close)
	gated := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			g.pass(r)
		}
		server.ServeHTTP(rw, r)
	}))
	w.t.Cleanup(gated.Close)
	w.secret("gemini", "apiKey", apiKey)
	w.provider("gemini", ofGemini.asks(gated.URL, "gemini", change...))
	return server
}

// byGemini checks that an item is processed, or not yet, and by no other provider than Gemini.
func byGemini(items []v1alpha1.FeedItem) error {
	for i := range items {
		if summary := items[i].Status.Summary; summary != nil && summary.Provider != "gemini" {
			return fmt.Errorf("%s was summarized by %s: %+v", items[i].Name, summary.Provider, items[i].Status.ProviderFailures)
		}
	}
	return nil
}

// R3.6: the first provider of the list is being asked about itself for the first time: the items wait
// for it, and the next one does not take them over.
func TestTheFirstProviderIsWaitedForWhileItIsChecked(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.provider("local", func(*v1alpha1.AIProvider) {})
	w.untilProvider("local", isReady)
	var g gate
	open := g.close(t)
	w.gatedGemini(&g)
	await(t, g.isHeld)
	web := feedtest.New(t)
	web.List(web.Entries("news", 5)...)
	w.source("news", web.FeedURL(), summarizedBy("gemini", "local"))
	w.awaitItems("news", hasItems(5))
	w.lookAtItems("news")
	open()
	if err := byGemini(w.awaitItems("news", allProcessed(5))); err != nil {
		t.Error(err)
	}
}

// R3.6, R3.12: after a restart, items wait for a provider that nobody knows yet; when that turns out to
// be unavailable for long, they go on to the next one.
func TestAfterARestartAnUnavailableProviderIsPassedOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.provider("local", func(*v1alpha1.AIProvider) {})
	var g gate
	w.gatedGemini(&g).Next(geminitest.QuotaPerDay())
	w.untilProvider("gemini", isReady)
	w.untilProvider("local", isReady)
	first, web := feedtest.New(t), feedtest.New(t)
	first.List(first.Entries("first", 1)...)
	w.source("first", first.FeedURL(), summarizedBy("gemini", "local"))
	w.awaitItems("first", allProcessed(1))
	w.untilProvider("gemini", isNotReady(v1alpha1.ReasonQuotaSpent))
	g.held.Store(0)
	open := g.close(t)
	w.restart()
	await(t, g.isHeld)
	web.List(web.Entries("news", 3)...)
	w.source("news", web.FeedURL(), summarizedBy("gemini", "local"))
	w.awaitItems("news", hasItems(3))
	w.lookAtItems("news")
	open()
	w.awaitItems("news", allProcessed(3))
}

// R3.5, R3.6: nor does the next one take over what waits in the line of the first because the operator
// is restarted, and has to ask that one about itself again.
func TestARestartHandsNoItemToTheNextProvider(t *testing.T) {
	t.Parallel()
	const n = 5
	w := newWorld(t)
	w.provider("local", func(*v1alpha1.AIProvider) {})
	var g gate
	server := w.gatedGemini(&g, func(described *v1alpha1.AIProvider) { described.Spec.RequestsPerMinute = new(int32(6)) })
	w.untilProvider("gemini", isReady)
	w.untilProvider("local", isReady)
	web := feedtest.New(t)
	web.List(web.Entries("news", n)...)
	w.source("news", web.FeedURL(), summarizedBy("gemini", "local"))
	w.awaitItems("news", func(items []v1alpha1.FeedItem) error {
		if calls := len(server.Calls()); calls == 0 {
			return fmt.Errorf("no call yet")
		}
		return hasItems(n)(items)
	})
	open := g.close(t)
	w.restart()
	await(t, g.isHeld)
	w.untilProvider("local", isReady)
	w.lookAtItems("news")
	open()
	items := w.awaitItems("news", func(items []v1alpha1.FeedItem) error {
		w.clock.Step(10 * time.Second)
		return allProcessed(n)(items)
	})
	if err := byGemini(items); err != nil {
		t.Error(err)
	}
}

// R3.8, R3.12: the only provider is suspended while the page of an item is fetched. The item says what
// it waits for, and goes on when that is over.
func TestAnItemWaitsForAProviderThatIsSuspendedDuringTheDownload(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	described := w.provider("local", func(*v1alpha1.AIProvider) {})
	w.untilProvider("local", isReady)
	web := feedtest.New(t)
	web.List(web.Entries("news", 1)...)
	asked, goOn := make(chan struct{}, 10), make(chan struct{})
	release := sync.OnceFunc(func() { close(goOn) })
	t.Cleanup(release)
	web.OnRequest(func(_ http.ResponseWriter, r *http.Request) bool {
		if strings.HasPrefix(r.URL.Path, "/articles/") {
			asked <- struct{}{}
			<-goOn
		}
		return false
	})
	w.source("news", web.FeedURL(), summarizedBy("local"))
	<-asked
	w.suspend(described, true)
	w.untilProvider("local", isNotReady(v1alpha1.ReasonSuspended))
	release()
	w.awaitItem("news", waitsFor("suspended"))
	w.suspend(described, false)
	w.awaitItems("news", allProcessed(1))
}

// suspend sets whether an object is suspended.
func (w *world) suspend(object client.Object, yes bool) {
	w.t.Helper()
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"suspend":%t}}`, yes))
	if err := w.client.Patch(w.t.Context(), object, patch); err != nil {
		w.t.Fatal(err)
	}
}

// R3.12: an item that comes while the quota of its provider is spent says so. A new key may have
// quota, so with one the item goes on.
func TestANewKeyEndsTheWaitForSpentQuota(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.gemini("gemini")
	server.Next(geminitest.QuotaPerDay())
	web := feedtest.New(t)
	web.List(web.Entries("news", 1)...)
	w.source("news", web.FeedURL(), summarizedBy("gemini"))
	w.untilProvider("gemini", isNotReady(v1alpha1.ReasonQuotaSpent))
	more := feedtest.New(t)
	more.List(more.Entries("more", 1)...)
	w.source("more", more.FeedURL(), summarizedBy("gemini"))
	w.awaitItem("more", waitsFor("quota"))
	w.secret("gemini", "apiKey", otherKey)
	server.SetKey(otherKey)
	w.clock.Step(5 * time.Minute) // the Secret of an open provider is read no more often
	w.untilProvider("gemini", isReady)
	item := w.awaitItems("more", allProcessed(1))[0]
	if item.Status.RetryCount != 0 || item.Status.FirstFailureTime != nil {
		t.Errorf("waiting was counted: %+v", item.Status)
	}
}

// R3.12: a destination stays away, and fails in another way each time it is asked about itself. The
// items that wait for it are not written for that.
func TestItemsAreNotWrittenWhileADestinationStaysAway(t *testing.T) {
	t.Parallel()
	const n, looks = 5, 6
	w := newWorld(t)
	server := w.mastodon()
	var asked atomic.Int32
	server.OnRequest(func(rw http.ResponseWriter, _ *http.Request) bool {
		rw.WriteHeader(http.StatusInternalServerError + int(asked.Add(1))%4)
		return true
	})
	w.destination("press", server.URL)
	w.untilDestination("press", isClosed(v1alpha1.ReasonCheckFailed))
	web := feedtest.New(t)
	web.List(web.Entries("news", n)...)
	w.source("news", web.FeedURL(), postsTo("press"))
	w.awaitItems("news", eachOf(n, waitsFor(`"press"`)))
	var writes atomic.Int32
	w.onItemWrites(func(*http.Request, string) *metav1.Status {
		writes.Add(1)
		return nil
	})
	for range looks {
		before := asked.Load()
		w.clock.Step(30 * time.Second)
		w.lookAt(controllers.DestinationKey, types.NamespacedName{Namespace: w.namespace, Name: "press"})
		await(t, func() error {
			if asked.Load() == before {
				return fmt.Errorf("not asked again")
			}
			return nil
		})
		w.poll("news") // gives what is wrong the time to happen
	}
	if made := writes.Load(); made != 0 {
		t.Errorf("%d writes of items in %d looks at a destination that stays away", made, looks)
	}
	server.OnRequest(nil)
	w.untilDestination("press", isOpen)
	w.awaitItems("news", allProcessed(n))
}
