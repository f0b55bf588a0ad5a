// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/apitest"
	"github.com/feed-operator/feed-operator/internal/feedtest"
)

// R5.1, R1.3: a source that begins well is written once, with its items as they have turned out, and
// needs no Event. What happens to it later has one.
func TestANewSourceIsWrittenOnceWithItsItemsCounted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	written := w.countKinds()
	web := feedtest.New(t)
	web.List(web.Entries("one", 4)...)
	w.source("news", web.FeedURL())
	w.untilSource("news", readsWith(v1alpha1.ItemCounts{Processed: 4}))
	if got := written.of("PATCH feedsources"); got != 1 {
		t.Errorf("the source was written %d times", got)
	}

	web.OnRequest(func(rw http.ResponseWriter, _ *http.Request) bool {
		rw.WriteHeader(http.StatusNotFound)
		return true
	})
	w.poll("news")
	apitest.Eventually(t, func(ctx context.Context) error {
		var events eventsv1.EventList
		if err := w.client.List(ctx, &events, client.InNamespace(w.namespace)); err != nil {
			return err
		}
		var reasons []string
		for i := range events.Items {
			if events.Items[i].Regarding.Kind == "FeedSource" {
				reasons = append(reasons, events.Items[i].Reason)
			}
		}
		switch {
		case len(reasons) == 0:
			return errNotYet
		case len(reasons) > 1:
			t.Errorf("there are Events of %s", strings.Join(reasons, ", "))
		}
		return nil
	})
}

// R5.1: nobody waits for long to see that a new source is read: its items may take their time. They are
// counted as soon as they have settled.
func TestANewSourceIsReadyBeforeItsItemsAre(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	web, open := slowPages(t, "one", 3)
	w.source("news", web.FeedURL())
	w.untilItems("news", hasItems(3))
	w.clock.Step(6 * time.Second)
	w.untilSource("news", readsWith(v1alpha1.ItemCounts{Unprocessed: 3}))
	open()
	w.untilSource("news", readsWith(v1alpha1.ItemCounts{Processed: 3}))
}

// R1.6: a source that is suspended before anything was told of it says that it is suspended, and begins well
// when it goes on.
func TestASourceSuspendedAtOnceSaysSo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	said, err := w.client.Watch(t.Context(), &v1alpha1.FeedSourceList{}, client.InNamespace(w.namespace))
	if err != nil {
		t.Fatal(err)
	}
	defer said.Stop()
	web, open := slowPages(t, "one", 2)
	source := w.source("news", web.FeedURL())
	w.untilItems("news", hasItems(2))
	w.suspend(source, true)
	w.untilSource("news", saysOf(v1alpha1.ReasonSuspended))
	open()
	w.untilCounted("news", func(source *v1alpha1.FeedSource) error {
		if err := saysOf(v1alpha1.ReasonSuspended)(source); err != nil {
			return err
		}
		if source.Status.Items == (v1alpha1.ItemCounts{}) {
			return errors.New("not counted yet")
		}
		return nil
	})
	w.suspend(source, false)
	last := w.untilCounted("news", readsWith(v1alpha1.ItemCounts{Processed: 2}))

	var reasons []string
	for event := range said.ResultChan() {
		seen, ok := event.Object.(*v1alpha1.FeedSource)
		if !ok {
			t.Fatalf("watched %+v", event.Object)
		}
		if ready := meta.FindStatusCondition(seen.Status.Conditions, v1alpha1.ConditionReady); ready != nil {
			reasons = append(reasons, ready.Reason)
		}
		if seen.ResourceVersion == last.ResourceVersion {
			break
		}
	}
	if diff := cmp.Diff([]string{v1alpha1.ReasonSuspended, v1alpha1.ReasonSucceeded}, slices.Compact(reasons)); diff != "" {
		t.Error(diff)
	}
}

// R1.3: a process that stops before it has told of the first poll tells of it then, so that the next one polls
// nothing again.
func TestAFirstPollIsToldWhenTheOperatorStops(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	web, open := slowPages(t, "one", 2)
	w.source("news", web.FeedURL())
	w.untilItems("news", hasItems(2))
	w.stop()
	stopped := w.untilSource("news", readsWith(v1alpha1.ItemCounts{Unprocessed: 2}))
	open()
	w.start()
	w.untilCounted("news", readsWith(v1alpha1.ItemCounts{Processed: 2}))
	w.lookAtSource(stopped.Name)
	if got := web.Hits("/feed.xml"); got != 1 {
		t.Errorf("it was polled %d times", got)
	}
}

// R1.5, R4.4: when the process dies before it has told of the first poll, the next one polls again, takes
// nothing for new, and tells of it.
func TestWhatWasNotToldOfAFirstPollIsToldByTheNextProcess(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	web, open := slowPages(t, "one", 2)
	w.source("news", web.FeedURL(), func(source *v1alpha1.FeedSource) { source.Spec.InitialItems = new(int32(1)) })
	w.untilItems("news", hasItems(1))
	w.crash()
	open()
	w.untilCounted("news", readsWith(v1alpha1.ItemCounts{Processed: 1}))
}

// slowPages is a feed with so many entries, whose articles come once it is opened.
func slowPages(t *testing.T, name string, entries int) (web *feedtest.Server, open func()) {
	t.Helper()
	web = feedtest.New(t)
	web.List(web.Entries(name, entries)...)
	var pages gate
	web.OnRequest(func(_ http.ResponseWriter, r *http.Request) bool {
		if strings.HasPrefix(r.URL.Path, "/articles/") {
			pages.pass(r)
		}
		return false
	})
	return web, pages.close(t)
}

// readsWith checks that a source is read, and counts such items.
func readsWith(want v1alpha1.ItemCounts) func(*v1alpha1.FeedSource) error {
	return func(source *v1alpha1.FeedSource) error {
		if err := saysOf(v1alpha1.ReasonSucceeded)(source); err != nil {
			return err
		}
		if got := source.Status.Items; got != want {
			return fmt.Errorf("it counts %+v, want %+v", got, want)
		}
		if source.Status.LastSuccessTime == nil || source.Status.Format == "" {
			return fmt.Errorf("it tells not all of the poll: %+v", source.Status)
		}
		return nil
	}
}
