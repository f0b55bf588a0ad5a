// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/queue"
)

// R3.13, R6.3: the API server does not answer who asks for the services of one namespace, or for their Secrets, which are more than are looked at at once. After a
// start, those of another namespace are opened, and its items are posted.
func TestServicesThatCannotBeReadKeepNoNeighbourWaiting(t *testing.T) {
	t.Parallel()
	many := queue.WorkersFor(queue.LimitOfLooks) + 4
	for name, hangs := range map[string]string{
		"as they are":        "/feeddestinations/",
		"with their Secrets": "/secrets/",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tenants := newTenants(t, 2)
			stuck, neighbour := tenants[1], tenants[0]
			server := neighbour.mastodon()
			for i := range many {
				made := stuck.destination(fmt.Sprint("press-", i), server.URL)
				stuck.untilDestination(made.Name, isOpen)
			}
			neighbour.stop()
			var reads gate
			reads.close(t)
			neighbour.faults.on(func(r *http.Request) *metav1.Status {
				if r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/namespaces/"+stuck.namespace+hangs) {
					reads.pass(r)
				}
				return nil
			})
			neighbour.start()
			const some = 8
			await(t, func() error {
				if held := reads.held.Load(); held < some {
					return fmt.Errorf("%d reads hang", held)
				}
				return nil
			})
			neighbour.openDestination("press", server.URL)
			web := feedtest.New(t)
			web.List(web.Entries("news", 1)...)
			neighbour.source("news", web.FeedURL(), postsTo("press"))
			neighbour.awaitItem("news", inState("press", v1alpha1.DeliveryDone))
		})
	}
}

// R3.13: the API server does not answer who reads the destinations of one namespace that are sent batches, of which there are more than are looked at at once. What another
// namespace sends in batches is sent.
func TestBatchesThatCannotBeReadKeepNoNeighbourWaiting(t *testing.T) {
	t.Parallel()
	const some = 4
	many := queue.WorkersFor(queue.LimitOfLooks) + 4
	tenants := newTenants(t, 2)
	stuck, neighbour := tenants[1], tenants[0]
	server := neighbour.webhook()
	for i := range many {
		name := fmt.Sprint("ops-", i)
		stuck.webhookTo(name, server.URL, inBatches(2, time.Minute))
	}
	var reads gate
	reads.close(t)
	neighbour.faults.on(func(r *http.Request) *metav1.Status {
		if r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/namespaces/"+stuck.namespace+"/feeddestinations/") {
			reads.pass(r)
		}
		return nil
	})
	for i := range many {
		neighbour.lookAt(queue.BatchKey, types.NamespacedName{Namespace: stuck.namespace, Name: fmt.Sprint("ops-", i)})
	}
	await(t, func() error {
		if held := reads.held.Load(); held < some {
			return fmt.Errorf("%d reads hang", held)
		}
		return nil
	})
	neighbour.batches(2, server, inBatches(2, time.Minute))
	neighbour.awaitItems("news", eachOf(2, inState("ops", v1alpha1.DeliveryDone)))
}

// R2.10, R3.13: the API server does not answer who reads the sources of one namespace, whose items have outlived their retention, and which are more than are looked through at once.
// Those of another namespace are removed.
func TestItemsThatCannotBeRemovedKeepNoNeighboursItemsThere(t *testing.T) {
	t.Parallel()
	tenants := newTenants(t, 2)
	stuck, neighbour := tenants[1], tenants[0]
	names := []string{"news"}
	for i := range queue.WorkersFor(queue.LimitOfRetention) + 4 {
		names = append(names, fmt.Sprint("news-", i))
	}
	sources := map[*world][]string{stuck: names, neighbour: names[:1]}
	for w, names := range sources {
		for _, name := range names {
			web := feedtest.New(t)
			web.List(web.Entries("news", 2)...)
			w.source(name, web.FeedURL(), keepMost(100))
			w.awaitItems(name, allProcessed(2))
		}
	}
	neighbour.untilUpToDate()
	var reads gate
	reads.close(t)
	neighbour.faults.on(func(r *http.Request) *metav1.Status {
		if r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/namespaces/"+stuck.namespace+"/feedsources/news") {
			reads.pass(r)
		}
		return nil
	})
	for _, w := range []*world{stuck, neighbour} {
		for _, name := range sources[w] {
			source := &v1alpha1.FeedSource{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}}
			if err := w.client.Patch(t.Context(), source, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"retention":{"keepMost":1}}}`))); err != nil {
				t.Fatal(err)
			}
		}
		if w == stuck {
			await(t, reads.isHeld)
		}
	}
	neighbour.awaitItems("news", hasItems(1))
}
