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

	gocmp "github.com/google/go-cmp/cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/controllers"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/mastodontest"
	"github.com/feed-operator/feed-operator/internal/portion"
)

func suspended(described *v1alpha1.FeedDestination) { described.Spec.Suspend = true }

// order returns the articles of posts, in the order in which they were published.
func order(server *mastodontest.Server) []string {
	var names []string
	for _, post := range server.Posts() {
		_, name, _ := strings.Cut(post.Text, "/articles/")
		names = append(names, strings.Fields(name)[0])
	}
	return names
}

// oldestFirst are the names of n articles in the order of their publication.
func oldestFirst(n int) []string {
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("news-%d", i+1))
	}
	return names
}

// allQueued checks that n items have their summaries, and that no post of them is under way.
func allQueued(n int) func([]v1alpha1.FeedItem) error {
	return eachOf(n, inState("press", v1alpha1.DeliveryQueued))
}

// R2.3, R4.5: until the time that a server names nothing is called; then all are posted, oldest first.
func TestNothingIsPostedUntilTheRateLimitIsReset(t *testing.T) {
	t.Parallel()
	refusedUntilReset(t, newWorld(t), "news-6")
}

// refusedUntilReset has one of six items refused with 429, and lets the reset pass.
func refusedUntilReset(t *testing.T, w *world, refused string) {
	t.Helper()
	const n = 6
	reset := w.clock.Now().Add(3 * time.Hour)
	server := w.mastodon()
	w.openDestination("press", server.URL)
	asked := w.watch(server, func(rw http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPost || !w.clock.Now().Before(reset) {
			return false
		}
		rw.Header().Set("X-RateLimit-Reset", reset.UTC().Format("2006-01-02T15:04:05.000000Z"))
		http.Error(rw, `{"error":"Too many requests"}`, http.StatusTooManyRequests)
		return true
	})
	web := feedtest.New(t)
	entries := web.Entries("news", n)
	first := slices.IndexFunc(entries, func(e feedtest.Entry) bool { return strings.HasSuffix(e.Link, refused) })
	web.List(entries[first])
	w.source("news", web.FeedURL(), postsTo("press"))
	w.untilItem("news", hasFailed("press", 1))
	web.List(entries...)
	w.poll("news")
	w.untilItems("news", allQueued(n))
	for _, at := range []time.Time{w.clock.Now().Add(7 * time.Minute), reset.Add(-time.Second)} {
		w.clock.SetTime(at)
		w.lookAtItems("news")
		if posts, _ := asked.posted(); len(posts) != 1 {
			t.Fatalf("%d requests to post before the reset, want the one that was refused", len(posts))
		}
	}
	w.clock.SetTime(reset)
	items := w.untilItems("news", allProcessed(n))
	if diff := gocmp.Diff(oldestFirst(n), order(server)); diff != "" {
		t.Errorf("order of posts: %s", diff)
	}
	if posts, _ := asked.posted(); len(posts) != n+1 {
		t.Errorf("%d requests to post, want %d", len(posts), n+1)
	}
	for i := range items {
		if items[i].Status.Deliveries[0].FailedAttempts > 1 {
			t.Errorf("delivery %+v: waiting was counted", items[i].Status.Deliveries[0]) // R3.12
		}
	}
}

// R2.3, R4.5: posts keep their distance and their order.
func TestDrippingPostsKeepTheirDistanceAndOrder(t *testing.T) {
	t.Parallel()
	const n, interval = 6, 10 * time.Minute
	w := newWorld(t)
	server := w.mastodon()
	w.destination("press", server.URL, suspended, func(d *v1alpha1.FeedDestination) {
		d.Spec.MinInterval = &metav1.Duration{Duration: interval}
	})
	web := feedtest.New(t)
	web.List(web.Entries("news", n)...)
	w.source("news", web.FeedURL(), postsTo("press"))
	w.untilItems("news", allQueued(n))
	w.changeDestination("press", `{"spec":{"suspend":false}}`)
	for i := range n {
		w.untilItems("news", hasPosted(i+1))
		w.clock.Step(interval - time.Second)
		w.lookAtItems("news")
		if posts := server.Posts(); len(posts) != i+1 {
			t.Fatalf("%d posts, want %d: the next one is early", len(posts), i+1)
		}
		w.clock.Step(time.Second)
	}
	w.untilItems("news", allProcessed(n))
	if diff := gocmp.Diff(oldestFirst(n), order(server)); diff != "" {
		t.Errorf("order of posts: %s", diff)
	}
}

