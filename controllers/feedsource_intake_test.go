// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/feedtest"
)

// itemsPerDay lets a source create so many items in a day.
func itemsPerDay(n int32) func(*v1alpha1.FeedSource) {
	return func(source *v1alpha1.FeedSource) { source.Spec.MaxItemsPerDay = new(n) }
}

// atNine begins a world at nine in the morning, UTC, and returns the midnight that follows.
func atNine(w *world) time.Time {
	w.clock.SetTime(w.midnight().Add(9 * time.Hour))
	return w.midnight()
}

// newsAbout are the titles of the entries that feedtest makes, by their numbers.
func newsAbout(prefix string, numbers ...int) []string {
	var all []string
	for _, n := range numbers {
		all = append(all, fmt.Sprintf("News about %s-%d", prefix, n))
	}
	slices.Sort(all)
	return all
}

// waitsForTheDay checks that a source says how many entries wait for midnight, and what to do.
func waitsForTheDay(created, held int, midnight time.Time) func(*v1alpha1.FeedSource) error {
	return func(source *v1alpha1.FeedSource) error {
		paused := meta.FindStatusCondition(source.Status.Conditions, v1alpha1.ConditionCreationPaused)
		if paused == nil || paused.Status != metav1.ConditionTrue || paused.Reason != v1alpha1.ReasonDailyItemsLimit {
			return fmt.Errorf("condition %+v", paused)
		}
		for _, part := range []string{
			fmt.Sprintf("created %d items today", created), fmt.Sprintf("%d entries wait", held), midnight.UTC().Format(time.RFC3339),
			"the oldest first", "raise spec.maxItemsPerDay", "spec.filters",
		} {
			if !strings.Contains(paused.Message, part) {
				return fmt.Errorf("%q is not said: %s", part, paused.Message)
			}
		}
		ready := meta.FindStatusCondition(source.Status.Conditions, v1alpha1.ConditionReady)
		if ready == nil || ready.Status != metav1.ConditionTrue || !strings.Contains(ready.Message, "wait in the feed") {
			return fmt.Errorf("the column STATUS does not say that something waits: %+v", ready)
		}
		return nil
	}
}

func isNotPaused(source *v1alpha1.FeedSource) error {
	if paused := meta.FindStatusCondition(source.Status.Conditions, v1alpha1.ConditionCreationPaused); paused != nil {
		return fmt.Errorf("the pause is still shown: %+v", paused)
	}
	return nil
}

// R1.10, R1.5: a site that lists its whole archive anew, as after a change of its software, is taken in at
// spec.maxItemsPerDay a day, the oldest first; the source says so, an unchanged feed is not read again for it and costs
// no write, and nothing is lost of what the feed still lists.
func TestAFloodOfEntriesIsTakenInDayByDay(t *testing.T) {
	t.Parallel()
	web := feedtest.New(t)
	web.List(web.Entries("old", 7)...)
	w := newWorld(t)
	midnight := atNine(w)
	w.source("news", web.FeedURL(), itemsPerDay(3))
	items := w.untilItems("news", allProcessed(3))
	if diff := cmp.Diff(newsAbout("old", 1, 2, 3), titles(items)); diff != "" {
		t.Errorf("the oldest go first: %s", diff)
	}
	w.untilCounted("news", waitsForTheDay(3, 4, midnight))
	w.untilCounted("news", func(source *v1alpha1.FeedSource) error {
		if diff := cmp.Diff(v1alpha1.ItemsToday{Day: w.clock.Now().UTC().Format(time.DateOnly), Created: 3}, source.Status.ItemsToday); diff != "" {
			return fmt.Errorf("counted of today: %s", diff)
		}
		return nil
	})

	source := w.poll("news")
	polls := web.Hits("/feed.xml")
	for i := range 3 { // polls by the schedule
		w.clock.Step(15 * time.Minute)
		w.untilAskedFor(web, polls+i+1)
	}
	w.lookAtSource("news")
	if now := w.untilSource("news", waitsForTheDay(3, 4, midnight)); now.ResourceVersion != source.ResourceVersion {
		t.Errorf("an unchanged feed, of which entries wait, was written down: %+v", now.Status)
	}

	for day, want := range [][]string{newsAbout("old", 1, 2, 3, 4, 5, 6), newsAbout("old", 1, 2, 3, 4, 5, 6, 7)} {
		w.clock.SetTime(w.midnight().Add(time.Hour))
		w.poll("news")
		if diff := cmp.Diff(want, titles(w.untilItems("news", allProcessed(len(want))))); diff != "" {
			t.Errorf("day %d: %s", day+2, diff)
		}
	}
	w.untilCounted("news", isNotPaused)
}

