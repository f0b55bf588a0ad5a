// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/apitest"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/portion"
	"github.com/feed-operator/feed-operator/internal/webhooktest"
)

// answering has each request answered with a status, until it is told to end.
func answering(server *webhooktest.Server, status int) (end func()) {
	server.OnRequest(func(p *webhooktest.Pending) bool {
		p.Answer(status, "text/plain", "")
		return true
	})
	return func() { server.OnRequest(nil) }
}

// untilBatchFailed waits until the batch of a destination has failed so often.
func (w *world) untilBatchFailed(times int32) v1alpha1.Batch {
	w.t.Helper()
	return w.untilDestination("ops", func(described *v1alpha1.FeedDestination) error {
		if len(described.Status.Batches) != 1 || described.Status.Batches[0].FailedAttempts != times {
			return fmt.Errorf("batches %+v", described.Status.Batches)
		}
		return nil
	}).Status.Batches[0]
}

// wantOneBatch checks that everything has arrived in one request.
func wantOneBatch(t *testing.T, server *webhooktest.Server, records int) {
	t.Helper()
	taken := server.Taken()
	if len(taken) != 1 {
		t.Fatalf("%d requests were taken", len(taken))
	}
	if body := batchIn(t, taken[0]); len(body.Records) != records {
		t.Errorf("%d records of %d", len(body.Records), records)
	}
}

// R4.4, R4.3: what is changed between the first try of a batch and its end changes nothing of what is sent, and sends nothing else.
func TestWhatIsChangedWhileABatchIsTried(t *testing.T) {
	t.Parallel()
	const n = 3
	for name, test := range portion.Some(map[string]struct {
		change func(*world)
		// gone is how many of the items are not there in the end, and long is set if the retry is due by then.
		gone int
		long bool
	}{
		"the spec sends each item by itself": {change: func(w *world) { w.changeDestination("ops", `{"spec":{"webhook":{"batch":null}}}`) }},
		"the body looks different":           {change: func(w *world) { w.changeDestination("ops", `{"spec":{"webhook":{"body":"{\"a\": title}"}}}`) }},
		"a member is deleted": {gone: 1, change: func(w *world) {
			items, err := w.items(w.t.Context(), "news")
			if err != nil {
				w.t.Fatal(err)
			}
			if err := w.client.Delete(w.t.Context(), &items[0]); err != nil {
				w.t.Fatal(err)
			}
		}},
		"the source does not name the destination any more": {change: func(w *world) {
			w.change(&v1alpha1.FeedSource{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "news"}}, `{"spec":{"destinations":null}}`)
		}},
		"the destination is suspended for a while": {long: true, change: func(w *world) {
			w.changeDestination("ops", `{"spec":{"suspend":true}}`)
			w.clock.Step(time.Hour)
			w.lookAtItems("news")
			w.changeDestination("ops", `{"spec":{"suspend":false}}`)
		}},
		"more entries come": {change: func(w *world) { w.clock.Step(time.Second) }},
	}, 3) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			server := w.webhook()
			heal := answering(server, http.StatusServiceUnavailable)
			w.batches(n, server, inBatches(n, time.Hour))
			w.untilBatchFailed(1)
			before := server.Requests()
			test.change(w)
			w.lookAtItems("news")
			if server.Requests() != before && !test.long {
				t.Errorf("%d requests before the retry was due", server.Requests()-before)
			}
			heal()
			w.untilSent(n-test.gone, v1alpha1.PhaseProcessed, v1alpha1.ReasonNone)
			wantOneBatch(t, server, n)
			w.untilNoBatch()
		})
	}
}

// R4.4: a batch goes to the URL that the spec has by then, with the same key and body.
func TestABatchFollowsItsDestinationToAnotherURL(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	old, other := w.webhook(), w.webhook()
	answering(old, http.StatusServiceUnavailable)
	w.batches(3, old, inBatches(3, time.Hour))
	tried := w.untilBatchFailed(1)
	w.changeDestination("ops", fmt.Sprintf(`{"spec":{"webhook":{"url":%q}}}`, other.URL))
	w.untilSent(3, v1alpha1.PhaseProcessed, v1alpha1.ReasonNone)
	wantOneBatch(t, other, 3)
	if got := other.Taken()[0].Key; got != tried.Key || len(old.Taken()) != 0 {
		t.Errorf("key %s, want %s; %d at the old URL", got, tried.Key, len(old.Taken()))
	}
}

