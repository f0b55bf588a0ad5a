// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/apitest"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/webhooktest"
)

// R4.4, R4.3: what one destination has taken in a batch that is not finished says nothing of another one: there each item has the result of its own
// batch, and is sent once.
func TestAnItemIsInBatchesOfTwoDestinations(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first, second := w.webhook(), w.webhook()
	last := ""
	first.OnRequest(func(p *webhooktest.Pending) bool { // the first of two items has its result, and the last one does not get any
		records := batchIn(t, p.Delivery).Records
		switch key := records[len(records)-1].Key; {
		case len(records) > 1:
			last = key
			p.Answer(http.StatusBadRequest, "text/plain", "")
		case key == last:
			p.Answer(http.StatusServiceUnavailable, "text/plain", "")
		default:
			return false
		}
		return true
	})
	answers := make(chan struct{})
	second.OnRequest(func(*webhooktest.Pending) bool {
		<-answers
		return false
	})
	w.webhookTo("ops", first.URL, inBatches(2, time.Hour))
	w.webhookTo("archive", second.URL, inBatches(2, time.Hour))
	web := feedtest.New(t)
	web.List(web.Entries("news", 2)...)
	w.source("news", web.FeedURL(), postsTo("ops", "archive"))
	w.untilBatchFailed(1)
	w.untilItems("news", func(items []v1alpha1.FeedItem) error {
		if err := inState("ops", v1alpha1.DeliveryDone)(&items[0]); err == nil {
			return nil
		}
		return inState("ops", v1alpha1.DeliveryDone)(&items[1])
	})
	close(answers)
	w.untilItems("news", func(items []v1alpha1.FeedItem) error {
		return all(items, 2, inState("archive", v1alpha1.DeliveryDone))
	})
	wantOneBatch(t, second, 2)
}

// R4.3: a destination may have any name that an object may have; also one that would end, where it is cut, as no name may.
func TestABatchOfADestinationWithALongName(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.webhook()
	name := strings.Repeat("a", 199) + ".b" // its first 200 characters end with a dot
	w.webhookTo(name, server.URL, inBatches(2, time.Hour))
	web := feedtest.New(t)
	web.List(web.Entries("news", 2)...)
	w.source("news", web.FeedURL(), postsTo(name))
	w.untilSent(2, v1alpha1.PhaseProcessed, v1alpha1.ReasonNone)
	wantOneBatch(t, server, 2)
}

// R4.4, R4.3: what a request with a batch came to counts also if its FeedDestination was deleted meanwhile, and one of that name is there again: what has
// arrived is not sent again, nor what may have, where that is left to a person.
func TestADestinationIsReplacedWhileItsBatchIsSent(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		lost   bool
		phase  v1alpha1.Phase
		reason v1alpha1.Reason
	}{
		"it arrives":         {phase: v1alpha1.PhaseProcessed},
		"its answer is lost": {lost: true, phase: v1alpha1.PhaseFailed, reason: v1alpha1.ReasonDeliveryUncertain},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			first, second := w.webhook(), w.webhook()
			asked, answers := make(chan struct{}), make(chan struct{})
			first.OnRequest(func(p *webhooktest.Pending) bool {
				close(asked)
				<-answers
				if test.lost {
					p.Reset()
				}
				return test.lost
			})
			w.batches(2, first, inBatches(2, time.Hour), held)
			<-asked
			if err := w.client.Delete(t.Context(), &v1alpha1.FeedDestination{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "ops"}}); err != nil {
				t.Fatal(err)
			}
			w.webhookTo("ops", second.URL, inBatches(2, 0), held)
			close(answers)
			w.untilSent(2, test.phase, test.reason)
			w.lookAtItems("news")
			if second.Requests() != 0 {
				t.Errorf("%d requests to the new one", second.Requests())
			}
		})
	}
}

// R4.3: what is enough for a batch leaves at once, also where the operator has written that it is to be sent and its own cache hears of that later.
func TestABatchLeavesThoughTheCacheHearsLateOfItsItems(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(w *world) { w.byClockOnly = true })
	apitest.OnStall(t, func() {}) // no time passes here
	server := w.webhook()
	w.webhookTo("ops", server.URL, inBatches(1, time.Hour))
	web := feedtest.New(t)
	web.List(web.Entries("news", 1)...)
	hears := make(chan func(), 1)
	web.OnRequest(func(_ http.ResponseWriter, r *http.Request) bool {
		if strings.Contains(r.URL.Path, "/articles/") { // the cache knows the item, and that it is worked on
			hears <- w.faults.behind.close(t)
		}
		return false
	})
	w.source("news", web.FeedURL(), postsTo("ops"))
	open := <-hears
	w.awaitItem("news", inState("ops", v1alpha1.DeliveryQueued))
	w.poll("news") // what is wrong has had its time
	open()
	w.awaitItem("news", inState("ops", v1alpha1.DeliveryDone))
	wantOneBatch(t, server, 1)
}
