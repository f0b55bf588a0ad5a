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

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/portion"
	"github.com/feed-operator/feed-operator/internal/webhooktest"
)

// counts counts the requests of a method for the items of a source.
func (w *world) counts(method, source string) *atomic.Int32 {
	var count atomic.Int32
	w.faults.on(func(r *http.Request) *metav1.Status {
		if r.Method == method && strings.Contains(r.URL.Path, "/feeditems/"+source+"-") {
			count.Add(1)
		}
		return nil
	})
	return &count
}

// R3.7, R4.4: an item of which nobody can say whether it has arrived is retried by a person; but its source does not name the destination any more, or the
// entry was posted as another item meanwhile. So it is not sent; that is written on it, and it is not read again and again.
func TestARetriedItemThatIsNotSentInABatchEnds(t *testing.T) {
	t.Parallel()
	for name, test := range portion.Some(map[string]struct {
		meanwhile func(w *world, feed string)
		want      v1alpha1.DeliveryState
		sent      int
	}{
		"its source does not name the destination": {want: v1alpha1.DeliveryDropped, meanwhile: func(w *world, _ string) {
			w.change(&v1alpha1.FeedSource{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "news"}}, `{"spec":{"destinations":null}}`)
			w.untilUpToDate()
		}},
		"another source has posted the entry": {want: v1alpha1.DeliveryAlreadyPosted, sent: 1, meanwhile: func(w *world, feed string) {
			w.source("twin", feed, postsTo("ops"))
			if twin := w.untilEnded("twin", 1); twin[0].Status.Phase != v1alpha1.PhaseProcessed {
				w.t.Fatalf("the other is %s", twin[0].Status.Phase)
			}
		}},
	}, 1) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			server := w.webhook()
			server.OnRequest(func(p *webhooktest.Pending) bool {
				p.Reset()
				return true
			})
			w.webhookTo("ops", server.URL, inBatches(1, 0), held)
			web := feedtest.New(t)
			web.List(web.Entries("news", 1)...)
			w.source("news", web.FeedURL(), postsTo("ops"))
			item := w.untilSent(1, v1alpha1.PhaseFailed, v1alpha1.ReasonDeliveryUncertain)[0]
			w.untilNoBatch()
			server.OnRequest(nil)
			test.meanwhile(w, web.FeedURL())
			reads := w.counts(http.MethodGet, "news")
			w.retry(item.Name, "again")
			w.awaitItem("news", inState("ops", test.want))
			if got := reads.Load(); got > 10 {
				t.Errorf("the item was read %d times", got)
			}
			if got := len(server.Taken()); got != test.sent {
				t.Errorf("%d requests were taken", got)
			}
		})
	}
}

// R3.7: what cannot be sent because its body cannot be made is tried once for a request, also by a clock that stands, or was set back since it failed.
func TestARequestHasABodyThatCannotBeMadeTriedOnce(t *testing.T) {
	t.Parallel()
	for name, back := range portion.Some(map[string]time.Duration{"the clock stands": 0, "it was set back": time.Hour}, 1) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			server := w.webhook()
			w.batches(1, server, inBatches(1, 0), func(d *v1alpha1.FeedDestination) { d.Spec.Webhook.Body = `{"a": [1][size(title)]}` })
			w.awaitItem("news", inState("ops", v1alpha1.DeliveryDead))
			w.untilUpToDate() // who asks has seen that it has failed, and so has the operator
			w.ahead.Store(-int64(back))
			writes := w.counts(http.MethodPatch, "news")
			w.untilRetryIsNoted(false, "now")
			await(t, func() error {
				if writes.Load() < 2 { // that it is due, and that it has failed
					return errNotYet
				}
				return nil
			})
			for range 3 { // whoever takes it for requested has had their time
				w.lookAtItems("news")
				w.lookAtBatches()
			}
			w.awaitItem("news", inState("ops", v1alpha1.DeliveryDead))
			if got := writes.Load(); got > 4 {
				t.Errorf("%d writes for one retry", got)
			}
		})
	}
}

// R4.4, R6.6: the answer to the end of a batch is lost. What was kept of it is removed all the same.
func TestWhatIsKeptOfABatchGoesThoughTheAnswerToItsEndIsLost(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.webhook()
	lost := w.loseReport("feeddestinations", `"batches":null`)
	w.batches(1, server, inBatches(1, 0))
	w.untilSent(1, v1alpha1.PhaseProcessed, v1alpha1.ReasonNone)
	w.untilNoBatch()
	if lost.Load() != 1 {
		t.Error("no answer was lost")
	}
}