// askForRetry has a person ask for a retry of all that has failed at an object.
func (w *world) askForRetry(of client.Object, name string) {
	w.t.Helper()
	of.SetNamespace(w.namespace)
	of.SetName(name)
	w.annotate(of, v1alpha1.AnnotationRetry, "now")
}

// R3.7: a retry that is requested of a destination has a batch sent at once.
func TestARetryOfADestinationMakesItsBatchDue(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.webhook()
	heal := answering(server, http.StatusServiceUnavailable)
	w.batches(3, server, inBatches(3, time.Hour))
	w.untilBatchFailed(1)
	heal()
	w.askForRetry(&v1alpha1.FeedDestination{}, "ops")
	w.untilItems("news", func(items []v1alpha1.FeedItem) error { // without the clock going on
		return all(items, 3, inPhase(v1alpha1.PhaseProcessed, v1alpha1.ReasonNone))
	})
	wantOneBatch(t, server, 3)
}

// R3.7: a retry that is requested of a destination, or of the source, has what was given up there sent again, as a batch.
func TestWhatWasGivenUpInABatchIsRetriedByARequest(t *testing.T) {
	t.Parallel()
	for name, of := range portion.Some(map[string]client.Object{
		"of the destination": &v1alpha1.FeedDestination{ObjectMeta: metav1.ObjectMeta{Name: "ops"}},
		"of the source":      &v1alpha1.FeedSource{ObjectMeta: metav1.ObjectMeta{Name: "news"}},
	}, 1) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			server := w.webhook()
			heal := answering(server, http.StatusUnprocessableEntity)
			w.batches(3, server, inBatches(3, time.Hour))
			w.untilItems("news", func(items []v1alpha1.FeedItem) error {
				return all(items, 3, inState("ops", v1alpha1.DeliveryDead))
			})
			w.untilNoBatch()
			heal()
			w.askForRetry(of, of.GetName())
			w.untilItems("news", func(items []v1alpha1.FeedItem) error {
				return all(items, 3, inPhase(v1alpha1.PhaseProcessed, v1alpha1.ReasonNone))
			})
			wantOneBatch(t, server, 3)
		})
	}
}

// R3.7: a retry that is requested of a destination has its batch tried once more, and not as long as the second lasts, for which the clock of this test stands.
func TestARequestHasABatchThatWaitsTriedOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.webhook()
	answering(server, http.StatusServiceUnavailable)
	w.batches(3, server, inBatches(3, time.Hour))
	w.untilBatchFailed(1)
	w.askForRetry(&v1alpha1.FeedDestination{}, "ops")
	w.untilBatchFailed(2)
	w.lookAtBatches()
	w.poll("news") // whoever takes it for requested has had their time
	w.lookAtBatches()
	if w.untilBatchFailed(2); server.Requests() != 2 {
		t.Errorf("%d requests after one retry", server.Requests()-1)
	}
}

// R3.7: a retry is requested while the API server does not take what a batch came to, by a clock that goes on, stands or was set back since; or twice, of
// which the second is noted for after the first. It is not lost for that.
func TestARequestBeforeTheResultIsWrittenIsNotLost(t *testing.T) {
	t.Parallel()
	const again = 10 * time.Second // until the result is written once more
	for name, test := range portion.Some(map[string]struct {
		source      bool
		later, back time.Duration
		requests    int
	}{
		"of the destination, and the clock stands":    {},
		"of the destination, and it was set back":     {back: time.Hour},
		"of the source, and the clock stands":         {source: true},
		"of the source, and it was set back":          {source: true, later: 5 * time.Second, back: time.Hour},
		"of the source twice, just before the result": {source: true, later: again - time.Second, requests: 1},
	}, 3) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			server := w.webhook()
			refused := w.refuses(metav1.Status{Code: http.StatusServiceUnavailable, Reason: metav1.StatusReasonServiceUnavailable}, "")
			server.OnRequest(func(p *webhooktest.Pending) bool {
				refused.on.Store(true)
				p.Answer(http.StatusUnprocessableEntity, "text/plain", "")
				return true
			})
			w.batches(1, server, inBatches(1, 0))
			w.untilDestination("ops", func(d *v1alpha1.FeedDestination) error {
				if len(d.Status.Batches) != 1 || d.Status.Batches[0].Members[0].State != v1alpha1.BatchMemberRejected {
					return fmt.Errorf("batches %+v", d.Status.Batches)
				}
				return nil
			})
			server.OnRequest(nil)
			w.clock.FakeClock.Step(test.later)
			w.ahead.Store(-int64(test.back))
			for i := range test.requests + 1 {
				w.untilRetryIsNoted(test.source, fmt.Sprint("now ", i))
			}
			refused.on.Store(false)
			w.untilSent(1, v1alpha1.PhaseProcessed, v1alpha1.ReasonNone)
			wantOneBatch(t, server, 1)
		})
	}
}

