// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/queue"
	"github.com/feed-operator/feed-operator/internal/webhooktest"
)

// recordsTaken is how often each record was taken by a receiver, by its key.
func recordsTaken(t *testing.T, server *webhooktest.Server) map[string]int {
	t.Helper()
	seen := map[string]int{}
	for _, delivery := range server.Taken() {
		for _, record := range batchIn(t, delivery).Records {
			seen[record.Key]++
		}
	}
	return seen
}

// wantOnceEach checks that a number of records have arrived, once each.
func wantOnceEach(t *testing.T, server *webhooktest.Server, records int) {
	t.Helper()
	seen := recordsTaken(t, server)
	for key, times := range seen {
		if times != 1 {
			t.Errorf("%s has arrived %d times", key, times)
		}
	}
	if len(seen) != records {
		t.Errorf("%d records have arrived, want %d", len(seen), records)
	}
}

// R4.5, R4.3: an item is in batches of two destinations. That its result at one is written says nothing of the other: it is written there, too, and the item
// is not sent again.
func TestABatchOfOneDestinationSaysNothingOfAnother(t *testing.T) {
	t.Parallel()
	const n = 4
	w := newWorld(t)
	parted, whole := w.webhook(), w.webhook(func(o *webhooktest.Options) { o.Keys = webhooktest.IgnoresKeys })
	var asked atomic.Int32
	parted.OnRequest(func(p *webhooktest.Pending) bool {
		switch asked.Add(1) {
		case 1:
			p.Answer(http.StatusBadRequest, "text/plain", "one of them is bad")
		case 2: // its first half
			return false
		default:
			p.Answer(http.StatusServiceUnavailable, "text/plain", "")
		}
		return true
	})
	release := make(chan struct{})
	once := sync.OnceFunc(func() { close(release) })
	t.Cleanup(once)
	whole.OnRequest(func(*webhooktest.Pending) bool {
		<-release
		return false
	})
	w.webhookTo("archive", whole.URL, inBatches(n, time.Hour))
	w.webhookTo("ops", parted.URL, inBatches(n, time.Hour))
	web := feedtest.New(t)
	web.List(web.Entries("news", n)...)
	w.source("news", web.FeedURL(), postsTo("ops", "archive"))
	w.untilBatchFailed(1)
	once()
	w.untilItems("news", func(items []v1alpha1.FeedItem) error { return all(items, n, inState("archive", v1alpha1.DeliveryDone)) })
	wantOnceEach(t, whole, n)
}

// R4.4, R3.14: a batch is announced, and the API server's answer to that gets lost. Nothing was sent, and what is to be sent is still known: it is sent.
func TestABatchIsSentThoughTheAnswerToItsAnnouncementIsLost(t *testing.T) {
	t.Parallel()
	const n = 3
	w := newWorld(t)
	server := w.webhook()
	lost := w.loseReport("feeddestinations", `"batches"`)
	w.batches(n, server, inBatches(n, time.Hour))
	w.untilSent(n, v1alpha1.PhaseProcessed, v1alpha1.ReasonNone)
	if wantOneBatch(t, server, n); lost.Load() != 1 {
		t.Errorf("%d answers were lost", lost.Load())
	}
	w.untilNoBatch()
}

// R4.4, R3.14: two operators, one of them deposed, make a batch of the same items, and one is stopped before it announces it. It takes nothing from the other
// one, whose request may have arrived: that is sent again, with the same key and body.
func TestAnOperatorThatIsLateWithABatchTakesNothingFromAnother(t *testing.T) {
	t.Parallel()
	const n = 3
	w := newWorld(t)
	server := w.webhook(func(o *webhooktest.Options) { o.Keys = webhooktest.Answers200 })
	server.OnRequest(func(p *webhooktest.Pending) bool {
		p.Commit()
		p.Reset()
		return true
	})
	var claims gate
	open := claims.close(t)
	w.faults.on(func(r *http.Request) *metav1.Status {
		if r.Method == http.MethodPatch && strings.HasSuffix(r.URL.Path, "/feeddestinations/ops/status") && bodyHolds(r, `"batches"`) {
			claims.pass(r)
		}
		return nil
	})
	w.batches(n, server, inBatches(n, time.Hour))
	await(t, claims.isHeld)
	replica(t, w.namespace, 0)
	failed := w.untilBatchFailed(1)
	open()
	w.lookAtItems("news")
	server.OnRequest(nil)
	w.untilSent(n, v1alpha1.PhaseProcessed, v1alpha1.ReasonNone)
	if taken := server.Taken(); len(taken) != 1 || taken[0].Key != failed.Key {
		t.Errorf("%d requests were taken", len(taken))
	}
	w.untilNoBatch()
}

