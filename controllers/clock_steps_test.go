// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/controllers"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/geminitest"
	"github.com/feed-operator/feed-operator/internal/portion"
)

const aYear = 365 * 24 * time.Hour

// whoGoesOn is who goes on after the clock was wrong for a moment.
var whoGoesOn = map[string]func(*world){
	"the same operator goes on": func(*world) {},
	"another one takes over":    (*world).restart,
}

// aheadForAMoment has something happen while the clock is a year ahead. What the operator's queues were told to wait for then, they wait for
// until then: that all is looked at when a clock is set is for the tests of clocks that are set to show, and here the test has it looked at.
func (w *world) aheadForAMoment(happens func()) {
	w.t.Helper()
	now := w.clock.Now()
	w.clock.SetTime(now.Add(aYear))
	happens()
	w.clock.SetTime(now)
}

// R3.14, R1.3: a clock that was a year ahead for a moment keeps no feed from being polled.
func TestAFeedIsPolledAfterTheClockWasAYearAhead(t *testing.T) {
	t.Parallel()
	for who, goesOn := range whoGoesOn {
		for name, answers := range portion.Some(map[string]feedtest.Hook{
			"the feed was read":               nil,
			"it is rate limited then":         refuse(503, "Retry-After", "7200"),
			"it could not be read, and tells": refuse(500),
		}, 2) {
			t.Run(name+", and "+who, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				web := feedtest.New(t)
				web.List(web.Entries("news", 1)...)
				w.source("news", web.FeedURL())
				w.untilItems("news", allProcessed(1))
				web.OnRequest(answers)
				before := w.clock.Now()
				w.aheadForAMoment(func() { // a poll is due
					w.lookAt(controllers.SourceKey, client.ObjectKey{Namespace: w.namespace, Name: "news"})
					w.untilSource("news", func(source *v1alpha1.FeedSource) error {
						if at := source.Status.LastPollTime; at == nil || !at.After(before) {
							return errNotYet
						}
						return nil
					})
				})
				web.OnRequest(nil)
				goesOn(w)
				polls, until := web.Hits("/feed.xml"), w.clock.Now().Add(time.Hour)
				source := w.untilSourceIn(5*time.Minute, "news", func(source *v1alpha1.FeedSource) error {
					w.lookAt(controllers.SourceKey, client.ObjectKeyFromObject(source))
					switch {
					case web.Hits("/feed.xml") == polls:
						return errors.New("not polled")
					case source.Status.LastPollTime.After(w.clock.Now()):
						return fmt.Errorf("polled last at %s, and now it is %s", source.Status.LastPollTime, w.clock.Now())
					}
					return nil
				})
				if w.clock.Now().After(until) {
					t.Errorf("polled at %s: %+v", w.clock.Now(), source.Status)
				}
			})
		}
	}
}

// R3.14, R3.9: nor a provider from being called.
func TestAProviderIsCalledAfterTheClockWasAYearAhead(t *testing.T) {
	t.Parallel()
	for who, goesOn := range whoGoesOn {
		t.Run(who, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			server := w.gemini("gemini")
			web := feedtest.New(t)
			web.List(web.Entries("news", 1)...)
			w.untilProvider("gemini", isReady)
			w.aheadForAMoment(func() {
				server.Next(geminitest.QuotaPerDay())
				w.source("news", web.FeedURL(), summarizedBy("gemini"))
				w.untilProvider("gemini", isNotReady(v1alpha1.ReasonQuotaSpent))
				w.untilUpToDate()
			})
			goesOn(w)
			w.untilItem("news", func(item *v1alpha1.FeedItem) error {
				w.lookAt(controllers.ItemKey, client.ObjectKeyFromObject(item))
				return inPhase(v1alpha1.PhaseProcessed, v1alpha1.ReasonNone)(item)
			})
			w.untilProvider("gemini", isReady)
		})
	}
}

// patchItem changes the status of an item, as somebody whose clock was wrong.
func (w *world) patchItem(name, patch string) {
	w.t.Helper()
	item := &v1alpha1.FeedItem{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}}
	if err := w.client.Status().Patch(w.t.Context(), item, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		w.t.Fatal(err)
	}
}

// R3.14, R2.10: nor a finished item from being removed.
func TestAnItemIsRemovedThoughTheClockWasAYearAheadWhenItEnded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	web := feedtest.New(t)
	web.List(web.Entries("news", 1)...)
	source := w.source("news", web.FeedURL(), rarely, func(source *v1alpha1.FeedSource) {
		source.Spec.Retention = &v1alpha1.RetentionPolicy{KeepLast: new(int32(0))}
	})
	item := w.untilItems("news", allProcessed(1))[0]
	w.untilRemembered(1)
	w.patchItem(item.Name, fmt.Sprintf(`{"status":{"lastCheckTime":%q}}`, w.clock.Now().Add(aYear).UTC().Format(time.RFC3339)))
	w.untilUpToDate()
	w.retain(source, 1)
	w.clock.Step(8 * 24 * time.Hour)
	w.retain(source, 0)
}

// R3.14, R1.5: nor are entries taken for old ones that come to a feed which was empty at first.
func TestNewsIsNewThoughTheClockWasAYearAheadWhenTheFeedWasEmpty(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	web := feedtest.New(t)
	w.source("news", web.FeedURL(), fewAtFirst)
	w.poll("news")
	w.changeMemories(fmt.Sprintf(`{"data":{"emptySince":%q}}`, w.clock.Now().Add(aYear).UTC().Format(time.RFC3339)))
	w.restart()
	w.clock.Step(10 * time.Hour)
	web.List(published(web, "fresh", 8, w.clock.Now())...)
	w.poll("news")
	w.untilItems("news", allProcessed(8))
}

// R3.14: a destination is asked about itself, though it was last asked in a year.
func TestADestinationIsAskedThoughTheClockWasAYearAhead(t *testing.T) {
	t.Parallel()
	for who, goesOn := range whoGoesOn {
		t.Run(who, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			server := w.mastodon()
			w.aheadForAMoment(func() { w.openDestination("press", server.URL) })
			goesOn(w)
			w.untilDestination("press", func(d *v1alpha1.FeedDestination) error {
				if d.Status.CheckedTime.After(w.clock.Now()) {
					return fmt.Errorf("asked last at %s, and now it is %s", d.Status.CheckedTime, w.clock.Now())
				}
				return nil
			})
		})
	}
}