// untilRetryIsNoted has a person ask for a retry of the source, or of the destination, and waits until that is written down.
func (w *world) untilRetryIsNoted(ofSource bool, token string) {
	w.t.Helper()
	var of client.Object = &v1alpha1.FeedDestination{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "ops"}}
	handled := func() string { return of.(*v1alpha1.FeedDestination).Status.LastHandledRetry }
	if ofSource {
		of = &v1alpha1.FeedSource{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "news"}}
		handled = func() string { return of.(*v1alpha1.FeedSource).Status.LastHandledRetry }
	}
	w.annotate(of, v1alpha1.AnnotationRetry, token)
	apitest.Eventually(w.t, func(ctx context.Context) error {
		if err := w.client.Get(ctx, client.ObjectKeyFromObject(of), of); err != nil {
			return err
		}
		if handled() != token {
			return errNotYet
		}
		return nil
	})
}

// keepBatches refuses to have anything removed of the batches of a destination whose results are written on their items, until it is told to end.
func (w *world) keepBatches(server *webhooktest.Server) (end func()) {
	var written, ended atomic.Bool
	w.faults.on(func(r *http.Request) *metav1.Status {
		switch {
		case r.Method != http.MethodPatch || server.Requests() == 0:
		case strings.Contains(r.URL.Path, "/feeditems/"):
			written.Store(true) // a result, which is the last that is written but for the end of the batch
		case strings.Contains(r.URL.Path, "/feeddestinations/ops") && written.Load() && !ended.Load():
			return &metav1.Status{Code: http.StatusServiceUnavailable, Reason: metav1.StatusReasonServiceUnavailable}
		}
		return nil
	})
	return func() { ended.Store(true) }
}

// R3.7: what was given up is asked for while its batch is still noted: it is sent again when it is not any more.
func TestARequestWaitsForTheEndOfTheBatchBefore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.webhook()
	heal := answering(server, http.StatusUnprocessableEntity)
	end := w.keepBatches(server)
	w.batches(1, server, inBatches(1, 0))
	w.awaitItem("news", inState("ops", v1alpha1.DeliveryDead))
	heal()
	w.poll("news") // what there is to say of the first poll is written by then
	w.askForRetry(&v1alpha1.FeedSource{}, "news")
	w.untilSource("news", func(source *v1alpha1.FeedSource) error {
		if source.Status.RetryRequested() == nil {
			return errNotYet
		}
		return nil
	})
	w.lookAtItems("news")
	end() // what was refused last is written again some time later
	w.untilSent(1, v1alpha1.PhaseProcessed, v1alpha1.ReasonNone)
	wantOneBatch(t, server, 1)
}

// R3.7: what a person has retried is not given up again by the result of the batch before, which is written anew by an operator that does not know
// that it stands there.
func TestARetryIsNotUndoneByAResultThatWasThereBefore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.webhook()
	heal := answering(server, http.StatusUnprocessableEntity)
	end := w.keepBatches(server)
	w.batches(1, server, inBatches(1, 0))
	w.retry(w.awaitItem("news", inState("ops", v1alpha1.DeliveryDead)).Name, "once")
	w.awaitItem("news", inState("ops", v1alpha1.DeliveryQueued))
	heal()
	w.stop()
	end()
	w.start()
	w.awaitItem("news", inPhase(v1alpha1.PhaseProcessed, v1alpha1.ReasonNone))
	wantOneBatch(t, server, 1)
}

// R3.7: a requested retry is one: what fails again within the same second, for which the clock of this test stands, is given up as before.
func TestARequestHasABatchSentOnceMore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.webhook()
	answering(server, http.StatusUnprocessableEntity)
	w.batches(1, server, inBatches(1, 0))
	w.awaitItem("news", inState("ops", v1alpha1.DeliveryDead))
	w.untilNoBatch()
	asked := server.Requests()
	w.askForRetry(&v1alpha1.FeedDestination{}, "ops")
	apitest.Eventually(t, func(context.Context) error {
		if got := server.Requests(); got == asked {
			return errNotYet
		}
		return nil
	})
	w.awaitItem("news", inState("ops", v1alpha1.DeliveryDead))
	w.untilNoBatch()
	w.poll("news") // whoever takes it for requested has had their time
	w.lookAtItems("news")
	w.untilNoBatch()
	if got := server.Requests(); got != asked+1 {
		t.Errorf("%d requests after one retry", got-asked)
	}
}