// R1.10: nothing that a person who may edit the namespace can do gives a source more items on the same day, but for
// raising its limit; nor does a restart, a crash or a change of the leader.
func TestTheItemsOfADayCannotBeHadTwice(t *testing.T) {
	t.Parallel()
	const perDay = 3
	evasions := map[string]func(t *testing.T, w *world, web *feedtest.Server){
		"by polling by hand": func(_ *testing.T, w *world, _ *feedtest.Server) { w.poll("news") },
		"by deleting the items": func(_ *testing.T, w *world, _ *feedtest.Server) {
			w.deleteItems("news")
		},
		"by deleting the memory": func(t *testing.T, w *world, _ *feedtest.Server) {
			t.Helper()
			w.deleteMemories()
		},
		"by deleting items and memory before a restart": func(t *testing.T, w *world, _ *feedtest.Server) {
			t.Helper()
			w.untilCounted("news", createdToday(perDay))
			w.deleteItems("news")
			w.deleteMemories()
			w.restart()
		},
		"by a crash": func(_ *testing.T, w *world, _ *feedtest.Server) { w.crash() },
		"by a change of the spec": func(_ *testing.T, w *world, _ *feedtest.Server) {
			w.change(&v1alpha1.FeedSource{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "news"}}, `{"spec":{"initialItems":900,"interval":"1h"}}`)
		},
		"by another URL": func(_ *testing.T, w *world, web *feedtest.Server) {
			w.change(&v1alpha1.FeedSource{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "news"}},
				fmt.Sprintf(`{"spec":{"url":%q}}`, web.FeedURL()+"?again"))
		},
		"by suspending and resuming": func(_ *testing.T, w *world, _ *feedtest.Server) {
			source := &v1alpha1.FeedSource{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "news"}}
			w.suspend(source, true)
			w.untilSource("news", saysOf(v1alpha1.ReasonSuspended))
			w.suspend(source, false)
		},
	}
	for name, evade := range evasions {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			web := feedtest.New(t)
			web.List(web.Entries("first", perDay)...)
			w := newWorld(t)
			created := w.creations()
			atNine(w)
			w.source("news", web.FeedURL(), itemsPerDay(perDay))
			w.untilItems("news", allProcessed(perDay))
			evade(t, w, web)
			web.List(append(web.Entries("second", 10), web.Entries("first", perDay)...)...)
			w.poll("news")
			web.List(slices.Concat(web.Entries("third", 10), web.Entries("second", 10), web.Entries("first", perDay))...)
			w.poll("news")
			if diff := cmp.Diff(newsAbout("first", 1, 2, 3), created()); diff != "" {
				t.Errorf("created on one day: %s", diff)
			}
		})
	}
}

// createdToday checks that the status tells how many items were created today.
func createdToday(n int32) func(*v1alpha1.FeedSource) error {
	return func(source *v1alpha1.FeedSource) error {
		if source.Status.ItemsToday.Created != n {
			return fmt.Errorf("%+v were created", source.Status.ItemsToday)
		}
		return nil
	}
}

