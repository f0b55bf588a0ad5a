// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/controllers"
	"github.com/feed-operator/feed-operator/internal/apitest"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/polling"
	"github.com/feed-operator/feed-operator/internal/portion"
)

// R1.3: a restart with hundreds of sources polls none of them early, and each of them in its slot.
func TestARestartWithHundredsOfSourcesKeepsTheirSlots(t *testing.T) {
	t.Parallel()
	const interval = 15 * time.Minute
	count := portion.Of(200, 80)
	web := feedtest.New(t)
	document := feedtest.RSS(web.Entries("one", 1))
	web.OnRequest(func(rw http.ResponseWriter, _ *http.Request) bool {
		_, _ = rw.Write(document)
		return true
	})
	name := func(i int) string { return fmt.Sprintf("source-%03d", i) }
	w := newWorld(t)
	for i := range count {
		w.source(name(i), web.URL+"/"+name(i), func(source *v1alpha1.FeedSource) { source.Spec.InitialItems = new(int32(0)) })
	}
	list := func(ctx context.Context) ([]v1alpha1.FeedSource, error) {
		var sources v1alpha1.FeedSourceList
		err := w.client.List(ctx, &sources, client.InNamespace(w.namespace))
		return sources.Items, err
	}
	uids := make([]types.UID, count)
	apitest.Eventually(t, func(ctx context.Context) error {
		sources, err := list(ctx)
		for i := range sources {
			if sources[i].Status.LastPollTime == nil {
				return fmt.Errorf("%s is not polled", sources[i].Name)
			}
			uids[i] = sources[i].UID
		}
		return err
	})

	w.restart()
	restarted := w.clock.Now()
	w.source("last", web.URL+"/last")
	w.untilItems("last", hasItems(1)) // by then, the operator is at work
	polled := 0
	for minute := range int(interval / time.Minute) {
		now := w.clock.Now()
		for i := range count { // each is looked at, as an event would have it be
			w.lookAt(controllers.SourceKey, types.NamespacedName{Namespace: w.namespace, Name: name(i)})
		}
		due := 0
		apitest.Eventually(t, func(context.Context) error {
			due = 0
			for i := range count {
				want := 1
				if !polling.NextSlot(string(uids[i]), interval, restarted).After(now) {
					want, due = 2, due+1
				}
				if got := web.Hits("/" + name(i)); got != want {
					return fmt.Errorf("minute %d: %d polls of source %d, want %d", minute, got, i, want)
				}
			}
			return nil
		})
		if more := due - polled; more > count/4 {
			t.Errorf("%d of %d sources are polled in minute %d", more, count, minute)
		}
		polled = due
		w.clock.Step(time.Minute)
	}
	if polled < count*8/10 {
		t.Errorf("only %d of %d sources have a slot within an interval", polled, count)
	}
}

// countKinds counts what a world's operator writes from now on, by method and kind.
func (w *world) countKinds() *writes {
	counted := &writes{by: map[string]int{}}
	w.faults.on(func(r *http.Request) *metav1.Status {
		for _, kind := range []string{"feedsources", "feedmemories", "feeditems"} {
			if r.Method != http.MethodGet && slices.Contains(strings.Split(r.URL.Path, "/"), kind) {
				counted.mu.Lock()
				counted.by[r.Method+" "+kind]++
				counted.mu.Unlock()
			}
		}
		return nil
	})
	return counted
}

// of returns how often a kind was written by that method.
func (c *writes) of(what string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.by[what]
}