// parted refuses batches and all single items of n but the last, which is answered 503, until it is told to end.
func parted(server *webhooktest.Server, n int32) (heal func()) {
	var single atomic.Int32
	server.OnRequest(func(p *webhooktest.Pending) bool {
		status := http.StatusUnprocessableEntity
		if strings.Count(p.Delivery.Body, `"idempotencyKey"`) <= 1 && single.Add(1) >= n {
			status = http.StatusServiceUnavailable
		}
		p.Answer(status, "text/plain", "")
		return true
	})
	return func() { server.OnRequest(nil) }
}

// dead reports whether so many items were given up.
func dead(want int) func([]v1alpha1.FeedItem) error {
	return func(items []v1alpha1.FeedItem) error {
		got := 0
		for i := range items {
			if inState("ops", v1alpha1.DeliveryDead)(&items[i]) == nil {
				got++
			}
		}
		if got != want {
			return fmt.Errorf("%d items were given up, want %d", got, want)
		}
		return nil
	}
}

// R3.13, R3.7: what is asked for while the batch in which it was given up goes on with others is not read again and again until that has ended.
func TestWhatWasGivenUpInABatchThatGoesOnIsNotReadAgainAndAgain(t *testing.T) {
	t.Parallel()
	const n, looks = 8, 12
	w := newWorld(t)
	server := w.webhook()
	parted(server, n)
	w.batches(n, server, inBatches(n, time.Hour))
	w.untilItems("news", dead(n-1))
	w.untilBatchFailed(1)
	w.askForRetry(&v1alpha1.FeedDestination{}, "ops")
	w.untilBatchFailed(2)
	w.untilUpToDate()
	var reads atomic.Int32
	w.faults.on(func(r *http.Request) *metav1.Status {
		if r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/feeditems/news-") {
			reads.Add(1)
		}
		return nil
	})
	for range looks {
		w.clock.Step(5 * time.Second)
		w.lookAtItems("news")
	}
	if got := reads.Load(); got > n {
		t.Errorf("%d items were read %d times in %d looks", n, got, looks)
	}
}

// R4.3: a batch is removed by hand, and its items go in another one, with the same key: its results are not those of the one before.
func TestABatchThatWasRemovedByHandIsMadeAnew(t *testing.T) {
	t.Parallel()
	const n = 2
	w := newWorld(t)
	server := w.webhook()
	heal := parted(server, n)
	w.batches(n, server, inBatches(n, time.Minute))
	w.untilItems("news", dead(n-1))
	w.untilBatchFailed(1)
	heal()
	w.changeDestination("ops", `{"spec":{"suspend":true}}`)
	destination := &v1alpha1.FeedDestination{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "ops"}}
	if err := w.client.Status().Patch(t.Context(), destination, client.RawPatch(types.MergePatchType, []byte(`{"status":{"batches":null}}`))); err != nil {
		t.Fatal(err)
	}
	w.askForRetry(&v1alpha1.FeedSource{}, "news")
	w.untilItems("news", dead(0))
	w.changeDestination("ops", `{"spec":{"suspend":false}}`)
	w.untilSent(n, v1alpha1.PhaseProcessed, v1alpha1.ReasonNone)
	wantOnceEach(t, server, n)
}

// R3.4: a batch that fails to the last is a dead letter for each of its items, with its words.
func TestABatchThatAlwaysFailsIsGivenUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.webhook()
	answering(server, http.StatusServiceUnavailable)
	w.batches(3, server, inBatches(3, time.Hour), retries(2))
	for failed := int32(1); failed <= 2; failed++ {
		w.clock.SetTime(w.untilBatchFailed(failed).NextRetryTime.Time)
		w.lookAtBatches()
	}
	items := w.untilSent(3, v1alpha1.PhaseFailed, v1alpha1.ReasonRetryLimitExceeded)
	if server.Requests() != 3 || !strings.Contains(items[0].Status.Failure.Message, "503") {
		t.Errorf("%d requests: %+v", server.Requests(), items[0].Status.Failure)
	}
	w.untilNoBatch()
}

