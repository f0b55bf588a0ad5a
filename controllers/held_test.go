// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/feedtest"
)

// heldIn is how many namespaces are held because nothing is taken of their items.
func heldIn(metrics prometheus.Gatherer) (float64, error) {
	families, err := metrics.Gather()
	for _, family := range families {
		if family.GetName() == "feed_operator_writes_held_namespaces" {
			return family.GetMetric()[0].GetGauge().GetValue(), err
		}
	}
	return 0, errors.Join(err, errors.New("there is no such metric"))
}

// untilHeld waits until so many namespaces are held. Time passes meanwhile.
func (w *world) untilHeld(metrics prometheus.Gatherer, want float64) {
	w.t.Helper()
	await(w.t, func() error {
		w.clock.Step(time.Second)
		if held, err := heldIn(metrics); err != nil || held != want {
			return errors.Join(err, fmt.Errorf("%v namespaces are held, want %v", held, want))
		}
		return nil
	})
}

// R3.14: nothing is held for good by one write that was taken and of which the answer is lost. It may be the last one of its item, so nobody has anything to
// write by which to find out; the batch of a neighbour goes out all the same.
func TestNothingIsHeldByAnAnswerThatIsLost(t *testing.T) {
	t.Parallel()
	metrics := prometheus.NewRegistry()
	tenants := newTenants(t, 2, func(w *world) { w.metrics = metrics })
	w, neighbour := tenants[0], tenants[1]
	server := neighbour.webhook()
	neighbour.webhookTo("ops", server.URL, inBatches(10, time.Hour))
	web, other := feedtest.New(t), feedtest.New(t)
	other.List(other.Entries("other", 3)...)
	neighbour.source("other", other.FeedURL(), postsTo("ops"), rarely)
	neighbour.untilItems("other", eachOf(3, inState("ops", v1alpha1.DeliveryQueued)))
	lost := w.loseAnswer(`"` + string(v1alpha1.PhaseProcessed) + `"`)
	web.List(web.Entries("news", 1)...)
	w.source("news", web.FeedURL(), rarely)
	w.itemsInTime("news", allProcessed(1))
	w.untilHeld(metrics, 0)
	if lost.Load() != 1 {
		t.Errorf("%d answers were lost", lost.Load())
	}
	w.clock.Step(61 * time.Minute)
	await(t, func() error {
		neighbour.lookAtBatches()
		if len(server.Taken()) == 0 {
			return errNotYet
		}
		return nil
	})
}

// R3.14: who is to find out whether writes are taken again may have nothing more to write by then. Then nobody finds out, and nothing is held any longer.
func TestNothingIsHeldByWhoHasNothingMoreToWrite(t *testing.T) {
	t.Parallel()
	for name, rests := range map[string]func(w *world, item *v1alpha1.FeedItem){
		"its source is suspended": func(w *world, _ *v1alpha1.FeedItem) {
			w.change(&v1alpha1.FeedSource{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "news"}}, `{"spec":{"suspend":true}}`)
		},
		"its retry is not wanted any more": func(w *world, item *v1alpha1.FeedItem) {
			forget := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"`+v1alpha1.AnnotationRetry+`":null}}}`))
			if err := w.client.Patch(w.t.Context(), item, forget); err != nil {
				w.t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			metrics := prometheus.NewRegistry()
			w := newWorld(t, func(w *world) { w.metrics = metrics })
			refused := w.refuses(overQuota, "")
			web := feedtest.New(t)
			web.List(web.Entries("news", 1)...)
			w.source("news", web.FeedURL(), rarely)
			item := w.untilItems("news", allProcessed(1))[0]
			refused.on.Store(true)
			w.retry(item.Name, "again")
			w.untilGivenUp(refused)
			w.last(refused)
			w.untilHeld(metrics, 1)
			w.lookAtSource("news")
			w.untilSource("news", saysHeld("exceeded quota"))
			rests(w, &item)
			refused.on.Store(false)
			w.untilHeld(metrics, 0)
			w.lookAtSource("news")
			w.untilSource("news", saysHeld(""))
		})
	}
}
