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

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/controllers"
	"github.com/feed-operator/feed-operator/internal/portion"
	"github.com/feed-operator/feed-operator/internal/record"
	"github.com/feed-operator/feed-operator/internal/webhooktest"
)

// partFault is what a receiver does with the second part of a batch that it has refused as a whole.
type partFault struct {
	answer func(*webhooktest.Pending)
	// inAnHour is how many requests there may be in the hour after that.
	inAnHour int
	// gone is set if nothing is called any more until a person asks for it, and repeats if it may have arrived.
	gone, repeats bool
}

var partFaults = map[string]partFault{
	"answers 410": {answer: hookAnswers(http.StatusGone), gone: true},
	"answers 429 for two hours": {answer: func(p *webhooktest.Pending) {
		p.Header().Set("Retry-After", "7200")
		p.Answer(http.StatusTooManyRequests, "text/plain", "")
	}},
	"answers 500":              {answer: hookAnswers(http.StatusInternalServerError), inAnHour: 4, repeats: true},
	"takes it and answers 500": {answer: hookTakesAnd(hookAnswers(http.StatusInternalServerError)), inAnHour: 4, repeats: true},
	"takes it and breaks off":  {answer: hookTakesAnd((*webhooktest.Pending).Reset), inAnHour: 4, repeats: true},
}

// betweenParts is what happens while the second part of a batch is under way, or after that.
type betweenParts struct {
	meanwhile func(w *world, second *v1alpha1.FeedItem)
	restart   bool
	// late is set if the operator hears of no changes of items meanwhile.
	late bool
	// gone is how many items are not there in the end.
	gone int
}

func suspendsSource(on bool) func(*world, *v1alpha1.FeedItem) {
	return func(w *world, _ *v1alpha1.FeedItem) {
		source := &v1alpha1.FeedSource{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "news"}}
		patch := fmt.Sprintf(`{"spec":{"suspend":%t}}`, on)
		if err := w.client.Patch(w.t.Context(), source, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
			w.t.Error(err)
		}
	}
}

var betweenTheParts = map[string]betweenParts{
	"nothing else happens":       {meanwhile: func(*world, *v1alpha1.FeedItem) {}},
	"the operator starts anew":   {meanwhile: func(*world, *v1alpha1.FeedItem) {}, restart: true},
	"the clock is set back":      {meanwhile: func(w *world, _ *v1alpha1.FeedItem) { w.ahead.Store(-int64(time.Hour)) }},
	"the clock is set forth":     {meanwhile: func(w *world, _ *v1alpha1.FeedItem) { w.ahead.Store(int64(time.Hour)) }},
	"the source is suspended":    {meanwhile: suspendsSource(true)},
	"an item of it is deleted":   {gone: 1, meanwhile: func(w *world, second *v1alpha1.FeedItem) { _ = w.client.Delete(w.t.Context(), second) }},
	"the watch of items is late": {meanwhile: func(w *world, _ *v1alpha1.FeedItem) {}},
}

// R4.3, R4.4, R3.12: while a batch is parted, one of its parts fails in any way, and something else goes wrong meanwhile. The part that has arrived is done,
// the other one is sent once more with its key, when it is time and not before, and each item arrives once at a receiver that knows keys.
func TestAPartOfABatchFails(t *testing.T) {
	t.Parallel()
	for what, fault := range portion.Some(partFaults, 2) {
		for when, between := range portion.Some(portion.Across(what, partFaults, betweenTheParts), 1) {
			t.Run("the receiver "+what+", and "+when, func(t *testing.T) {
				t.Parallel()
				fault.inAPart(t, between)
			})
		}
	}
}

func (f partFault) inAPart(t *testing.T, between betweenParts) {
	t.Helper()
	const n = 4
	w := newWorld(t)
	server := w.webhook(func(o *webhooktest.Options) { o.Keys = webhooktest.Answers200 })
	var asked atomic.Int32
	hears := func() {}
	server.OnRequest(func(p *webhooktest.Pending) bool {
		switch now := asked.Add(1); {
		case now == 1:
			if between.late {
				hears = w.faults.behind.close(t)
			}
			p.Answer(http.StatusRequestEntityTooLarge, "text/plain", "")
			return true
		case now == 2: // its first half
			return false
		case now == 3:
			items, err := w.items(t.Context(), "news")
			if err != nil {
				t.Error(err)
			}
			for i := range items {
				if strings.Contains(p.Delivery.Body, items[i].Name) {
					between.meanwhile(w, &items[i])
					break
				}
			}
		}
		f.answer(p)
		return true
	})
	w.batches(n, server, inBatches(n, time.Hour))
	w.untilDestination("ops", func(d *v1alpha1.FeedDestination) error {
		switch {
		case asked.Load() < 3 || len(d.Status.Batches) != 1:
			return fmt.Errorf("%d requests, batches %+v", asked.Load(), d.Status.Batches)
		case f.gone:
			return isClosed(v1alpha1.ReasonEndpointGone)(d)
		case d.Status.Batches[0].FailedAttempts != 1:
			return fmt.Errorf("batches %+v", d.Status.Batches)
		}
		return nil
	})
	w.untilItems("news", func(items []v1alpha1.FeedItem) error {
		done := 0
		for i := range items {
			if inState("ops", v1alpha1.DeliveryDone)(&items[i]) == nil {
				done++
			}
		}
		if done != n/2 || len(items) != n-between.gone {
			return fmt.Errorf("%d of %d items are done", done, len(items))
		}
		return nil
	})
	w.lookAtBatches()
	hears()
	if between.restart {
		w.restart()
		w.untilDestination("ops", func(d *v1alpha1.FeedDestination) error {
			if f.gone {
				return isClosed(v1alpha1.ReasonEndpointGone)(d)
			}
			return nil
		})
	}
	before := server.Requests()
	for range 60 {
		w.clock.Step(time.Minute)
		w.lookAtBatches()
	}
	suspendsSource(false)(w, nil)
	w.poll("news")
	if more := server.Requests() - before; more > f.inAnHour {
		t.Errorf("%d requests in an hour, want %d at most", more, f.inAnHour)
	}
	server.OnRequest(nil)
	if f.gone {
		w.annotate(&v1alpha1.FeedDestination{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "ops"}}, v1alpha1.AnnotationRetry, "now")
		w.untilDestination("ops", isOpen)
	}
	items := w.untilSent(n-between.gone, v1alpha1.PhaseProcessed, v1alpha1.ReasonNone)
	wantOnceEach(t, server, n)
	repeated := 0
	for i := range items {
		if items[i].Status.Deliveries[0].Repeated > 0 {
			repeated++
		}
	}
	if want := n/2 - between.gone; f.repeats != (repeated > 0) || f.repeats && repeated != want {
		t.Errorf("%d items say that they were repeated", repeated)
	}
	w.untilNoBatch()
}

