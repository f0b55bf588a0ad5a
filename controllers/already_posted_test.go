// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/apitest"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/mastodontest"
	"github.com/feed-operator/feed-operator/internal/portion"
)

// remove deletes a source with its items, as the garbage collector does, and waits until the operator knows.
func (w *world) remove(source string) {
	w.t.Helper()
	ctx := w.t.Context()
	object := &v1alpha1.FeedSource{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: source}}
	if err := w.client.Delete(ctx, object); err != nil {
		w.t.Fatal(err)
	}
	items, err := w.items(ctx, source)
	if err != nil {
		w.t.Fatal(err)
	}
	for i := range items {
		if err := client.IgnoreNotFound(w.client.Delete(ctx, &items[i])); err != nil {
			w.t.Fatal(err)
		}
	}
	w.untilUpToDate()
}

// allSkipped checks that there are n items, all of which were skipped because the destination has a post of each.
func allSkipped(n int, destination string) func([]v1alpha1.FeedItem) error {
	return eachOf(n, func(item *v1alpha1.FeedItem) error {
		row, err := rowTo(item, destination)
		if err != nil {
			return err
		}
		if row.State != v1alpha1.DeliveryAlreadyPosted || row.URL == "" {
			return fmt.Errorf("delivery %+v of an item that is %s/%s", row, item.Status.Phase, item.Status.Reason)
		}
		return inPhase(v1alpha1.PhaseProcessed, v1alpha1.ReasonAlreadyPosted)(item)
	})
}

// postMemories lists what is remembered of the posts at a destination.
func (w *world) postMemories(ctx context.Context, destination string) ([]v1alpha1.FeedMemory, error) {
	var list v1alpha1.FeedMemoryList
	err := w.client.List(ctx, &list, client.InNamespace(w.namespace), client.MatchingLabels{v1alpha1.LabelDestination: destination})
	return list.Items, err
}

// untilPostsRemembered lets minutes pass until so many posts at a destination are written down.
func (w *world) untilPostsRemembered(destination string, posts int) {
	w.t.Helper()
	checks := 0
	apitest.Eventually(w.t, func(ctx context.Context) error {
		if checks++; checks%10 == 1 { // it may not be at work yet
			w.clock.Step(time.Minute) //nolint:contextcheck // it waits by itself
		}
		memories, err := w.postMemories(ctx, destination)
		if err != nil {
			return err
		}
		found := 0
		for i := range memories {
			found += int(memories[i].Posted.Posts)
		}
		if found != posts {
			return fmt.Errorf("%d posts are remembered, want %d", found, posts)
		}
		return nil
	})
}

// untilMemoryDamaged waits for the Event which says that what was posted to a destination could not be read.
func (w *world) untilMemoryDamaged(destination string) {
	w.t.Helper()
	apitest.Eventually(w.t, func(ctx context.Context) error {
		var all eventsv1.EventList
		if err := w.client.List(ctx, &all, client.InNamespace(w.namespace)); err != nil {
			return err
		}
		for _, event := range all.Items {
			if event.Reason == v1alpha1.ReasonMemoryDamaged && event.Regarding.Name == destination && event.Type == corev1.EventTypeWarning {
				return nil
			}
		}
		return errNotYet
	})
}

// crashUnremembered ends the operator in a way that it can write down nothing of what was posted, and starts another one.
func (w *world) crashUnremembered() {
	w.t.Helper()
	w.faults.on(func(r *http.Request) *metav1.Status {
		if r.Method == http.MethodGet || !strings.Contains(r.URL.Path, "/feedmemories") {
			return nil
		}
		return &metav1.Status{Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden}
	})
	w.stop()
	w.faults.on(nil)
	w.start()
}

