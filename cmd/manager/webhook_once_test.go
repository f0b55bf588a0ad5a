// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/portion"
	"github.com/feed-operator/feed-operator/internal/webhooktest"
)

// batched is how many entries the feed of a hookroom has whose webhook gets them in one request. Another one has a single entry: while the manager is held up
// at one item, nothing else may be under way, of which nobody would know whether it has arrived.
const batched = 3

// hookroom is a namespace with one feed and one webhook that its summaries are sent to.
type hookroom struct {
	namespace string
	proxy     *apiProxy
	web       *feedtest.Server
	hook      *webhooktest.Server
	batch     bool
	entries   int
}

func newHookroom(t *testing.T, keys webhooktest.Keys, batch bool) *hookroom {
	t.Helper()
	room := &hookroom{namespace: server.Namespace(t), proxy: newAPIProxy(t), web: feedtest.New(t), hook: webhooktest.New(webhooktest.Options{Keys: keys}), batch: batch, entries: 1}
	t.Cleanup(room.hook.Close)
	destination := &v1alpha1.FeedDestination{ObjectMeta: metav1.ObjectMeta{Namespace: room.namespace, Name: "press"}}
	destination.Spec.Webhook = &v1alpha1.WebhookDestination{URL: room.hook.URL}
	if batch {
		room.entries = batched
		destination.Spec.Webhook.Batch = &v1alpha1.WebhookBatch{MaxItems: new(int32(batched)), MaxWait: &metav1.Duration{Duration: time.Hour}}
	}
	destination.Spec.Timeout = &metav1.Duration{Duration: callTimeout}
	room.web.List(room.web.Entries("news", room.entries)...)
	source := &v1alpha1.FeedSource{ObjectMeta: metav1.ObjectMeta{Namespace: room.namespace, Name: "news"}}
	source.Spec.URL = room.web.FeedURL()
	source.Spec.Destinations = []v1alpha1.DestinationReference{{Name: "press"}}
	for _, object := range []client.Object{destination, source} {
		if err := server.Client.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	return room
}

// times is how often each record was taken, by its key.
func (h *hookroom) times(t *testing.T) map[string]int {
	t.Helper()
	times := map[string]int{}
	for _, delivery := range h.hook.Taken() {
		if !h.batch {
			times[delivery.Key]++
			continue
		}
		var body struct {
			Records []struct {
				Key string `json:"idempotencyKey"`
			} `json:"records"`
		}
		if err := json.Unmarshal([]byte(delivery.Body), &body); err != nil {
			t.Fatal(err)
		}
		for _, record := range body.Records {
			times[record.Key]++
		}
	}
	return times
}

// untilProcessed waits until all items are.
func (h *hookroom) untilProcessed(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for entry := 1; entry <= h.entries; entry++ {
		link := h.web.ArticleURL(fmt.Sprintf("news-%d", entry))
		await(t, &v1alpha1.FeedItemList{}, h.namespace, fmt.Sprintf("entry %d is processed", entry), func(item *v1alpha1.FeedItem) bool {
			return ctx.Err() != nil || item.Spec.URL == link && item.Status.Phase == v1alpha1.PhaseProcessed
		})
	}
}

// killInTheHook kills a manager while the receiver has a request, which it takes after that.
func killInTheHook(t *testing.T, room *hookroom, first *process) {
	t.Helper()
	asked, gate := make(chan struct{}), make(chan struct{})
	var held atomic.Bool
	room.hook.OnRequest(func(*webhooktest.Pending) bool {
		if !held.Swap(true) {
			close(asked)
			<-gate
		}
		return false
	})
	select {
	case <-asked:
	case <-time.After(patience):
		t.Fatal("waited in vain for a request")
	}
	first.end(t, syscall.SIGKILL)
	close(gate)
	if _, err := room.hook.Await(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
}

// hookInterruption brings the first manager of a hookroom to an instant, at which it is killed.
type hookInterruption struct {
	trap func(*hookroom) *trap
	// taken is set if what was sent is taken by then without anybody knowing.
	taken bool
}

var hookInterruptions = map[string]hookInterruption{
	beforeTheClaim: {trap: func(room *hookroom) *trap { return room.proxy.holdWrite(v1alpha1.DeliveryIntent).ofBatches(room.batch) }},
	afterTheClaim: {trap: func(room *hookroom) *trap {
		return room.proxy.holdAnswer(v1alpha1.DeliveryIntent).ofBatches(room.batch)
	}},
	killedInTheCall: {taken: true},
	afterTheCall:    {trap: func(room *hookroom) *trap { return room.proxy.holdWrite(v1alpha1.DeliveryDone).ofBatches(room.batch) }, taken: true},
	afterTheResult:  {trap: func(room *hookroom) *trap { return room.proxy.holdAnswer(v1alpha1.DeliveryDone).ofBatches(room.batch) }},
}

var hookKeys = map[string]webhooktest.Keys{
	"answers 409": webhooktest.Answers409, "answers 200": webhooktest.Answers200, "ignores keys": webhooktest.IgnoresKeys,
}

// R4.4, R4.2, R4.3: wherever the manager is killed, each summary arrives, by itself or in a batch: once at a receiver that knows keys, and once more at
// most at one that does not.
func TestAWebhookGetsEachItemOnceWhereverTheManagerIsKilled(t *testing.T) {
	t.Parallel()
	for i, instant := range slices.Sorted(maps.Keys(hookInterruptions)) {
		interrupt := hookInterruptions[instant]
		// A part of it is with batches here, and without them there.
		for _, batch := range portion.SomeOf([]bool{i%2 == 0, i%2 != 0}, 1) {
			for counterpart, keys := range portion.Across(instant, hookInterruptions, hookKeys) {
				t.Run(fmt.Sprintf("batch %t/%s/%s", batch, instant, counterpart), func(t *testing.T) {
					t.Parallel()
					room := newHookroom(t, keys, batch)
					var caught *trap
					if interrupt.trap != nil {
						caught = interrupt.trap(room)
					}
					first := startWith(t, room.proxy.kubeconfig, room.namespace, "--allow-http")
					if caught != nil {
						caught.wait(t)
						first.end(t, syscall.SIGKILL)
					} else {
						killInTheHook(t, room, first)
					}
					second := start(t, room.namespace, "--allow-http")
					second.said.await(t, "Starting workers") // there may be nothing left to be done
					room.untilProcessed(t)
					second.end(t, syscall.SIGTERM)

					times := room.times(t)
					if len(times) != room.entries {
						t.Errorf("%d items have arrived: %v", len(times), times)
					}
					twice := 0
					for key, n := range times {
						most := 1
						if interrupt.taken && keys == webhooktest.IgnoresKeys {
							most = 2
						}
						if n > most {
							t.Errorf("%s has arrived %d times", key, n)
						}
						if n > 1 {
							twice++
						}
					}
					if want := room.entries; interrupt.taken && keys == webhooktest.IgnoresKeys && batch && twice != want {
						t.Errorf("%d of a batch have arrived twice: the receiver knows no keys", twice)
					}
				})
			}
		}
	}
}
