// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
)

// R3.13: work that panics once it has been granted what a post takes keeps none of it: neither its own source nor another
// one waits for a place that nobody works at.
func TestAPanicBeforeAPostKeepsNoPlace(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(w *world) { w.workers = 1 })
	server := w.mastodon()
	w.openDestination("social", server.URL)
	w.openDestination("other", server.URL)
	var panics atomic.Int32
	w.onItemWrites(func(_ *http.Request, body string) *metav1.Status {
		if strings.Contains(body, string(v1alpha1.DeliveryIntent)) && panics.Add(1) <= 3 {
			panic("a bug")
		}
		return nil
	})
	w.oneItem("social", "other")
	w.itemsInTime("news", eachOf(1, inPhase(v1alpha1.PhaseProcessed, v1alpha1.ReasonNone)))
	if panics.Load() < 3 {
		t.Errorf("%d panics", panics.Load())
	}
}