// hasPosted checks how many items are posted.
func hasPosted(n int) func([]v1alpha1.FeedItem) error {
	return func(items []v1alpha1.FeedItem) error {
		done := 0
		for i := range items {
			if inState("press", v1alpha1.DeliveryDone)(&items[i]) == nil {
				done++
			}
		}
		if done != n {
			return fmt.Errorf("%d posted, want %d", done, n)
		}
		return nil
	}
}

// R2.3, R3.12: while a destination or a source is suspended nothing is posted, and no retry is used
// up; then it goes on, oldest first.
func TestASuspensionStopsEveryPost(t *testing.T) {
	t.Parallel()
	t.Run("of the destination, before the first attempt", func(t *testing.T) {
		t.Parallel()
		const n = 6
		w := newWorld(t)
		server := w.mastodon()
		w.destination("press", server.URL, suspended)
		web := feedtest.New(t)
		web.List(web.Entries("news", n)...)
		w.source("news", web.FeedURL(), postsTo("press"))
		w.untilItems("news", allQueued(n))
		w.clock.Step(48 * time.Hour)
		w.lookAtItems("news")
		if got := server.Count("POST /api/v1/statuses"); got != 0 {
			t.Errorf("%d requests to post", got)
		}
		w.changeDestination("press", `{"spec":{"suspend":false}}`)
		items := w.untilItems("news", allProcessed(n))
		if diff := gocmp.Diff(oldestFirst(n), order(server)); diff != "" {
			t.Errorf("order of posts: %s", diff)
		}
		for i := range items {
			if row := items[i].Status.Deliveries[0]; row.FailedAttempts != 0 || row.FirstAttemptTime == nil || row.FirstAttemptTime.After(row.Time.Time) {
				t.Errorf("delivery %+v", row)
			}
		}
	})
	for what, change := range map[string]func(w *world, source *v1alpha1.FeedSource, suspend bool){
		"of the destination": func(w *world, _ *v1alpha1.FeedSource, suspend bool) {
			w.changeDestination("press", fmt.Sprintf(`{"spec":{"suspend":%t}}`, suspend))
		},
		"of the source": func(w *world, source *v1alpha1.FeedSource, suspend bool) {
			w.change(source, fmt.Sprintf(`{"spec":{"suspend":%t}}`, suspend))
		},
	} {
		t.Run(what+", while a retry is outstanding", func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			server := w.mastodon()
			w.openDestination("press", server.URL)
			server.OnPost(func(p *mastodontest.Pending) bool {
				p.Answer(http.StatusServiceUnavailable, "text/html", "")
				return true
			})
			source := w.oneItem("press")
			item := w.untilItem("news", hasFailed("press", 1))
			server.OnPost(nil)
			change(w, source, true)
			w.clock.SetTime(item.Status.Deliveries[0].NextRetryTime.Time)
			w.pause("news")
			w.clock.Step(10 * time.Minute)
			w.pause("news")
			if got := server.Count("POST /api/v1/statuses"); got != 1 {
				t.Errorf("%d requests to post, want the one that failed before", got)
			}
			change(w, source, false)
			w.untilEnded("news", 1)
			w.wantProcessed(server, 1)
		})
	}
}