// R4.4: what is deleted and applied again, also under another name, is not posted again, nor is it paid for.
func TestASourceThatIsDeletedAndAppliedAgainPostsNothingAgain(t *testing.T) {
	t.Parallel()
	type howItGoes struct {
		then func(*world)
		as   string
	}
	n := portion.Of(40, 10)
	for name, how := range portion.Some(map[string]howItGoes{
		"under the same name":                    {as: "news"},
		"under another name":                     {as: "renamed"},
		"after a restart":                        {then: (*world).restart, as: "news"},
		"after a restart that nothing announced": {then: (*world).crashUnremembered, as: "news"},
	}, 2) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			server := w.mastodon()
			w.openDestination("press", server.URL)
			web := feedtest.New(t)
			web.List(web.Entries("news", n)...)
			w.source("news", web.FeedURL(), postsTo("press"))
			w.untilItems("news", allProcessed(n))
			if how.then != nil {
				how.then(w)
			}
			w.untilPostsRemembered("press", n)
			urls := map[string]bool{}
			for _, post := range server.Posts() {
				urls[server.URL+"/@feeds/"+post.ID] = true
			}
			w.remove("news")
			w.source(how.as, web.FeedURL(), postsTo("press"))
			items := w.untilItems(how.as, allSkipped(n, "press"))
			if made := len(server.Posts()); made != n {
				t.Errorf("%d posts of %d entries", made, n)
			}
			for i := range items {
				row := items[i].Status.Deliveries[0]
				if !urls[row.URL] || items[i].Status.Summary != nil {
					t.Errorf("delivery %+v, summary %v", row, items[i].Status.Summary)
				}
				delete(urls, row.URL)
			}
			if message := readyMessage(&items[0]); !strings.Contains(message, "posted before to press") {
				t.Errorf("it says: %s", message)
			}
		})
	}
}

// R4.4: what was posted is written down as soon as items go that say so: an operator that is killed right after that has forgotten nothing.
func TestPostsOfItemsThatGoAreWrittenDownAtOnce(t *testing.T) {
	t.Parallel()
	const n = 5
	w := newWorld(t)
	server := w.mastodon()
	w.openDestination("press", server.URL)
	web := feedtest.New(t)
	web.List(web.Entries("news", n)...)
	w.source("news", web.FeedURL(), postsTo("press"))
	w.untilItems("news", allProcessed(n))
	w.remove("news")
	apitest.Eventually(t, func(ctx context.Context) error { // no minute passes
		memories, err := w.postMemories(ctx, "press")
		if err != nil || len(memories) != 1 || memories[0].Posted.Posts != n {
			return fmt.Errorf("%d memories: %w", len(memories), err)
		}
		return nil
	})
	w.crashUnremembered()
	w.source("news", web.FeedURL(), postsTo("press"))
	w.untilItems("news", allSkipped(n, "press"))
	posts(t, server, n)
}

// R4.4, R6.4: only so much is in memory of what was posted; the rest is read again when it is asked for, and nothing is posted twice for that.
func TestWhatIsNotInMemoryOfPostsIsReadAgain(t *testing.T) {
	t.Parallel()
	const n = 3
	w := newWorld(t)
	w.stop()
	w.postsInMemory = 1
	w.start()
	var read atomic.Int32
	w.faults.on(func(r *http.Request) *metav1.Status {
		if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/feedmemories") && strings.Contains(r.URL.RawQuery, "destination") {
			read.Add(1)
		}
		return nil
	})
	servers := map[string]*mastodontest.Server{"press": w.mastodon(), "desk": w.mastodon()}
	order, webs := []string{"press", "desk"}, map[string]*feedtest.Server{}
	for _, to := range order {
		server := servers[to]
		w.openDestination(to, server.URL)
		webs[to] = feedtest.New(t)
		webs[to].List(webs[to].Entries(to, n)...)
	}
	again := func(want func(to string) func([]v1alpha1.FeedItem) error) {
		for _, to := range order {
			server := servers[to]
			w.source(to, webs[to].FeedURL(), postsTo(to))
			w.itemsInTime(to, want(to))
			w.untilPostsRemembered(to, n)
			posts(t, server, n)
			w.remove(to)
		}
	}
	again(func(string) func([]v1alpha1.FeedItem) error { return allProcessed(n) })
	before := read.Load()
	for range 2 {
		again(func(to string) func([]v1alpha1.FeedItem) error { return allSkipped(n, to) })
	}
	if more := read.Load() - before; more < 3 {
		t.Errorf("read %d times: all is in memory", more)
	}
}

