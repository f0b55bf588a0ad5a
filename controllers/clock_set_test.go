// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/backoff"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/portion"
)

// setBack are by how much the API server's clock is set back.
var setBack = []time.Duration{time.Minute, 9 * time.Minute, time.Hour, 24 * time.Hour}

// R3.14, R3.3: an attempt waits for a second before a call is made again, and the API server's clock is set back in it. The machine's timers
// do not run slower for that: the attempt goes on.
func TestAnAttemptGoesOnThoughTheClockIsSetBackMeanwhile(t *testing.T) {
	t.Parallel()
	for _, by := range portion.SomeOf(setBack, 2) {
		t.Run(by.String(), func(t *testing.T) {
			t.Parallel()
			writer := &script{answer: failsFor(1, v1alpha1.CategoryNetwork)}
			w := scriptedWorld(t, map[string]*script{"writer": writer})
			web := feedtest.New(t)
			web.List(web.Entries("news", 1)...)
			w.source("news", web.FeedURL(), summarizedBy("writer"))
			w.timePasses(writer.calledTimes(1))
			w.lookAtItems("news") // the call has ended, and is to be made again
			w.ahead.Store(-int64(by))
			w.clock.Step(10 * time.Second)
			w.minutesPass(11, "news", func(items []v1alpha1.FeedItem) error {
				if phase := items[0].Status.Phase; phase != v1alpha1.PhaseProcessed && phase != v1alpha1.PhaseDeferred {
					return fmt.Errorf("the attempt has not ended: %s after %d calls", phase, writer.calls())
				}
				return nil
			})
		})
	}
}

// R3.3, R3.14: the API server's clock is a day behind for some minutes, in which it is looked when a retry is due: in a day. Once the clock is
// set right, so is that.
func TestNothingWaitsForADayBecauseTheClockWasBehindForAMoment(t *testing.T) {
	t.Parallel()
	writer := &script{answer: failsFor(1, v1alpha1.CategoryNetwork)}
	w := scriptedWorld(t, map[string]*script{"writer": writer}, func(w *world) { w.inPlace = backoff.InPlace{} })
	web := feedtest.New(t)
	web.List(web.Entries("news", 1)...)
	w.source("news", web.FeedURL(), summarizedBy("writer"))
	w.untilItems("news", eachOf(1, inPhase(v1alpha1.PhaseDeferred, v1alpha1.ReasonAPIFailed)))
	w.ahead.Store(-int64(24 * time.Hour))
	for range 20 {
		w.clock.Step(time.Minute)
	}
	w.lookAtItems("news")
	w.ahead.Store(0)
	w.minutesPass(2, "news", allProcessed(1))
}

// minutesPass lets minutes pass, one after the other, until the items of a source pass a check; so many at most. One passes once nothing happens to
// the items for a while: on a busy machine they take their time.
func (w *world) minutesPass(most int, source string, check func([]v1alpha1.FeedItem) error) {
	w.t.Helper()
	minutes, still := 0, stillness{}
	await(w.t, func() error {
		items, err := w.items(w.t.Context(), source)
		if err == nil {
			err = check(items)
		}
		if err != nil && still.look(w, items) == 20 {
			if minutes++; minutes > most {
				w.t.Fatalf("after %d minutes: %v", most, err)
			}
			still.looks = 0
			w.clock.Step(time.Minute)
		}
		if err != nil { // as long as time passes there is something to wait for
			err = fmt.Errorf("after %d minutes: %w", minutes, err)
		}
		return err
	})
}

// R3.14: while no writes are taken, the API server's clock is set back, as with its restart on another machine. Once it takes writes, that is
// found out within the minute, and not when its clock has come to where it was.
func TestWritesAreTriedAgainThoughTheClockIsSetBackMeanwhile(t *testing.T) {
	t.Parallel()
	for name, with := range portion.Some(map[string]metav1.Status{"all": databaseFull, "a namespace": overQuota}, 1) {
		for _, by := range portion.SomeOf(setBack, 2) {
			t.Run(name+", "+by.String(), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				refused := w.refuses(with, "")
				refused.on.Store(true)
				web := feedtest.New(t)
				web.List(web.Entries("news", 2)...)
				w.source("news", web.FeedURL())
				w.last(refused)
				w.ahead.Store(-int64(by))
				refused.on.Store(false)
				w.minutesPass(5, "news", allProcessed(2))
			})
		}
	}
}

// R3.14, R2.8: what is kept of one item that is refused while others are taken is written, though the API server's clock is set back meanwhile.
func TestWhatIsKeptIsWrittenThoughTheClockIsSetBackMeanwhile(t *testing.T) {
	t.Parallel()
	for _, by := range portion.SomeOf(setBack, 2) {
		t.Run(by.String(), func(t *testing.T) {
			t.Parallel()
			const n = 4
			calls := &scripted{}
			calls.now(works)
			w := newWorld(t, func(w *world) { w.builtin = calls })
			refusing := w.refusesOne()
			web := feedtest.New(t)
			web.List(web.Entries("news", n)...)
			w.source("news", web.FeedURL())
			w.itemsInTime("news", processed(n, n-1))
			w.ahead.Store(-int64(by))
			refusing.Store(false)
			w.minutesPass(22, "news", allProcessed(n))
			if err := calls.askedBy(n); err != nil {
				t.Error(err)
			}
		})
	}
}
