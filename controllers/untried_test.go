// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/controllers"
	"github.com/feed-operator/feed-operator/internal/backoff"
	"github.com/feed-operator/feed-operator/internal/feedtest"
)

// R3.6, R3.12: a provider has failed for good at an item, and the only other one does not exist. The item is no dead letter, and the first
// one is not asked again and again: the other is waited for, and does it when it is there.
func TestAnItemWaitsForTheProviderThatHasNotFailed(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		category v1alpha1.Category
		calls    int
	}{
		"beside one that refuses it":                 {v1alpha1.CategoryValidation, 1},
		"beside one that fails until its last retry": {v1alpha1.CategoryAPI, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			failing := &script{answer: failsFor(1000, test.category)}
			w := scriptedWorld(t, map[string]*script{"failing": failing}, func(w *world) { w.inPlace = backoff.InPlace{} })
			web := feedtest.New(t)
			web.List(web.Entries("news", 1)...)
			w.source("news", web.FeedURL(), summarizedBy("failing", "missing"), triedAgain(2))
			w.untilItems("news", func([]v1alpha1.FeedItem) error {
				if calls := failing.calls(); calls < test.calls {
					w.clock.Step(10 * time.Minute)
					return fmt.Errorf("%d calls", calls)
				}
				return nil
			})
			for range 7 {
				w.clock.Step(25 * time.Hour)
				w.lookAtItems("news")
			}
			item := w.untilItem("news", waitsFor(`"missing"`))
			if calls := failing.calls(); calls != test.calls || item.Status.Phase == v1alpha1.PhaseFailed {
				t.Errorf("%d calls in a week, want %d; the item is %s", calls, test.calls, item.Status.Phase)
			}
			w.provider("missing", func(*v1alpha1.AIProvider) {})
			item = w.untilItem("news", inPhase(v1alpha1.PhaseProcessed, v1alpha1.ReasonNone))
			if item.Status.Summary.Provider != "missing" || failing.calls() != test.calls {
				t.Errorf("summarized by %s, %d calls of the other", item.Status.Summary.Provider, failing.calls())
			}
		})
	}
}

// R3.6: who waits for a provider can be told by hand to ask the others again.
func TestAForcedRetryAsksAgainWhoHasFailedForGood(t *testing.T) {
	t.Parallel()
	failing := &script{answer: failsFor(1, v1alpha1.CategoryValidation)}
	w := scriptedWorld(t, map[string]*script{"failing": failing}, func(w *world) { w.inPlace = backoff.InPlace{} })
	web := feedtest.New(t)
	web.List(web.Entries("news", 1)...)
	w.source("news", web.FeedURL(), summarizedBy("failing", "missing"))
	item := w.untilItem("news", inPhase(v1alpha1.PhaseDeferred, v1alpha1.ReasonAPIFailed))
	w.clock.SetTime(item.Status.NextRetryTime.Time)
	w.untilItem("news", waitsFor(`"missing"`))
	w.retry(item.Name, "now")
	w.untilItem("news", inPhase(v1alpha1.PhaseProcessed, v1alpha1.ReasonNone))
	if calls := failing.calls(); calls != 2 {
		t.Errorf("%d calls, want two", calls)
	}
}

// R3.13: what has failed is looked at again within a minute, also after an API server that was away for an hour.
func TestNobodyComesBackLaterThanAMinuteAfterAnError(t *testing.T) {
	t.Parallel()
	if longest := controllers.ComesBackAfter(100); longest > time.Minute {
		t.Errorf("after a hundred errors it comes back after %s", longest)
	}
}