// pause has the operator look at the items of a source that may be suspended, and waits for as long
// as another source takes from nothing to its items.
func (w *world) pause(source string) {
	w.t.Helper()
	items, err := w.items(w.t.Context(), source)
	if err != nil {
		w.t.Fatal(err)
	}
	for i := range items {
		w.lookAt(controllers.ItemKey, client.ObjectKeyFromObject(&items[i]))
	}
	other := feedtest.New(w.t)
	other.List(other.Entries("other", 1)...)
	name := fmt.Sprintf("other-%d", time.Now().UnixNano())
	w.source(name, other.FeedURL())
	w.untilItems(name, allProcessed(1))
}

// R3.8, R3.12: a destination that is missing is named and waited for.
func TestAnItemWaitsForADestinationThatDoesNotExistYet(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.mastodon()
	w.oneItem("later")
	item := w.untilItem("news", func(item *v1alpha1.FeedItem) error {
		if item.Status.Reason != v1alpha1.ReasonWaiting {
			return fmt.Errorf("reason %q", item.Status.Reason)
		}
		return nil
	})
	if message := readyMessage(item); !strings.Contains(message, `"later"`) || item.Status.Summary == nil {
		t.Errorf("the item says %q", message)
	}
	w.clock.Step(30 * 24 * time.Hour)
	w.lookAtItems("news")
	w.destination("later", server.URL)
	item = w.untilItem("news", inPhase(v1alpha1.PhaseProcessed, v1alpha1.ReasonNone))
	if row := item.Status.Deliveries[0]; row.FailedAttempts != 0 || len(server.Posts()) != 1 {
		t.Errorf("delivery %+v, posts %+v", row, server.Posts())
	}
}

// R3.4: a post is given up after the first attempt and as many retries as the policy has; with the
// last attempt it may still be found.
func TestAPostIsGivenUpAfterItsRetries(t *testing.T) {
	t.Parallel()
	const most = 2
	for what, answer := range portion.Some(map[string]func(*mastodontest.Pending){
		"the server is down":     func(p *mastodontest.Pending) { p.Answer(http.StatusServiceUnavailable, "text/html", "") },
		"the server is too busy": func(p *mastodontest.Pending) { p.Answer(http.StatusTooManyRequests, "application/json", "{}") },
		"the connection breaks":  (*mastodontest.Pending).Reset,
	}, 2) {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			server := w.mastodon()
			w.openDestination("press", server.URL, retries(most))
			server.OnPost(func(p *mastodontest.Pending) bool { answer(p); return true })
			w.oneItem("press")
			item := w.untilEnded("news", 1)[0]
			if err := inPhase(v1alpha1.PhaseFailed, v1alpha1.ReasonRetryLimitExceeded)(&item); err != nil {
				t.Error(err)
			}
			w.clock.Step(24 * time.Hour)
			w.lookAtItems("news")
			if got := server.Count("POST /api/v1/statuses"); got != 1+most || item.Status.Deliveries[0].FailedAttempts != 1+most || item.Status.RetryCount != most {
				t.Errorf("%d requests to post, want %d; delivery %+v, %d retries", got, 1+most, item.Status.Deliveries[0], item.Status.RetryCount)
			}
			server.OnPost(nil)
			w.retry(item.Name, "again") // R3.7: the whole budget is back
			w.wantProcessed(server, 1)
		})
	}
	t.Run("the server cannot be reached", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		server := w.mastodon()
		net := newNetwork(t, server)
		w.openDestination("press", net.URL, retries(most))
		net.cut()
		w.oneItem("press")
		item := w.untilEnded("news", 1)[0]
		if err := inPhase(v1alpha1.PhaseFailed, v1alpha1.ReasonRetryLimitExceeded)(&item); err != nil || item.Status.Deliveries[0].FailedAttempts != 1+most {
			t.Errorf("%v, delivery %+v", err, item.Status.Deliveries[0])
		}
	})
	t.Run("but not if the last one was published", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		server := w.mastodon(ignoresKeys)
		w.openDestination("press", server.URL, retries(0))
		server.OnPost(func(p *mastodontest.Pending) bool { p.Commit(); p.Reset(); return true })
		w.oneItem("press")
		item := w.untilEnded("news", 1)[0]
		w.checkPosts(server, &item, foundAgain)
	})
}