// R4.4: what a destination has posted is known by its name and its account; so it may be deleted and applied again too.
func TestADestinationThatIsAppliedAgainWithItsSourceRemembers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.mastodon()
	made := w.openDestination("press", server.URL)
	web := feedtest.New(t)
	web.List(web.Entries("news", 3)...)
	w.source("news", web.FeedURL(), postsTo("press"))
	w.untilItems("news", allProcessed(3))
	w.untilPostsRemembered("press", 3)
	w.remove("news")
	if err := w.client.Delete(t.Context(), made); err != nil {
		t.Fatal(err)
	}
	w.restart() // nothing is left but what is written
	w.source("news", web.FeedURL(), postsTo("press"))
	w.openDestination("press", server.URL)
	for _, item := range w.untilItems("news", eachOf(3, inState("press", v1alpha1.DeliveryAlreadyPosted))) {
		if err := inPhase(v1alpha1.PhaseProcessed, item.Status.Reason)(&item); err != nil {
			t.Error(err)
		}
	}
	if err := onePostEach(server, "/articles/news-1", "/articles/news-2", "/articles/news-3"); err != nil {
		t.Error(err)
	}
}

// R4.4: who wants entries posted again says so.
func TestEntriesArePostedAgainWhereThatIsWanted(t *testing.T) {
	t.Parallel()
	again := func(source *v1alpha1.FeedSource) {
		source.Spec.Destinations = []v1alpha1.DestinationReference{{Name: "press", AlreadyPosted: v1alpha1.AlreadyPostedAgain}}
	}
	w := newWorld(t)
	server := w.mastodon()
	w.openDestination("press", server.URL)
	web := feedtest.New(t)
	web.List(web.Entries("news", 2)...)
	w.source("news", web.FeedURL(), postsTo("press"))
	w.untilItems("news", allProcessed(2))
	w.remove("news")
	w.source("news", web.FeedURL(), again)
	w.untilItems("news", allProcessed(2))
	if made := len(server.Posts()); made != 4 {
		t.Fatalf("%d posts, want each of two entries twice", made)
	}
	w.remove("news")
	source := w.source("news", web.FeedURL(), postsTo("press"))
	items := w.untilItems("news", allSkipped(2, "press"))
	w.retry(items[0].Name, "1") // it is as it was
	w.untilItems("news", func(items []v1alpha1.FeedItem) error {
		for i := range items {
			if items[i].Annotations != nil && items[i].Status.LastHandledRetry != "1" {
				return errNotYet
			}
		}
		return allSkipped(2, "press")(items)
	})
	open := w.faults.sourcesBehind.close(t) // the cache need not have heard of what was changed before
	w.change(source, `{"spec":{"destinations":[{"name":"press","alreadyPosted":"PostAgain"}]}}`)
	w.retry(items[0].Name, "2") // and now it is wanted
	w.untilItems("news", func(all []v1alpha1.FeedItem) error {
		for i := range all {
			if all[i].Name == items[0].Name {
				return inState("press", v1alpha1.DeliveryDone)(&all[i])
			}
		}
		return errNotYet
	})
	open()
	if made := len(server.Posts()); made != 5 {
		t.Errorf("%d posts, want one more", made)
	}
}

// R4.4: two feeds may write of the same page.
func TestFeedsThatShareALinkArePostedBoth(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.mastodon()
	w.openDestination("press", server.URL)
	web, other := feedtest.New(t), feedtest.New(t)
	entries := web.Entries("news", 2)
	web.List(entries...)
	other.List(entries...)
	w.source("news", web.FeedURL(), postsTo("press"))
	w.source("other", other.FeedURL(), postsTo("press"))
	for _, source := range []string{"news", "other"} {
		for _, item := range w.untilItems(source, allProcessed(2)) {
			if err := inState("press", v1alpha1.DeliveryDone)(&item); err != nil {
				t.Error(err)
			}
		}
	}
	if made := len(server.Posts()); made != 4 {
		t.Errorf("%d posts, want one for each entry of each feed", made)
	}
}

// R4.4: what was posted to one server says nothing of another; and one server does not forget because another was
// posted to meanwhile.
func TestADestinationThatPointsToAnotherServerPostsThere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first, second := w.mastodon(), w.mastodon()
	w.openDestination("press", first.URL)
	web := feedtest.New(t)
	web.List(web.Entries("news", 2)...)
	w.source("news", web.FeedURL(), postsTo("press"))
	w.untilItems("news", allProcessed(2))
	w.untilPostsRemembered("press", 2)
	point := func(at string) {
		w.remove("news")
		w.changeDestination("press", fmt.Sprintf(`{"spec":{"mastodon":{"server":%q}}}`, at))
		w.untilDestination("press", isOpen)
		w.source("news", web.FeedURL(), postsTo("press"))
	}
	point(second.URL)
	w.untilItems("news", allProcessed(2))
	w.restart()
	w.untilPostsRemembered("press", 4)
	point(first.URL)
	w.untilItems("news", allSkipped(2, "press"))
	if len(first.Posts()) != 2 || len(second.Posts()) != 2 {
		t.Errorf("%d posts at the first server and %d at the second, want two each", len(first.Posts()), len(second.Posts()))
	}
}