// R3.13, R4.3: the result of one item of a batch is refused by a policy. It stands on the batch until it is taken; the others have theirs, and what comes
// later is sent, however many such batches there are.
func TestAResultThatIsRefusedHoldsUpNoOtherBatch(t *testing.T) {
	t.Parallel()
	const batches = 6
	w := newWorld(t)
	server := w.webhook()
	web := feedtest.New(t)
	var refuses atomic.Bool
	refuses.Store(true)
	var poisoned sync.Map // names of items
	w.onItemWrites(func(r *http.Request, body string) *metav1.Status {
		if _, bad := poisoned.Load(itemIn(r)); !bad || !refuses.Load() || !strings.Contains(body, `"Done"`) {
			return nil
		}
		return &metav1.Status{Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden,
			Message: `feeditems.feeds.feed-operator.io "x" is forbidden: ValidatingAdmissionPolicy 'guard' with binding 'guard' denied request: not liked`}
	})
	w.webhookTo("ops", server.URL, inBatches(2, time.Hour))
	var entries []feedtest.Entry
	web.List(entries...)
	w.source("news", web.FeedURL(), postsTo("ops"))
	for i := range batches {
		entries = append(web.Entries(fmt.Sprintf("news%d", i), 2), entries...)
		server.OnRequest(func(*webhooktest.Pending) bool { // before anything is written
			items, err := w.items(t.Context(), "news")
			for j := range items {
				if strings.HasSuffix(items[j].Spec.URL, fmt.Sprintf("news%d-1", i)) {
					poisoned.Store(items[j].Name, true)
				}
			}
			return err != nil
		})
		web.List(entries...)
		w.poll("news")
		w.untilItems("news", func(items []v1alpha1.FeedItem) error {
			w.clock.Step(time.Second)
			done := 0
			for j := range items {
				if items[j].Status.Phase == v1alpha1.PhaseProcessed {
					done++
				}
			}
			if len(items) != 2*(i+1) || done != i+1 {
				return fmt.Errorf("%d of %d items are processed, want %d", done, len(items), i+1)
			}
			return nil
		})
	}
	w.restart() // what was refused is known to the API server
	refuses.Store(false)
	w.untilSent(2*batches, v1alpha1.PhaseProcessed, v1alpha1.ReasonNone)
	wantOnceEach(t, server, 2*batches)
	w.untilNoBatch()
}

// R4.3, R3.14: a batch has arrived, and the API server takes no results until the destination is suspended, for which others wait by then. Results are
// written all the same.
func TestResultsOfABatchAreWrittenWhileItsDestinationIsSuspended(t *testing.T) {
	t.Parallel()
	const n = 3
	w := newWorld(t)
	server := w.webhook()
	refused := w.refuses(metav1.Status{Code: http.StatusServiceUnavailable, Reason: metav1.StatusReasonServiceUnavailable}, "")
	release := make(chan struct{})
	once := sync.OnceFunc(func() { close(release) })
	t.Cleanup(once)
	server.OnRequest(func(*webhooktest.Pending) bool {
		<-release
		return false
	})
	w.webhookTo("ops", server.URL, inBatches(n, time.Hour))
	web := feedtest.New(t)
	entries := web.Entries("news", n)
	web.List(entries...)
	w.source("news", web.FeedURL(), postsTo("ops"))
	w.untilItems("news", func(items []v1alpha1.FeedItem) error { return all(items, n, inState("ops", v1alpha1.DeliveryQueued)) })
	web.List(append(web.Entries("more", n), entries...)...)
	w.poll("news")
	w.untilItems("news", func(items []v1alpha1.FeedItem) error { return all(items, 2*n, inState("ops", v1alpha1.DeliveryQueued)) })
	refused.on.Store(true)
	w.changeDestination("ops", `{"spec":{"suspend":true}}`)
	once()
	w.untilDestination("ops", func(d *v1alpha1.FeedDestination) error {
		if len(d.Status.Batches) != 1 || d.Status.Batches[0].Members[0].State != v1alpha1.BatchMemberDone {
			return fmt.Errorf("batches %+v", d.Status.Batches)
		}
		return nil
	})
	w.restart()
	refused.on.Store(false)
	w.untilItems("news", func(items []v1alpha1.FeedItem) error {
		w.clock.Step(time.Second)
		processed := 0
		for i := range items {
			if items[i].Status.Phase == v1alpha1.PhaseProcessed {
				processed++
			}
		}
		if len(items) != 2*n || processed != n {
			return fmt.Errorf("%d of %d items are processed", processed, len(items))
		}
		return nil
	})
	wantOnceEach(t, server, n)
}