func (w *world) deleteMemories() {
	w.t.Helper()
	if err := w.client.DeleteAllOf(w.t.Context(), &v1alpha1.FeedMemory{}, client.InNamespace(w.namespace)); err != nil {
		w.t.Fatal(err)
	}
}

// R1.10: who finds that a limit is too low raises it, and what waits comes at once.
func TestRaisingTheItemsOfADayLetsThemInAtOnce(t *testing.T) {
	t.Parallel()
	web := feedtest.New(t)
	web.List(web.Entries("wire", 6)...)
	w := newWorld(t)
	midnight := atNine(w)
	source := w.source("news", web.FeedURL(), itemsPerDay(2))
	w.untilItems("news", allProcessed(2))
	w.untilCounted("news", waitsForTheDay(2, 4, midnight))
	w.change(source, `{"spec":{"maxItemsPerDay":100}}`)
	w.untilItems("news", allProcessed(6))
	w.untilCounted("news", isNotPaused)
}

// R1.10, R1.8, R1.5: entries that the filters drop and those of the first poll that are only remembered do not count; a
// limit of unfinished items that is lower is the one that is named.
func TestWhatCountsAsAnItemOfTheDay(t *testing.T) {
	t.Parallel()
	web := feedtest.New(t)
	mend := failing(web)
	web.List(web.Entries("quiet", 20)...)
	w := newWorld(t)
	midnight := atNine(w)
	w.source("news", web.FeedURL(), itemsPerDay(4), func(source *v1alpha1.FeedSource) {
		source.Spec.InitialItems, source.Spec.MaxActiveItems = new(int32(1)), new(int32(2))
		source.Spec.Filters = []v1alpha1.EntryFilter{{Name: "no-ads", Action: v1alpha1.FilterDrop, Expression: "title.contains('ads')"}}
	})
	w.untilItems("news", hasItems(1))
	web.List(slices.Concat(web.Entries("ads", 10), web.Entries("more", 6), web.Entries("quiet", 20))...)
	source := w.poll("news")
	w.untilItems("news", hasItems(2))
	if paused := meta.FindStatusCondition(source.Status.Conditions, v1alpha1.ConditionCreationPaused); paused == nil ||
		paused.Reason != v1alpha1.ReasonActiveItemsLimit || !strings.Contains(paused.Message, "5 entries") {
		t.Errorf("condition %+v", paused)
	}
	mend()
	for range 3 {
		w.clock.Step(time.Hour)
		w.untilItems("news", func(items []v1alpha1.FeedItem) error { return allProcessed(len(items))(items) })
		w.poll("news")
	}
	w.untilItems("news", allProcessed(4))
	w.untilCounted("news", waitsForTheDay(4, 3, midnight))
}

// R1.10: a poll that is cut off before it has remembered what it created does not get the day's items again.
func TestACutOffPollDoesNotGetTheItemsOfADayAgain(t *testing.T) {
	t.Parallel()
	web := feedtest.New(t)
	w := newWorld(t)
	created := w.creations()
	atNine(w)
	web.List(web.Entries("first", 1)...)
	w.source("news", web.FeedURL(), itemsPerDay(4))
	w.untilItems("news", allProcessed(1))
	w.untilRemembered(1)
	w.faults.on(func(r *http.Request) *metav1.Status {
		if r.Method == http.MethodGet || !strings.Contains(r.URL.Path, "/feedmemories") {
			return nil
		}
		return &metav1.Status{Code: http.StatusServiceUnavailable, Reason: metav1.StatusReasonServiceUnavailable}
	})
	web.List(web.Entries("first", 3)...)
	w.annotate(&v1alpha1.FeedSource{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "news"}}, v1alpha1.AnnotationPoll, "cut off")
	w.untilItems("news", hasItems(3))
	w.stop()
	w.faults.on(nil)
	web.List(web.Entries("first", 12)...)
	w.start()
	w.poll("news")
	w.poll("news")
	if got := created(); len(got) != 4 {
		t.Errorf("created on one day: %v", got)
	}
}
