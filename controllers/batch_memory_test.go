// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/controllers"
	"github.com/feed-operator/feed-operator/internal/batch"
	"github.com/feed-operator/feed-operator/internal/portion"
	"github.com/feed-operator/feed-operator/internal/webhooktest"
)

// withLargeBodies has a body of some 200 KB made of each item, which takes next to no room where it is kept.
func withLargeBodies(described *v1alpha1.FeedDestination) {
	const often = 40
	described.Spec.Webhook.Body = fmt.Sprintf(`{"a": ["%s"].map(x, [%s])}`, strings.Repeat("x", 5000), strings.TrimSuffix(strings.Repeat("x,", often), ","))
}

// R4.3: whoever writes the expression of a webhook decides how large its bodies are, and not how much memory its batches take of everybody's: they
// are sent in several requests, and what is under way counts among all documents.
func TestBatchesOfLargeBodiesTakeLittleMemory(t *testing.T) {
	t.Parallel()
	portion.Whole(t, "it takes bodies that are large")
	const n = 22
	w := newWorld(t)
	server := w.webhook()
	var counted atomic.Int64
	server.OnRequest(func(p *webhooktest.Pending) bool {
		usage := w.out.Budget().Usage()
		if taken := usage.Documents + usage.Large; taken < 2*int64(len(p.Delivery.Body)) {
			t.Errorf("%d bytes are under way, and %d are counted", len(p.Delivery.Body), taken)
		}
		counted.Add(1)
		return false
	})
	w.batches(n, server, inBatches(n, time.Minute), withLargeBodies)
	if _, err := server.Await(t.Context(), 1); err != nil { // they are enough, and wait for no time to pass
		t.Fatal(err)
	}
	w.untilSent(n, v1alpha1.PhaseProcessed, v1alpha1.ReasonNone)
	taken, records := server.Taken(), 0
	for _, delivery := range taken {
		records += len(batchIn(t, delivery).Records)
		if most := batch.MaxBytes + 1<<10; len(delivery.Body) > most {
			t.Errorf("a request of %d bytes, at most %d", len(delivery.Body), most)
		}
	}
	if records != n || len(taken) < 2 || counted.Load() != int64(len(taken)) {
		t.Errorf("%d records in %d requests", records, len(taken))
	}
	w.untilNoBatch()
	if usage := w.out.Budget().Usage(); usage.Documents != 0 || usage.Large != 0 {
		t.Errorf("still taken: %+v", usage)
	}
}

// R4.3, R3.13: a batch for which there is no room in the memory waits until there is some, and loses nothing.
func TestABatchWaitsForRoomInTheMemory(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.webhook()
	w.batches(2, server, inBatches(100, time.Minute))
	items := w.untilItems("news", func(items []v1alpha1.FeedItem) error {
		return all(items, 2, inState("ops", v1alpha1.DeliveryQueued))
	})
	rooms := fillMemory(w.out.Budget(), w.namespace)
	w.clock.Step(2 * time.Minute)
	for i := range items {
		w.lookAt(controllers.ItemKey, client.ObjectKeyFromObject(&items[i]))
	}
	if server.Requests() != 0 {
		t.Errorf("%d requests without room", server.Requests())
	}
	for _, room := range rooms {
		room.Release()
	}
	w.untilSent(2, v1alpha1.PhaseProcessed, v1alpha1.ReasonNone)
	wantOneBatch(t, server, 2)
}