// R4.4: what the cache says of an item is no reason to send it: it may have arrived, and the cache not have heard of that.
func TestABatchIsMadeOfWhatTheAPIServerSays(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.webhook()
	asked, answers := make(chan struct{}), make(chan struct{})
	var once sync.Once
	server.OnRequest(func(*webhooktest.Pending) bool {
		once.Do(func() {
			close(asked)
			<-answers
		})
		return false
	})
	w.batches(1, server, inBatches(100, 0))
	<-asked
	open := w.faults.behind.close(t)
	close(answers)
	w.awaitItem("news", inState("ops", v1alpha1.DeliveryDone))
	w.untilNoBatch()
	w.poll("news") // what is wrong has had its time
	open()
	w.lookAtItems("news")
	wantOneBatch(t, server, 1)
}

// R4.4, R4.3: what is lost of a batch that has not arrived makes another one; nothing hangs for that.
func TestABatchWhoseRecordsAreDeleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.webhook()
	heal := answering(server, http.StatusServiceUnavailable)
	w.batches(3, server, inBatches(3, time.Hour))
	w.untilBatchFailed(1)
	var memories v1alpha1.FeedMemoryList
	if err := w.client.List(t.Context(), &memories, client.InNamespace(w.namespace)); err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(memories.Items, func(memory v1alpha1.FeedMemory) bool { return memory.Batch != nil })
	if at < 0 || !strings.HasPrefix(memories.Items[at].Name, "ops-batch-") {
		t.Fatalf("no records among %d memories", len(memories.Items))
	}
	if err := w.client.Delete(t.Context(), &memories.Items[at]); err != nil {
		t.Fatal(err)
	}
	heal()
	w.untilSent(3, v1alpha1.PhaseProcessed, v1alpha1.ReasonNone)
	wantOneBatch(t, server, 3)
	w.untilNoBatch()
}

// R4.5: one destination of an item that fails in batches holds up no other.
func TestABatchHoldsUpNoOtherDestination(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	broken, well := w.webhook(), w.webhook()
	answering(broken, http.StatusServiceUnavailable)
	w.webhookTo("ops", broken.URL, inBatches(3, time.Hour))
	w.webhookTo("chat", well.URL)
	web := feedtest.New(t)
	web.List(web.Entries("news", 3)...)
	w.source("news", web.FeedURL(), postsTo("ops", "chat"))
	w.untilItems("news", func(items []v1alpha1.FeedItem) error { return all(items, 3, inState("chat", v1alpha1.DeliveryDone)) })
	w.untilBatchFailed(1)
	if len(well.Taken()) != 3 {
		t.Errorf("%d arrived", len(well.Taken()))
	}
}

// R3.7, R4.4: an item that was left to a person, who wants it sent, goes in another batch, with the same key.
func TestAnUncertainItemThatIsRetriedGoesInABatch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.webhook()
	server.OnRequest(func(p *webhooktest.Pending) bool {
		p.Reset()
		return true
	})
	w.batches(2, server, inBatches(2, 0), held)
	items := w.untilSent(2, v1alpha1.PhaseFailed, v1alpha1.ReasonDeliveryUncertain)
	server.OnRequest(nil)
	for i := range items {
		w.retry(items[i].Name, "sent it again")
	}
	sent := w.untilSent(2, v1alpha1.PhaseProcessed, v1alpha1.ReasonNone)
	records := 0
	for _, delivery := range server.Taken() {
		records += len(batchIn(t, delivery).Records)
	}
	if row := sent[0].Status.Deliveries[0]; records != 2 || row.Repeated != 1 || row.Key != items[0].Status.Deliveries[0].Key && row.Key != items[1].Status.Deliveries[0].Key {
		t.Errorf("%d records, %+v", records, row)
	}
}

// R3.12, R4.4: an item is in a batch that fails, and was looked at. Its destination is deleted, and made again as one that sends each by itself: the item
// says the first, and is sent after the second.
func TestAnItemOfABatchGoesOnWhenItsDestinationIsMadeAnew(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.webhook()
	heal := answering(server, http.StatusServiceUnavailable)
	w.batches(1, server, inBatches(1, time.Hour))
	w.untilBatchFailed(1)
	w.restart()
	w.lookAtItems("news")
	gone := &v1alpha1.FeedDestination{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "ops"}}
	if err := w.client.Delete(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	w.awaitItem("news", waitsFor("does not exist"))
	heal()
	w.webhookTo("ops", server.URL)
	w.awaitItem("news", inPhase(v1alpha1.PhaseProcessed, v1alpha1.ReasonNone))
	if got := len(server.Taken()); got != 1 {
		t.Errorf("%d posts", got)
	}
}
