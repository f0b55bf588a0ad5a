// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"net/http"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/webhooktest"
)

// R3.13, R4.3: items that wait for a batch are read by who makes it, and not each by itself: neither when their destination is opened, for which thousands may
// wait, nor when their results are written and the cache has not heard of that.
func TestAnItemThatWaitsForABatchIsNotReadForItself(t *testing.T) {
	t.Parallel()
	const n, looks = 12, 6
	w := newWorld(t)
	server := w.webhook()
	release, asked := make(chan struct{}), make(chan struct{})
	server.OnRequest(func(*webhooktest.Pending) bool {
		close(asked)
		<-release
		return false
	})
	w.webhookTo("ops", server.URL, inBatches(n, time.Hour))
	w.untilItemsWaitFor("ops", n)

	w.untilUpToDate()
	var reads, byThemselves atomic.Int32
	w.faults.on(func(r *http.Request) *metav1.Status {
		if r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/feeditems/news-") {
			reads.Add(1)
			if strings.Contains(string(debug.Stack()), "/controllers/feeditem.") { // whoever asks runs this
				byThemselves.Add(1)
			}
		}
		return nil
	})
	w.changeDestination("ops", `{"spec":{"suspend":false}}`)
	<-asked
	hears := w.faults.behind.close(t)
	close(release)
	w.untilItems("news", allProcessed(n))
	w.untilNoBatch()
	for range looks { // who makes the next batch finds out once that they do not wait any more
		w.lookAtBatches()
		w.poll("news")
	}
	hears()
	w.stop()
	if got := reads.Load(); got > 5*n { // and who announces one may have to make it again
		t.Errorf("%d items were read %d times", n, got)
	}
	if got := byThemselves.Load(); got >= n { // the cache may have heard of one while it was looked at
		t.Errorf("%d items were read %d times by themselves", n, got)
	}
	wantOnceEach(t, server, n)
}

// R3.10, R4.3: an item that waits for a batch by what the cache has, which has not heard that the batch has ended, is looked at again when it hears: what is
// left to do is done. The sender of a batch wakes it before.
func TestAnItemThatWaitsByAnOldFormGoesOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server, admin := w.webhook(), w.mastodon()
	release, asked := make(chan struct{}), make(chan struct{})
	server.OnRequest(func(p *webhooktest.Pending) bool {
		close(asked)
		<-release
		p.Answer(http.StatusUnprocessableEntity, "text/plain", "")
		return true
	})
	w.webhookTo("ops", server.URL, inBatches(1, time.Hour))
	w.openDestination("admin", admin.URL, seenBy(v1alpha1.VisibilityPrivate))
	web := feedtest.New(t)
	web.List(web.Entries("news", 1)...)
	w.source("news", web.FeedURL(), postsTo("ops"), tells("admin"))
	<-asked
	hears := w.faults.behind.close(t)
	close(release)
	w.awaitItem("news", inState("ops", v1alpha1.DeliveryDead))
	w.poll("news") // what looks at the item by its old form has had its time
	hears()
	w.awaitItem("news", told("admin", v1alpha1.NotificationDone, 0))
}

// untilItemsWaitFor suspends a destination, and has so many items of a source wait for that.
func (w *world) untilItemsWaitFor(destination string, n int) {
	w.t.Helper()
	w.changeDestination(destination, `{"spec":{"suspend":true}}`)
	w.untilDestination(destination, func(d *v1alpha1.FeedDestination) error {
		if !meta.IsStatusConditionFalse(d.Status.Conditions, v1alpha1.ConditionReady) {
			return errNotYet
		}
		return nil
	})
	web := feedtest.New(w.t)
	web.List(web.Entries("news", n)...)
	w.source("news", web.FeedURL(), postsTo(destination))
	w.untilItems("news", func(items []v1alpha1.FeedItem) error { return all(items, n, waitsFor("suspended")) })
}
