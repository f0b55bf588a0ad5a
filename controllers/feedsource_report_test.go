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
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/controllers"
	"github.com/feed-operator/feed-operator/internal/apitest"
	"github.com/feed-operator/feed-operator/internal/feedtest"
)

// R5.1, R1.3: a source that begins well is written once, with its items as they have turned out, and
// needs no Event. What happens to it later has one.
func TestANewSourceIsWrittenOnceWithItsItemsCounted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(w *world) { w.byClockOnly = true }) // two seconds of a slow machine are no reason to write
	changes, err := w.client.Watch(t.Context(), &v1alpha1.FeedSourceList{}, client.InNamespace(w.namespace))
	if err != nil {
		t.Fatal(err)
	}
	defer changes.Stop()
	web := feedtest.New(t)
	web.List(web.Entries("one", 4)...)
	w.source("news", web.FeedURL())
	last := w.untilSource("news", readsWith(v1alpha1.ItemCounts{Processed: 4}))
	var written []string // and taken: one that comes too early for the cache is made again
	for event := range changes.ResultChan() {
		source, is := event.Object.(*v1alpha1.FeedSource)
		if is && event.Type == watch.Modified {
			written = append(written, fmt.Sprintf("%+v", source.Status))
		}
		if is && source.ResourceVersion == last.ResourceVersion {
			break
		}
	}
	if got := len(written); got != 1 {
		t.Errorf("the source was written %d times:\n%s", got, strings.Join(written, "\n"))
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

// R5.1: nobody waits for long to see that a new source is read: its items may take their time. They are counted within a minute.
func TestANewSourceIsReadyBeforeItsItemsAre(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	web, open := slowPages(t, "one", 3)
	w.source("news", web.FeedURL())
	w.untilItems("news", hasItems(3))
	began := w.clock.Now()
	w.untilSourceIn(5*time.Second, "news", saysOf(v1alpha1.ReasonSucceeded))
	if waited := w.clock.Since(began); waited > time.Minute/2 { // what comes at last moves with the clock, which steps by a minute when all stands still
		t.Errorf("it was ready after %s", waited)
	}
	w.untilCounted("news", readsWith(v1alpha1.ItemCounts{Unprocessed: 3}))
	open()
	w.untilCounted("news", readsWith(v1alpha1.ItemCounts{Processed: 3}))
}

// R1.3, R5.1: who asks for the first poll of a source is told of it at once.
func TestAFirstPollThatAPersonAskedForIsToldOfAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	web, open := slowPages(t, "one", 3)
	w.source("news", web.FeedURL(), func(source *v1alpha1.FeedSource) {
		source.Annotations = map[string]string{v1alpha1.AnnotationPoll: "now"}
	})
	source := w.untilSource("news", saysOf(v1alpha1.ReasonSucceeded))
	if source.Status.Items.Deferred > 0 { // their pages do not come
		t.Errorf("it was ready when its items had settled: %+v", source.Status.Items)
	}
	if source.Status.LastHandledPoll != "now" {
		t.Errorf("it has served %q", source.Status.LastHandledPoll)
	}
	open()
	w.untilCounted("news", readsWith(v1alpha1.ItemCounts{Processed: 3}))
}

// R1.6, R5.1: what only a first poll can know is told at once: that an entry cannot become an item, and how many the filters have dropped. Another process
// would not find it again.
func TestWhatOnlyAFirstPollCanKnowIsToldAtOnce(t *testing.T) {
	t.Parallel()
	for name, filters := range map[string][]v1alpha1.EntryFilter{"an entry is refused": nil, "an entry is dropped": {dropping("no-first", "title.contains('news-1')")}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			web, open := slowPages(t, "news", 3)
			if filters == nil {
				var refused sync.Once
				w.faults.on(func(r *http.Request) (answer *metav1.Status) {
					if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/feeditems") {
						refused.Do(func() {
							answer = &metav1.Status{Code: http.StatusUnprocessableEntity, Reason: metav1.StatusReasonInvalid, Message: "it is too long"}
						})
					}
					return answer
				})
			}
			w.source("news", web.FeedURL(), func(source *v1alpha1.FeedSource) { source.Spec.Filters = filters })
			source := w.untilSource("news", saysOf(v1alpha1.ReasonSucceeded))
			if source.Status.Items.Deferred > 0 { // their pages do not come
				t.Errorf("it was ready when its items had settled: %+v", source.Status.Items)
			}
			if damaged := meta.IsStatusConditionTrue(source.Status.Conditions, v1alpha1.ConditionDamaged); filters == nil && !damaged {
				t.Errorf("conditions %+v", source.Status.Conditions)
			}
			if filters != nil && source.Status.FilteredEntries == 0 {
				t.Errorf("status %+v", source.Status)
			}
			open()
		})
	}
}

// R1.9: a source that is suspended before anything was told of it says that it is suspended, and begins well
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

// R4.4, R5.1: a poll that the stop of the operator cuts off is no failure, and nobody is told of one. The next
// process makes it again.
func TestAStopInTheMiddleOfAPollIsNoFailure(t *testing.T) {
	t.Parallel()
	web := feedtest.New(t)
	web.List(web.Entries("one", 3)...)
	w := newWorld(t)
	cutOff := make(chan struct{})
	wasCutOff := sync.OnceFunc(func() { close(cutOff) })
	w.faults.on(func(r *http.Request) *metav1.Status {
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/feeditems") {
			go w.stop()
			<-r.Context().Done()
			wasCutOff()
		}
		return nil
	})
	source := w.source("news", web.FeedURL())
	<-cutOff
	w.stop()
	w.faults.on(nil)
	if err := w.client.Get(t.Context(), client.ObjectKeyFromObject(source), source); err != nil {
		t.Fatal(err)
	}
	if len(source.Status.Conditions) > 0 {
		t.Errorf("conditions %+v", source.Status.Conditions)
	}
	w.start()
	w.untilItems("news", allProcessed(3))
}

