// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/geminitest"
	"github.com/feed-operator/feed-operator/internal/portion"
)

// crash ends the operator in a way that it can write nothing more of its services and sources, and starts
// another one, as after a change of leader.
func (w *world) crash() {
	w.t.Helper()
	w.faults.on(func(r *http.Request) *metav1.Status {
		if r.Method != http.MethodPatch || !strings.Contains(r.URL.Path, "/aiproviders/") && !strings.Contains(r.URL.Path, "/feedsources/") {
			return nil
		}
		return &metav1.Status{Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden}
	})
	w.stop()
	w.faults.on(nil)
	w.start()
}

// untilSeen changes a provider, and waits until the operator has looked at that.
func (w *world) untilSeen(name, patch string) {
	w.t.Helper()
	w.changeProvider(name, patch)
	w.untilProvider(name, func(p *v1alpha1.AIProvider) error {
		if p.Status.ObservedGeneration != p.Generation {
			return errNotYet
		}
		return nil
	})
}

// R3.5, R3.9, R3.12: no pause begins anew, ends early or is forgotten when another operator takes
// over, be the one before told to stop or not. At its end there is a call at once, and after an
// open circuit exactly one.
func TestPausesOutliveTheOperator(t *testing.T) {
	t.Parallel()
	for name, test := range portion.Some(map[string]struct {
		answer    geminitest.Answer
		failures  int // until the pause begins
		wantState v1alpha1.AvailabilityState
		wantPause time.Duration
		probe     bool
	}{
		"a short cool-down": {answer: geminitest.Throttled(37 * time.Second), failures: 1, wantState: "CoolingDown", wantPause: 37 * time.Second},
		"a long cool-down":  {answer: geminitest.Throttled(20 * time.Minute), failures: 1, wantState: "CoolingDown", wantPause: 20 * time.Minute},
		"a spent quota":     {answer: geminitest.QuotaPerDay(), failures: 1, wantState: "QuotaSpent", wantPause: time.Hour},
		"an open circuit":   {answer: geminitest.Internal(), failures: 5, wantState: "CircuitOpen", wantPause: time.Minute, probe: true},
	}, 3) {
		for how, leave := range portion.Some(map[string]func(*world){"told to stop": (*world).restart, "cut off": (*world).crash}, 1) {
			t.Run(name+", "+how, func(t *testing.T) {
				t.Parallel()
				const n = 12
				w := newWorld(t)
				server := w.gemini("gemini", func(described *v1alpha1.AIProvider) { described.Spec.MaxConcurrent = new(int32(1)) })
				server.OnCall(func(geminitest.Call) (geminitest.Answer, bool) { return test.answer, true })
				web := feedtest.New(t)
				web.List(web.Entries("news", n)...)
				w.source("news", web.FeedURL(), summarizedBy("gemini"))
				stands := func(p *v1alpha1.AIProvider) error {
					if a := p.Status.Availability; a == nil || a.State != test.wantState || int(a.Failures) != test.failures {
						return fmt.Errorf("availability %+v", a)
					}
					return nil
				}
				before := w.untilProvider("gemini", stands)
				w.awaitItems("news", hasItems(n))
				until := before.Status.Availability.Until.Time
				if want := w.clock.Now().Add(test.wantPause); !until.Equal(want) {
					t.Fatalf("until %s, want %s", until, want)
				}
				calls := len(server.Calls())
				w.clock.Step(test.wantPause / 2)
				leave(w)
				after := w.untilProvider("gemini", func(p *v1alpha1.AIProvider) error {
					if p.ResourceVersion == before.ResourceVersion && test.wantPause > time.Minute {
						return nil
					}
					return stands(p)
				})
				if got := after.Status.Availability; !got.Until.Time.Equal(until) || got.State != test.wantState {
					t.Errorf("availability %+v, before %+v", got, before.Status.Availability)
				}
				w.clock.SetTime(until.Add(-time.Second))
				w.lookAtItems("news")
				if err := calledTimes(server, calls)(); err != nil {
					t.Errorf("a call before the pause was over: %v", err)
				}

				// At the end there is one call, on which all depends.
				goOn := make(chan struct{})
				t.Cleanup(func() { close(goOn) })
				var begun atomic.Int32
				server.OnCall(func(geminitest.Call) (geminitest.Answer, bool) {
					begun.Add(1)
					<-goOn
					return geminitest.Answer{}, false
				})
				w.clock.SetTime(until)
				await(t, func() error {
					if begun.Load() == 0 {
						return errNotYet
					}
					return nil
				})
				if !test.probe {
					return
				}
				w.untilSeen("gemini", `{"spec":{"maxConcurrent":8}}`)
				w.lookAtItems("news")
				if got := begun.Load(); got != 1 {
					t.Errorf("%d calls to find out whether the provider works", got)
				}
			})
		}
	}
}

// R3.9: nor does the pace begin anew. The provider was called just before the operator was replaced:
// the next call keeps its distance, though nobody may have written down when that was.
func TestThePaceOutlivesTheOperator(t *testing.T) {
	t.Parallel()
	const interval = 10310 * time.Millisecond // 6 a minute, and a little less
	for how, leave := range map[string]func(*world){"told to stop": (*world).restart, "cut off": (*world).crash} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			server := w.gemini("gemini", func(described *v1alpha1.AIProvider) { described.Spec.RequestsPerMinute = new(int32(6)) })
			web := feedtest.New(t)
			web.List(web.Entries("news", 5)...)
			w.source("news", web.FeedURL(), summarizedBy("gemini"))
			w.awaitItems("news", processed(5, 1))
			w.clock.Step(interval)
			w.awaitItems("news", processed(5, 2)) // the first is written with it or before
			w.untilProvider("gemini", func(p *v1alpha1.AIProvider) error {
				if p.Status.Calls == 0 {
					return errors.New("no call is counted yet")
				}
				return nil
			})
			leave(w)
			w.untilSeen("gemini", `{"spec":{"maxConcurrent":5}}`)
			w.lookAtItems("news")
			w.clock.Step(interval - 20*time.Millisecond)
			w.lookAtItems("news")
			if err := calledTimes(server, 2)(); err != nil {
				t.Error(err)
			}
			w.clock.Step(20 * time.Millisecond)
			await(t, calledTimes(server, 3))
		})
	}
}