// R3.14, R4.3: the database becomes full while the results of a batch are written on its items. It is not asked to take each of them again and again: one
// at a time finds out whether that is over. Then all are written, and nothing is sent again.
func TestAFullDatabaseIsAskedForOneResultOfABatchAtATime(t *testing.T) {
	t.Parallel()
	portion.Whole(t, "it takes a batch of many items")
	const n, written = 30, 5
	w := newWorld(t)
	server := w.webhook()
	var full atomic.Bool
	var taken, refused atomic.Int32
	w.faults.on(func(r *http.Request) *metav1.Status {
		if r.Method == http.MethodGet || r.Method == http.MethodDelete || !strings.Contains(r.URL.Path, w.namespace) {
			return nil
		}
		if strings.Contains(r.URL.Path, "/feeditems/") && bodyHolds(r, `"Done"`) && taken.Add(1) == written {
			full.Store(true)
			return nil
		}
		if !full.Load() {
			return nil
		}
		if strings.Contains(r.URL.Path, "/feeditems/") {
			refused.Add(1)
		}
		return databaseFull.DeepCopy()
	})
	w.batches(n, server, inBatches(n, time.Hour))
	await(t, func() error {
		if refused.Load() == 0 {
			return errNotYet
		}
		return nil
	})
	const rounds, atOnce = 12, 8
	w.untilQuiet(&refused, 100) // the last two tries in place are 0.7 s apart
	items, err := w.items(t.Context(), "news")
	if err != nil {
		t.Fatal(err)
	}
	for range rounds {
		w.clock.Step(15 * time.Second)
		for i := range items { // they have nothing to write by themselves, and change nothing
			w.lookAt(controllers.ItemKey, client.ObjectKeyFromObject(&items[i]))
		}
		w.lookAtBatches()
		w.untilQuiet(&refused, 30)
	}
	// That a write was taken just before may be heard of after the first refusal. Then nothing is held any more, and as many find out anew, once.
	if most := 2*atOnce*record.TriesInPlace + 4*rounds; int(refused.Load()) > most {
		t.Errorf("%d writes of items were refused, want %d at most", refused.Load(), most)
	}
	full.Store(false)
	w.untilSent(n, v1alpha1.PhaseProcessed, v1alpha1.ReasonNone)
	wantOneBatch(t, server, n)
	w.untilNoBatch()
}

// untilQuiet waits until a count has not grown while it was looked at so many times, every 20 ms at most.
func (w *world) untilQuiet(count *atomic.Int32, looks int) {
	w.t.Helper()
	last, same := count.Load(), 0
	await(w.t, func() error {
		now := count.Load()
		if same++; now != last {
			last, same = now, 0
		}
		if same < looks {
			return errNotYet
		}
		return nil
	})
}

// R4.3: a receiver that knows one record of a batch, and says so of all of it, is asked for each of the others.
func TestABatchOfWhichTheReceiverHasOneRecord(t *testing.T) {
	t.Parallel()
	const n = 8
	w := newWorld(t)
	server := w.webhook()
	server.OnRequest(func(p *webhooktest.Pending) bool {
		known := strings.Contains(p.Delivery.Body, "news-1") // no name of an item has a 1
		if known {
			p.Answer(http.StatusConflict, "application/json", `{"error":"a record is known, and none was taken"}`)
		}
		return known
	})
	w.batches(n, server, inBatches(n, time.Hour))
	items := w.untilSent(n, v1alpha1.PhaseProcessed, v1alpha1.ReasonNone)
	arrived, duplicates := map[string]int{}, 0
	for _, taken := range server.Taken() {
		for _, record := range batchIn(t, taken).Records {
			arrived[record.Key]++
		}
	}
	for i := range items {
		switch row := items[i].Status.Deliveries[0]; {
		case row.Duplicate:
			duplicates++
		case arrived[row.Key] != 1:
			t.Errorf("%s is %s and has arrived %d times", items[i].Name, row.State, arrived[row.Key])
		}
	}
	if duplicates != 1 || len(arrived) != n-1 {
		t.Errorf("%d duplicates, %d arrived", duplicates, len(arrived))
	}
}