// R3.14, R4.3: items wait for others, and the API server's clock is set back. What is not enough for a batch leaves all the same when it has waited for
// maxWait, and not when the clock has come to where it was.
func TestABatchLeavesThoughTheClockIsSetBackMeanwhile(t *testing.T) {
	t.Parallel()
	for _, by := range setBack {
		t.Run(by.String(), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			server := w.webhook()
			w.batches(2, server, inBatches(100, time.Minute))
			w.untilItems("news", func(items []v1alpha1.FeedItem) error { return all(items, 2, inState("ops", v1alpha1.DeliveryQueued)) })
			w.ahead.Store(-int64(by))
			w.minutesPass(4, "news", func(items []v1alpha1.FeedItem) error {
				w.lookAtBatches()
				return allProcessed(2)(items)
			})
			wantOneBatch(t, server, 2)
		})
	}
}

// R4.4: an item is deleted while it is in a batch. The same entry of another source is not sent again, and does not wait for what is gone.
func TestAnItemThatIsDeletedInABatchHoldsItsEntryUntilTheEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.webhook()
	heal := answering(server, http.StatusServiceUnavailable)
	web := feedtest.New(t)
	web.List(web.Entries("news", 1)...)
	w.webhookTo("ops", server.URL, inBatches(100, 0))
	w.source("news", web.FeedURL(), postsTo("ops"))
	w.untilBatchFailed(1)
	items, err := w.items(t.Context(), "news")
	if err != nil {
		t.Fatal(err)
	}
	if err := w.client.Delete(t.Context(), &items[0]); err != nil {
		t.Fatal(err)
	}
	heal()
	w.clock.Step(10 * time.Minute)
	w.lookAtBatches()
	w.untilNoBatch()
	w.source("other", web.FeedURL(), postsTo("ops"))
	w.untilItems("other", func(items []v1alpha1.FeedItem) error {
		w.clock.Step(time.Second)
		if len(items) != 1 || !items[0].Terminal() {
			return fmt.Errorf("items %+v", items)
		}
		return nil
	})
	wantOnceEach(t, server, 1)
}