// R1.5: a feed with far more entries than a source may work on at once. While creation pauses, polls
// write nothing, whether the feed stays as it is or changes in what does not matter; when there is room
// again it goes on, oldest first, until nothing is left.
func TestALongFeedPausesWithoutWritesAndLosesNothing(t *testing.T) {
	t.Parallel()
	listed, room := portion.Of(400, 40), portion.Of(150, 15)
	web := feedtest.New(t)
	mend := failing(web)
	entries := web.Entries("wave", listed)
	web.List(entries...)
	w := newWorld(t)
	w.source("news", web.FeedURL(), func(source *v1alpha1.FeedSource) { source.Spec.MaxActiveItems = new(int32(room)) })
	w.untilItems("news", func(items []v1alpha1.FeedItem) error {
		if len(items) != room {
			return fmt.Errorf("%d items, want %d", len(items), room)
		}
		return eachOf(room, inPhase(v1alpha1.PhaseDeferred, v1alpha1.ReasonDownloadFailed))(items)
	})
	w.clock.Step(2 * time.Minute)
	before := w.untilCounted("news", func(source *v1alpha1.FeedSource) error {
		paused := meta.FindStatusCondition(source.Status.Conditions, v1alpha1.ConditionCreationPaused)
		want := fmt.Sprintf("%d entries wait", listed-room)
		if paused == nil || !strings.Contains(paused.Message, want) || source.Status.Items.Deferred != int32(room) {
			return fmt.Errorf("condition %+v, counts %+v", paused, source.Status.Items)
		}
		return nil
	})

	counted := w.countKinds()
	for round := range 3 { // 45 minutes are less than the heartbeat
		if round > 0 { // the same entries, in another order: another document
			entries[0], entries[round] = entries[round], entries[0]
			web.List(entries...)
		}
		want := web.Hits("/feed.xml") + 1
		w.clock.Step(15 * time.Minute)
		apitest.Eventually(t, func(context.Context) error {
			w.lookAt(controllers.SourceKey, client.ObjectKeyFromObject(before))
			if web.Hits("/feed.xml") < want {
				return fmt.Errorf("poll %d is not made", round)
			}
			return nil
		})
	}
	w.restart() // all that is under way is written down, and another process knows no validators
	w.poll("news")
	got := map[string]int{"sources": counted.of("PATCH feedsources"), "memories": counted.of("PUT feedmemories")}
	if diff := cmp.Diff(map[string]int{"sources": 1, "memories": 0}, got); diff != "" { // the one tells of the poll by hand
		t.Errorf("writes while creation pauses: %s", diff)
	}
	w.faults.on(nil)

	mend()
	finished := func(items []v1alpha1.FeedItem) error {
		if unfinished := unfinishedOf(items); unfinished > room {
			t.Fatalf("%d items are unfinished, %d may be", unfinished, room)
		}
		err := allProcessed(len(items))(items)
		for i := range items { // an attempt may have begun before the pages were mended, and ended after the step
			if next := items[i].Status.NextRetryTime; err != nil && next != nil && next.After(w.clock.Now()) {
				w.clock.SetTime(next.Time)
			}
		}
		return err
	}
	w.clock.Step(90 * time.Minute) // all are due again
	items := w.untilItems("news", finished)
	for round := 0; len(items) < listed && round < listed/room; round++ {
		w.clock.Step(90 * time.Minute)
		w.poll("news") // also amid one that was due, whose items the cache may not have yet
		items = w.untilItems("news", finished)
	}
	items = w.untilItems("news", allProcessed(listed))
	titled := map[string]int{}
	for i := range items {
		titled[items[i].Spec.Title]++
	}
	if len(titled) != listed {
		t.Errorf("%d different items of %d entries", len(titled), listed)
	}
	source := w.poll("news")
	if meta.FindStatusCondition(source.Status.Conditions, v1alpha1.ConditionCreationPaused) != nil {
		t.Error("the pause is still shown")
	}
}

// R1.5: a poll by hand may come before the cache has heard of what the poll before it has made. Those items are unfinished, too: the source has no
// more of them than it may have, and what waits in the feed becomes items when there is room.
func TestAPollThatComesBeforeTheCacheHasTheLastOnesItemsLeavesThemTheirRoom(t *testing.T) {
	t.Parallel()
	const listed, room = 12, 5
	web := feedtest.New(t)
	web.List(web.Entries("news", listed)...)
	w := newWorld(t)
	w.poll(w.marker()) // the operator is at work
	hear := w.faults.behind.close(t)
	w.source("news", web.FeedURL(), func(source *v1alpha1.FeedSource) { source.Spec.MaxActiveItems = new(int32(room)) })
	w.untilItems("news", hasItems(room))
	for _, later := range []time.Duration{0, 0, 6 * time.Minute} {
		w.clock.FakeClock.Step(later)
		w.poll("news")
		if items, err := w.items(t.Context(), "news"); err != nil || len(items) != room {
			t.Fatalf("%d items, want %d (error: %v)", len(items), room, err)
		}
	}
	hear()
	w.untilAllHadRoom(room, listed)
}