// R4.4: two sources of one feed, which find its entries at the same moment, post each of them once.
func TestSourcesOfOneFeedPostEachEntryOnce(t *testing.T) {
	t.Parallel()
	const n = 20
	w := newWorld(t)
	server := w.mastodon()
	w.openDestination("press", server.URL, func(d *v1alpha1.FeedDestination) { d.Spec.MaxConcurrent = new(int32(16)) })
	web := feedtest.New(t)
	web.List(web.Entries("news", n)...)
	w.source("one", web.FeedURL(), postsTo("press"))
	w.source("two", web.FeedURL(), postsTo("press"))
	done := 0
	for _, source := range []string{"one", "two"} {
		for _, item := range w.itemsInTime(source, eachOf(n, func(item *v1alpha1.FeedItem) error {
			return inPhase(v1alpha1.PhaseProcessed, item.Status.Reason)(item)
		})) {
			if inState("press", v1alpha1.DeliveryDone)(&item) == nil {
				done++
			} else if err := inState("press", v1alpha1.DeliveryAlreadyPosted)(&item); err != nil {
				t.Error(err)
			}
		}
	}
	if made := len(server.Posts()); made != n || done != n {
		t.Errorf("%d posts, on %d items, want %d", made, done, n)
	}
	found := w.untilDestination("press", func(d *v1alpha1.FeedDestination) error {
		if d.Status.Delivered != n {
			return fmt.Errorf("%d delivered", d.Status.Delivered)
		}
		return nil
	})
	if found.Status.LastDeliveryTime == nil {
		t.Error("it does not say when")
	}
}

// R4.4: while it is not known whether an entry was posted, another source of the feed does not post it.
func TestAnEntryThatMayHaveBeenPostedIsNotPostedByAnotherSource(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.mastodon(ignoresKeys)
	w.openDestination("press", server.URL)
	web := feedtest.New(t)
	web.List(web.Entries("news", 1)...)
	server.OnPost(func(p *mastodontest.Pending) bool { // it is published, and nobody is told
		p.Commit()
		p.Reset()
		return true
	})
	w.source("one", web.FeedURL(), postsTo("press"))
	item := w.untilItem("one", hasFailed("press", 1))
	server.OnPost(nil)
	w.source("two", web.FeedURL(), postsTo("press"))
	w.untilItem("two", inPhase(v1alpha1.PhasePending, v1alpha1.ReasonWaiting))
	w.restart() // which holds it again
	w.lookAtItems("two")
	w.clock.SetTime(item.Status.Deliveries[0].NextRetryTime.Time)
	w.untilItem("one", inState("press", v1alpha1.DeliveryDone))
	w.itemsInTime("two", eachOf(1, inState("press", v1alpha1.DeliveryAlreadyPosted)))
	if err := onePostEach(server, "/articles/news-1"); err != nil {
		t.Error(err)
	}
}

// R4.4: a person has the operator forget by deleting what it remembers; no restart is needed.
func TestWhatIsForgottenIsPostedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.mastodon()
	w.openDestination("press", server.URL)
	web := feedtest.New(t)
	web.List(web.Entries("news", 2)...)
	w.source("news", web.FeedURL(), postsTo("press"))
	w.untilItems("news", allProcessed(2))
	w.untilPostsRemembered("press", 2)
	w.remove("news")
	memories, err := w.postMemories(t.Context(), "press")
	if err != nil || len(memories) != 1 {
		t.Fatalf("%d memories: %v", len(memories), err)
	}
	if err := w.client.Delete(t.Context(), &memories[0]); err != nil {
		t.Fatal(err)
	}
	w.source("news", web.FeedURL(), postsTo("press"))
	w.untilItems("news", allProcessed(2))
	if made := len(server.Posts()); made != 4 {
		t.Errorf("%d posts, want each of two entries twice", made)
	}
	w.untilPostsRemembered("press", 2)
}

