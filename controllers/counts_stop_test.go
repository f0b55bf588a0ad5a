// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/geminitest"
)

// R3.9: two calls end while the operator stops, and the API server is slow to answer the one that writes down the first. Each call is counted once.
func TestCallsThatEndDuringAStopAreCountedOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.gemini("gemini", func(p *v1alpha1.AIProvider) { p.Spec.MaxConcurrent = new(int32(4)) })
	w.untilProvider("gemini", isReady)
	web := feedtest.New(t)
	entries := web.Entries("news", 3)
	web.List(entries[0])
	w.source("news", web.FeedURL(), summarizedBy("gemini"))
	w.untilItems("news", allProcessed(1))

	var under atomic.Int32
	answers := make(chan struct{}, 2)
	server.OnCall(func(geminitest.Call) (geminitest.Answer, bool) {
		under.Add(1)
		<-answers
		return geminitest.Answer{}, false
	})
	web.List(entries...)
	w.poll("news")
	await(t, func() error {
		if got := under.Load(); got != 2 {
			return fmt.Errorf("%d calls are under way", got)
		}
		return nil
	})
	calls := func(want int64) func() error {
		return func() error {
			var found v1alpha1.AIProvider
			key := types.NamespacedName{Namespace: w.namespace, Name: "gemini"}
			if err := w.client.Get(t.Context(), key, &found); err != nil {
				return err
			}
			if found.Status.Calls != want {
				return fmt.Errorf("%d calls are counted, want %d", found.Status.Calls, want)
			}
			return nil
		}
	}
	stopped := make(chan struct{})
	go func() { defer close(stopped); w.stop() }()
	await(t, calls(1)) // from now on each call is written down as it ends

	var slow gate
	open := slow.close(t)
	var reads atomic.Int32
	w.faults.on(func(r *http.Request) *metav1.Status {
		if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/aiproviders/gemini") && reads.Add(1) == 1 {
			slow.pass(r)
		}
		return nil
	})
	answers <- struct{}{}
	await(t, slow.isHeld)
	answers <- struct{}{}
	await(t, calls(3))
	open()
	<-stopped
	if err := calls(3)(); err != nil {
		t.Error(err)
	}
}