// R4.4, R4.3: while a batch is sent, an item of it is annotated, and another one deleted. What the request comes to is written on the one, and nothing is sent
// again.
func TestItemsThatChangeWhileTheirBatchIsSentAreNotSentAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.webhook()
	changed := make(chan error, 1)
	server.OnRequest(func(*webhooktest.Pending) bool {
		items, err := w.items(t.Context(), "news")
		if err == nil && len(items) == 2 {
			seen := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"example.org/seen":"yes"}}}`))
			err = errors.Join(w.client.Patch(t.Context(), &items[0], seen), w.client.Delete(t.Context(), &items[1]))
		}
		changed <- err
		return false
	})
	web := feedtest.New(t)
	web.List(web.Entries("news", 2)...)
	w.webhookTo("ops", server.URL, inBatches(2, time.Hour))
	w.source("news", web.FeedURL(), postsTo("ops"))
	if err := <-changed; err != nil {
		t.Fatal(err)
	}
	w.untilItems("news", allProcessed(1))
	w.untilNoBatch()
	wantOnceEach(t, server, 2)
}

// R4.4, R3.14: an item waits in a batch, and the operator starts anew. The same entry of another source is not sent beside it.
func TestAnItemInABatchHoldsItsEntryAfterARestart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.webhook()
	heal := answering(server, http.StatusServiceUnavailable)
	web := feedtest.New(t)
	web.List(web.Entries("news", 1)...)
	w.webhookTo("ops", server.URL, inBatches(100, 0))
	w.source("news", web.FeedURL(), postsTo("ops"))
	w.untilBatchFailed(1)
	heal()
	w.restart()
	w.source("other", web.FeedURL(), postsTo("ops"))
	w.untilItems("other", func(items []v1alpha1.FeedItem) error { return all(items, 1, inState("ops", v1alpha1.DeliveryQueued)) })
	w.lookAtItems("other")
	for _, source := range []string{"news", "other"} {
		w.untilItems(source, func(items []v1alpha1.FeedItem) error {
			w.clock.Step(10 * time.Second)
			if len(items) != 1 || !items[0].Terminal() {
				return fmt.Errorf("items %+v", items)
			}
			return nil
		})
	}
	wantOnceEach(t, server, 1)
}

// R5.4, R3.14: an operator ends between keeping what is sent of a batch and announcing it. What it has kept does not stay for ever.
func TestWhatIsKeptOfABatchThatWasNeverAnnouncedIsRemoved(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.webhook()
	var claims atomic.Int32
	w.faults.on(func(r *http.Request) *metav1.Status {
		switch {
		case r.Method == http.MethodPatch && strings.HasSuffix(r.URL.Path, "/feeddestinations/ops/status") && bodyHolds(r, `"batches"`):
			claims.Add(1)
			return noAnswer.DeepCopy()
		case r.Method == http.MethodDelete && strings.Contains(r.URL.Path, "/feedmemories/"):
			return noAnswer.DeepCopy()
		}
		return nil
	})
	web := feedtest.New(t)
	entries := web.Entries("news", 2)
	web.List(entries...)
	w.webhookTo("ops", server.URL, inBatches(2, time.Hour))
	w.source("news", web.FeedURL(), postsTo("ops"))
	await(t, func() error {
		if claims.Load() == 0 {
			return errNotYet
		}
		return nil
	})
	w.stop()
	items, err := w.items(t.Context(), "news")
	if err != nil {
		t.Fatal(err)
	}
	if err := w.client.Delete(t.Context(), &items[0]); err != nil { // so that the next one is another batch
		t.Fatal(err)
	}
	w.faults.on(nil)
	w.start()
	web.List(append(web.Entries("more", 1), entries...)...)
	w.poll("news")
	w.untilSent(2, v1alpha1.PhaseProcessed, v1alpha1.ReasonNone)
	wantOnceEach(t, server, 2)
	w.untilNoBatch()
}

// R3.3, R4.4: a batch is taken, and the answer is an error after which it is sent again at once. That is refused: nobody knows whether the first one has
// arrived, so nothing of it is sent once more as a part of it.
func TestABatchThatIsRefusedWhenItIsSentAgainAtOnceIsLeftToAPerson(t *testing.T) {
	t.Parallel()
	const n = 4
	w := newWorld(t, repeating)
	server := w.webhook(func(o *webhooktest.Options) { o.Keys = webhooktest.IgnoresKeys })
	var asked atomic.Int32
	server.OnRequest(func(p *webhooktest.Pending) bool {
		switch asked.Add(1) {
		case 1:
			p.Commit()
			p.Answer(http.StatusInternalServerError, "text/plain", "")
		case 2:
			p.Answer(http.StatusBadRequest, "text/plain", "not now")
		default:
			return false
		}
		return true
	})
	w.batches(n, server, inBatches(n, time.Hour))
	w.timePasses(func() error {
		items, err := w.items(t.Context(), "news")
		return errors.Join(err, all(items, n, func(item *v1alpha1.FeedItem) error {
			if !item.Terminal() {
				return errNotYet
			}
			return nil
		}))
	})
	items, err := w.items(t.Context(), "news")
	if err != nil {
		t.Fatal(err)
	}
	if err := all(items, n, inPhase(v1alpha1.PhaseFailed, v1alpha1.ReasonDeliveryUncertain)); err != nil {
		t.Error(err)
	}
	wantOnceEach(t, server, n)
}

// lookAtBatches has the operator look at the batches of a destination.
func (w *world) lookAtBatches() {
	w.lookAt(queue.BatchKey, types.NamespacedName{Namespace: w.namespace, Name: "ops"})
}

// itemIn is the name of the item that a request writes.
func itemIn(r *http.Request) string {
	_, name, _ := strings.Cut(r.URL.Path, "/feeditems/")
	return strings.TrimSuffix(name, "/status")
}

// bodyHolds reports whether the body of a request holds a text.
func bodyHolds(r *http.Request, text string) bool {
	body, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	return err == nil && strings.Contains(string(body), text)
}