// untilAllHadRoom has the rest of a feed become items, as many at a time as there is room for.
func (w *world) untilAllHadRoom(room, listed int) {
	w.t.Helper()
	for made := room; made < listed; made = min(made+room, listed) {
		w.untilItems("news", allProcessed(made))
		w.untilUpToDate()
		w.poll("news")
	}
	w.untilItems("news", allProcessed(listed))
}

// R1.5: the same where the answers to the creation of some items are lost: each of them is there.
func TestItemsWhoseCreationWasNotAnsweredHaveTheirRoom(t *testing.T) {
	t.Parallel()
	const listed, room = 12, 5
	web := feedtest.New(t)
	web.List(web.Entries("news", listed)...)
	w := newWorld(t)
	w.poll(w.marker()) // the operator is at work
	hear := w.faults.behind.close(t)
	var created atomic.Int32
	w.faults.on(func(r *http.Request) *metav1.Status {
		if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/feeditems") {
			return nil
		}
		if created.Add(1) != 2 {
			return nil
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		return w.takeUnanswered(r, body)
	})
	w.source("news", web.FeedURL(), func(source *v1alpha1.FeedSource) { source.Spec.MaxActiveItems = new(int32(room)) })
	w.untilItems("news", hasItems(2))
	for range 3 { // what is not known to be there is made again first
		w.poll("news")
	}
	if items, err := w.items(t.Context(), "news"); err != nil || len(items) != room {
		t.Fatalf("%d items, want %d (error: %v)", len(items), room, err)
	}
	hear()
	w.untilAllHadRoom(room, listed)
}

// R2.10, R1.2: hundreds of items that are too old go in bounded steps; the newest stay; and what was seen
// is known for good.
func TestManyFinishedItemsAreRemovedInBoundedSteps(t *testing.T) {
	t.Parallel()
	portion.Whole(t, "it takes more items than are removed in one step")
	const listed, keep, atOnce = 240, 20, 200
	web := feedtest.New(t)
	web.List(web.Entries("old", listed)...)
	w := newWorld(t)
	source := w.source("news", web.FeedURL())
	w.untilItems("news", allProcessed(listed))

	later := clocktesting.NewFakePassiveClock(w.clock.Now().Add(8 * 24 * time.Hour)) // the one of the operator itself has nothing to do yet
	retention := w.retention(later)
	counted, steps, deleted := w.countKinds(), 0, 0
	apitest.Eventually(t, func(ctx context.Context) error {
		w.untilUpToDate() //nolint:contextcheck // the one of the test; while the cache shows what the step before has removed, a step removes nothing
		result, err := retention.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(source)})
		if err != nil {
			return err
		}
		steps++
		if before := deleted; counted.of("DELETE feeditems") > before+atOnce {
			t.Errorf("step %d: %d deletions at once", steps, counted.of("DELETE feeditems")-before)
		}
		deleted = counted.of("DELETE feeditems")
		items, err := w.items(ctx, "news")
		if err != nil {
			return err
		}
		if len(items) > keep {
			if steps == 1 && result.RequeueAfter > time.Second {
				t.Errorf("the next step is in %s, though %d items are too old", result.RequeueAfter, len(items)-keep)
			}
			return fmt.Errorf("%d items are left", len(items))
		}
		return nil
	})
	if steps < 2 {
		t.Errorf("%d items were removed in %d steps", listed-keep, steps)
	}
	w.faults.on(nil)
	var want []string
	for i := range keep {
		want = append(want, fmt.Sprintf("News about old-%d", listed-i))
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, titles(w.untilItems("news", hasItems(keep)))); diff != "" {
		t.Error(diff)
	}

	shown := web.Entries("old", listed)
	web.List(append(web.Entries("new", 1), shown...)...) // the whole feed again, with one more
	w.poll("news")
	w.untilItems("news", allProcessed(keep+1))
}

func unfinishedOf(items []v1alpha1.FeedItem) (count int) {
	for i := range items {
		if !items[i].Terminal() {
			count++
		}
	}
	return count
}
