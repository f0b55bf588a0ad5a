// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/apitest"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/portion"
	"github.com/feed-operator/feed-operator/internal/webhooktest"
)

// inBatches has items sent several at a time.
func inBatches(most int32, wait time.Duration) func(*v1alpha1.FeedDestination) {
	return func(described *v1alpha1.FeedDestination) {
		described.Spec.Webhook.Batch = &v1alpha1.WebhookBatch{MaxItems: &most, MaxWait: &metav1.Duration{Duration: wait}}
	}
}

// batchBody is what a receiver gets.
type batchBody struct {
	Key     string `json:"batchIdempotencyKey"`
	Records []struct {
		Key string `json:"idempotencyKey"`
	} `json:"records"`
}

func batchIn(t *testing.T, delivery webhooktest.Delivery) batchBody {
	t.Helper()
	var body batchBody
	if err := json.Unmarshal([]byte(delivery.Body), &body); err != nil {
		t.Fatalf("%v: %s", err, delivery.Body)
	}
	keys := make([]string, 0, len(body.Records))
	for _, record := range body.Records {
		keys = append(keys, record.Key)
	}
	slices.Sort(keys)
	sum := sha256.Sum256([]byte(strings.Join(keys, "|")))
	if body.Key != hex.EncodeToString(sum[:]) || delivery.Key != body.Key {
		t.Errorf("batch key %s, header %s of %v", body.Key, delivery.Key, keys)
	}
	return body
}

// batches lists a number of entries that are sent in batches.
func (w *world) batches(n int, server *webhooktest.Server, change ...func(*v1alpha1.FeedDestination)) {
	w.t.Helper()
	w.webhookTo("ops", server.URL, change...)
	web := feedtest.New(w.t)
	web.List(web.Entries("news", n)...)
	w.source("news", web.FeedURL(), postsTo("ops"))
}

// untilSent lets time pass until all items have ended, and returns them.
func (w *world) untilSent(n int, phase v1alpha1.Phase, reason v1alpha1.Reason) []v1alpha1.FeedItem {
	w.t.Helper()
	still := stillness{}
	return w.untilItems("news", func(items []v1alpha1.FeedItem) error {
		err := all(items, n, inPhase(phase, reason))
		if err != nil && still.look(w, items) > 3 {
			still.looks = 0
			w.clock.Step(time.Minute)
			w.lookAtBatches() // what waits for the machine's timers is not woken by the clock that was set
		}
		if err != nil { // as long as time passes there is something to wait for
			err = fmt.Errorf("at %s: %w", w.clock.Now().Format(time.TimeOnly), err)
		}
		return err
	})
}

// untilNoBatch waits until a destination has no batch, and nothing that was sent is kept.
func (w *world) untilNoBatch() {
	w.t.Helper()
	w.untilDestination("ops", func(described *v1alpha1.FeedDestination) error {
		if n := len(described.Status.Batches); n > 0 {
			return fmt.Errorf("%d batches: %+v", n, described.Status.Batches)
		}
		return nil
	})
	apitest.Eventually(w.t, func(ctx context.Context) error {
		var memories v1alpha1.FeedMemoryList
		if err := w.client.List(ctx, &memories, client.InNamespace(w.namespace)); err != nil {
			return err
		}
		for i := range memories.Items {
			if memories.Items[i].Batch != nil {
				return fmt.Errorf("%s is still there", memories.Items[i].Name)
			}
		}
		return nil
	})
}

// R4.3: items leave together, each once, in the order of publication, and each has its own result.
func TestItemsLeaveInBatches(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.webhook()
	w.batches(7, server, inBatches(5, time.Minute))
	if _, err := server.Await(t.Context(), 1); err != nil { // five are enough, and wait for no time to pass
		t.Fatal(err)
	}
	items := w.untilSent(7, v1alpha1.PhaseProcessed, v1alpha1.ReasonNone)
	taken := server.Taken()
	if len(taken) != 2 {
		t.Fatalf("%d requests", len(taken))
	}
	seen := map[string]int{}
	for i, want := range []int{5, 2} {
		body := batchIn(t, taken[i])
		if len(body.Records) != want {
			t.Errorf("request %d has %d records, want %d", i, len(body.Records), want)
		}
		for _, record := range body.Records {
			seen[record.Key]++
		}
	}
	for i := range items {
		row := items[i].Status.Deliveries[0]
		if row.State != v1alpha1.DeliveryDone || seen[row.Key] != 1 || row.FirstAttemptTime == nil {
			t.Errorf("%d records of %+v", seen[row.Key], row)
		}
	}
	w.untilNoBatch()
}

// R4.3: what is not enough for a batch leaves when the first of it has waited for maxWait, and not before.
func TestABatchWaitsForOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.webhook()
	w.batches(2, server, inBatches(100, time.Minute))
	w.untilItems("news", func(items []v1alpha1.FeedItem) error {
		return all(items, 2, inState("ops", v1alpha1.DeliveryQueued))
	})
	w.clock.Step(55 * time.Second)
	w.lookAtItems("news")
	if server.Requests() != 0 {
		t.Errorf("%d requests before it was time", server.Requests())
	}
	w.untilSent(2, v1alpha1.PhaseProcessed, v1alpha1.ReasonNone)
	if len(server.Taken()) != 1 {
		t.Errorf("%d requests", len(server.Taken()))
	}
}

