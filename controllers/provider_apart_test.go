// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/geminitest"
	"github.com/feed-operator/feed-operator/internal/portion"
)

// R3.13: a provider hangs for its whole timeout, and more items wait for it than there are workers.
// The items of another provider do not notice, however many calls at a time somebody has allowed.
func TestAProviderThatHangsHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	for name, concurrent := range portion.Some(map[string]int32{
		"with the default number of calls at a time": v1alpha1.DefaultProviderConcurrency,
		"with more calls at a time than workers":     1000,
	}, 1) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n, workers := portion.Of(100, 30), portion.Of(64, 20) // one provider may take a quarter of these
			w := newWorld(t, func(w *world) { w.workers = workers })
			server := w.gemini("stuck", func(p *v1alpha1.AIProvider) {
				p.Spec.MaxConcurrent, p.Spec.Timeout = &concurrent, &metav1.Duration{Duration: 10 * time.Minute}
			})
			server.OnCall(func(geminitest.Call) (geminitest.Answer, bool) { return geminitest.Hang(), true })
			t.Cleanup(server.Close) // the calls end before the operator is to stop
			w.gemini("fine")
			w.untilProvider("stuck", isReady)
			w.untilProvider("fine", isReady)
			hanging, quick := feedtest.NewAt(t, "127.0.0.2"), feedtest.New(t)
			hanging.List(hanging.Entries("stuck", n)...)
			w.source("stuck", hanging.FeedURL(), summarizedBy("stuck"))
			await(t, func() error {
				if got := len(server.Calls()); got < min(int(concurrent), workers/4) {
					return fmt.Errorf("%d calls hang", got)
				}
				return nil
			})
			w.awaitItems("stuck", hasItems(n))
			w.lookAtItems("stuck")
			quick.List(quick.Entries("quick", n)...)
			w.source("quick", quick.FeedURL(), summarizedBy("fine"))
			w.awaitItems("quick", allProcessed(n))
			w.awaitItems("stuck", processed(n, 0))
		})
	}
}