// R1.5, R4.4: when the process dies before it has told of the first poll, the next one polls again, takes
// nothing for new, and tells of it.
func TestWhatWasNotToldOfAFirstPollIsToldByTheNextProcess(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	web, open := slowPages(t, "one", 2)
	w.source("news", web.FeedURL(), func(source *v1alpha1.FeedSource) { source.Spec.InitialItems = new(int32(1)) })
	w.untilRemembered(1)
	w.crash()
	open()
	w.untilCounted("news", readsWith(v1alpha1.ItemCounts{Processed: 1}))
}

// R1.3: what a feed declares of its changes holds from the first poll on, whatever its items are at.
func TestAFeedIsPolledAsRarelyAsItDeclaresWhileItsItemsTakeTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	web, open := slowPages(t, "one", 2, "max-age=7200")
	w.source("news", web.FeedURL(), func(source *v1alpha1.FeedSource) { source.Spec.Interval = &metav1.Duration{Duration: time.Minute} })
	w.untilRemembered(1)
	for range 3 {
		w.clock.Step(time.Minute) // its slot passes
		w.lookAtSource("news")
	}
	w.untilSource("news", saysOf(v1alpha1.ReasonSucceeded, "every 2h"))
	open()
	if got := web.Hits("/feed.xml"); got != 1 {
		t.Errorf("it was polled %d times", got)
	}
}

// R1.1: a first report that the API server does not take keeps nothing from being polled.
func TestAFeedIsPolledAlthoughItsFirstReportIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.faults.on(func(r *http.Request) *metav1.Status {
		if r.Method == http.MethodPatch && strings.Contains(r.URL.Path, "/feedsources/") {
			return &metav1.Status{Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden}
		}
		return nil
	})
	web := feedtest.New(t)
	entries := web.Entries("one", 2)
	web.List(entries[1:]...)
	w.source("news", web.FeedURL(), func(source *v1alpha1.FeedSource) { source.Spec.Interval = &metav1.Duration{Duration: time.Minute} })
	w.untilItems("news", allProcessed(1))
	web.List(entries...)
	w.untilItems("news", func(items []v1alpha1.FeedItem) error {
		err := hasItems(2)(items)
		if err != nil {
			w.clock.Step(time.Minute)
			w.lookAt(controllers.SourceKey, client.ObjectKey{Namespace: w.namespace, Name: "news"})
		}
		return err
	})
	w.faults.on(nil)
	w.untilCounted("news", readsWith(v1alpha1.ItemCounts{Processed: 2}))
}

// R4.1, R4.4: where posts say what the feed calls itself, that is known before there is an item: a post reads the
// same whenever it is made.
func TestTheNameOfAFeedIsKnownBeforeItsItems(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.mastodon()
	w.destination("press", server.URL, func(d *v1alpha1.FeedDestination) { d.Spec.Template = "{{.FeedTitle}}: {{.Title}}\n{{.URL}}" })
	w.faults.on(func(r *http.Request) *metav1.Status {
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/feeditems") {
			var source v1alpha1.FeedSource
			if err := w.client.Get(r.Context(), client.ObjectKey{Namespace: w.namespace, Name: "news"}, &source); err != nil || source.Status.Title == "" {
				t.Errorf("an item is made while the feed has no name (%v)", err)
			}
			if err := hasReady(source.Status.Conditions, metav1.ConditionUnknown, v1alpha1.ReasonProgressing); err != nil {
				t.Error(err)
			}
		}
		return nil
	})
	web := feedtest.New(t)
	web.List(web.Entries("one", 3)...)
	w.source("news", web.FeedURL(), postsTo("press"))
	w.untilItems("news", allProcessed(3))
	source := w.untilCounted("news", readsWith(v1alpha1.ItemCounts{Processed: 3}))
	for _, post := range server.Posts() {
		if !strings.HasPrefix(post.Text, source.Status.Title+": ") {
			t.Errorf("a post reads %q, and the feed is called %q", post.Text, source.Status.Title)
		}
	}
}

// rarely has a source polled once a day.
func rarely(source *v1alpha1.FeedSource) {
	source.Spec.Interval = &metav1.Duration{Duration: 24 * time.Hour}
}

// untilRemembered waits until a first poll has made all its items.
func (w *world) untilRemembered(sources int) {
	w.t.Helper()
	apitest.Eventually(w.t, func(ctx context.Context) error {
		var memories v1alpha1.FeedMemoryList
		if err := w.client.List(ctx, &memories, client.InNamespace(w.namespace)); err != nil || len(memories.Items) >= sources {
			return err
		}
		return errNotYet
	})
}

// slowPages is a feed with so many entries, whose articles come once it is opened. It may declare how long
// it can be kept.
func slowPages(t *testing.T, name string, entries int, cacheControl ...string) (web *feedtest.Server, open func()) {
	t.Helper()
	web = feedtest.New(t)
	web.List(web.Entries(name, entries)...)
	var pages gate
	web.OnRequest(func(rw http.ResponseWriter, r *http.Request) bool {
		if strings.HasPrefix(r.URL.Path, "/articles/") {
			pages.pass(r)
		} else if len(cacheControl) > 0 {
			rw.Header().Set("Cache-Control", cacheControl[0])
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