// R4.3: one item that is refused holds up none of the others: the batch is parted until it is found, and it is a dead letter with the
// receiver's words.
func TestOneBadItemInABatchIsFound(t *testing.T) {
	t.Parallel()
	n := portion.Of(100, 30)
	w := newWorld(t)
	server := w.webhook()
	server.OnRequest(func(p *webhooktest.Pending) bool {
		if !strings.Contains(p.Delivery.Body, "news-17") {
			return false
		}
		p.Answer(http.StatusBadRequest, "application/json", `{"error":"record 17 has no author"}`)
		return true
	})
	w.batches(n, server, inBatches(int32(n), time.Hour))
	dead := 0
	w.untilItems("news", func(items []v1alpha1.FeedItem) error {
		w.clock.Step(20 * time.Second)
		dead = 0
		for i := range items {
			item := &items[i]
			switch {
			case !item.Terminal():
				return fmt.Errorf("%s is %s: %+v", item.Name, item.Status.Phase, item.Status.Deliveries)
			case item.Status.Phase == v1alpha1.PhaseFailed:
				dead++
				if !strings.Contains(item.Status.Failure.Message, "record 17 has no author") || item.Status.Reason != v1alpha1.ReasonInvalidConfiguration {
					t.Errorf("dead letter %s: %+v", item.Status.Reason, item.Status.Failure)
				}
			}
		}
		if len(items) != n {
			return fmt.Errorf("%d items", len(items))
		}
		return nil
	})
	seen := map[string]int{}
	for _, delivery := range server.Taken() {
		for _, record := range batchIn(t, delivery).Records {
			seen[record.Key]++
		}
	}
	if dead != 1 || len(seen) != n-1 {
		t.Errorf("%d dead letters, %d delivered of %d", dead, len(seen), n)
	}
	for key, times := range seen {
		if times != 1 {
			t.Errorf("%s was delivered %d times", key, times)
		}
	}
	const most = 15
	if t.Logf("%d requests for %d items with a bad one", server.Requests(), n); server.Requests() > most {
		t.Errorf("%d requests, at most %d", server.Requests(), most)
	}
	w.untilNoBatch()
}

// R4.4, R4.3: whatever the network and the receiver do to a batch, each item arrives: once where keys are known, at least once and said to be
// repeated where they are not, at most once where its owner wants that. A repetition has the same members, key and body.
func TestABatchWhoseAnswerIsLost(t *testing.T) {
	t.Parallel()
	for what, f := range hookFaults {
		for where, r := range portion.Across(what, hookFaults, hookReceivers) {
			t.Run(what+" "+where, func(t *testing.T) {
				t.Parallel()
				f.againstBatch(t, r)
			})
		}
	}
}

func (f hookFault) againstBatch(t *testing.T, r hookReceiver) {
	t.Helper()
	const n = 3
	w := newWorld(t)
	server := w.webhook(func(o *webhooktest.Options) { o.Keys = r.keys })
	net := newNetworkAt(t, "127.0.0.1", server.URL)
	mend := f.strike(w, net, server)
	w.webhookTo("ops", net.URL, inBatches(n, time.Hour), func(described *v1alpha1.FeedDestination) {
		if r.change != nil {
			r.change(described)
		}
	})
	web := feedtest.New(t)
	web.List(web.Entries("news", n)...)
	w.source("news", web.FeedURL(), postsTo("ops"))
	if r.holds && !f.sure {
		w.untilSent(n, v1alpha1.PhaseFailed, v1alpha1.ReasonDeliveryUncertain)
		if taken := len(server.Taken()); taken > 1 {
			t.Errorf("%d taken", taken)
		}
		return
	}
	w.untilDestination("ops", func(described *v1alpha1.FeedDestination) error {
		if len(described.Status.Batches) != 1 || described.Status.Batches[0].FailedAttempts != 1 {
			return fmt.Errorf("batches %+v", described.Status.Batches)
		}
		return nil
	})
	mend()
	w.restart() // nobody but the API server remembers
	// A change of what bodies look like, and of what is listed, changes nothing about what was tried.
	w.patchDestination("ops", `{"spec":{"webhook":{"body":"{\"other\": title}"}}}`)
	items := w.untilSent(n, v1alpha1.PhaseProcessed, v1alpha1.ReasonNone)
	taken := server.Taken()
	want, repeated := 1, int32(0)
	if f.taken && r.twice {
		want = 2
	}
	if !f.sure {
		repeated = 1
	}
	if len(taken) != want {
		t.Errorf("%d taken, want %d", len(taken), want)
	}
	for _, delivery := range taken {
		if body := batchIn(t, delivery); len(body.Records) != n || delivery.Body != taken[0].Body {
			t.Errorf("a repetition is another one: %s", delivery.Body)
		}
	}
	for i := range items {
		if row := items[i].Status.Deliveries[0]; row.Repeated != repeated || row.Duplicate != (r.duplicate && f.taken) {
			t.Errorf("row %+v, want repeated %d", row, repeated)
		}
	}
	w.untilNoBatch()
}