// R4.4: what cannot be read is told of and forgotten; nothing waits for it.
func TestADamagedMemoryIsToldOfAndForgotten(t *testing.T) {
	t.Parallel()
	for name, data := range portion.Some(map[string]string{"no base64": "?", "nothing": "", "no gzip": "AXh4", "another form": "AHh4"}, 2) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			server := w.mastodon()
			w.openDestination("press", server.URL)
			web := feedtest.New(t)
			web.List(web.Entries("news", 2)...)
			w.source("news", web.FeedURL(), postsTo("press"))
			w.untilItems("news", allProcessed(2))
			w.untilPostsRemembered("press", 2)
			w.remove("news")
			w.stop()
			memories, err := w.postMemories(t.Context(), "press")
			if err != nil || len(memories) != 1 {
				t.Fatalf("%d memories: %v", len(memories), err)
			}
			memories[0].Posted.Data = data
			if err := w.client.Update(t.Context(), &memories[0]); err != nil {
				t.Fatal(err)
			}
			w.start()
			w.untilMemoryDamaged("press")
			w.source("news", web.FeedURL(), postsTo("press"))
			w.untilItems("news", allProcessed(2))
			w.untilPostsRemembered("press", 2)
		})
	}
}

// R4.4: two operators may write at the same time for a moment; neither loses what the other has written. A memory goes when
// all of its posts are too old, also without its destination.
func TestTheMemoryOfPostsIsMergedAndExpires(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.mastodon()
	made := w.openDestination("press", server.URL)
	web := feedtest.New(t)
	web.List(web.Entries("news", 2)...)
	w.source("news", web.FeedURL(), postsTo("press"))
	w.untilItems("news", allProcessed(2))
	w.untilPostsRemembered("press", 2)
	memories, err := w.postMemories(t.Context(), "press")
	if err != nil || len(memories) != 1 {
		t.Fatalf("%d memories: %v", len(memories), err)
	}
	w.annotate(&memories[0], "example.com/touched", "1") // another version, as another operator's write makes
	web.List(web.Entries("news", 3)...)
	w.poll("news")
	w.untilItems("news", allProcessed(3))
	w.untilPostsRemembered("press", 3)
	if err := w.client.Delete(t.Context(), made); err != nil {
		t.Fatal(err)
	}
	w.clock.Step(89 * 24 * time.Hour)
	w.untilPostsRemembered("press", 3)
	w.clock.Step(24 * time.Hour)
	apitest.Eventually(t, func(ctx context.Context) error {
		memories, err := w.postMemories(ctx, "press")
		if err == nil && len(memories) > 0 {
			err = fmt.Errorf("%d memories are left", len(memories))
			w.clock.FakeClock.Step(time.Hour)
		}
		return err
	})
}

// R4.4: what is remembered costs a write a minute at most, however much is posted.
func TestWhatIsPostedIsRememberedWithOneWrite(t *testing.T) {
	t.Parallel()
	const n = 30
	var mu sync.Mutex
	written := 0
	w := newWorld(t)
	w.faults.on(func(r *http.Request) *metav1.Status {
		mu.Lock()
		defer mu.Unlock()
		if r.Method != http.MethodGet && strings.Contains(r.URL.Path, "/feedmemories") {
			body, err := io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(body))
			if err == nil && bytes.Contains(body, []byte(`"posted":`)) {
				written++
			}
		}
		return nil
	})
	server := w.mastodon()
	w.openDestination("press", server.URL)
	web := feedtest.New(t)
	web.List(web.Entries("news", n)...)
	w.source("news", web.FeedURL(), postsTo("press"))
	w.untilItems("news", allProcessed(n))
	w.untilPostsRemembered("press", n)
	w.poll("news")
	w.restart()
	mu.Lock()
	defer mu.Unlock()
	if written != 1 {
		t.Errorf("%d writes for %d posts within a minute", written, n)
	}
}

// R4.4: what is posted in one namespace is nothing to another one.
func TestAnotherNamespacePostsForItself(t *testing.T) {
	t.Parallel()
	web := feedtest.New(t)
	web.List(web.Entries("news", 1)...)
	var servers []*mastodontest.Server
	for range 2 {
		w := newWorld(t)
		server := w.mastodon()
		servers = append(servers, server)
		w.openDestination("press", servers[0].URL)
		w.source("news", web.FeedURL(), postsTo("press"))
		w.untilItems("news", allProcessed(1))
	}
	if made := len(servers[0].Posts()); made != 2 {
		t.Errorf("%d posts of two namespaces", made)
	}
}
