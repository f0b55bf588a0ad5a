// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/controllers"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/mastodontest"
	"github.com/feed-operator/feed-operator/internal/portion"
)

// R4.4: of two items whose posts have the same text, and of which one was published, the other one
// is looked for first. It takes the post of the first; that one must be posted then.
func TestAPostThatIsTakenForAnotherIsNotLost(t *testing.T) {
	t.Parallel()
	for where, options := range portion.Some(map[string]func(*mastodontest.Options){
		"at a server that honours keys": func(*mastodontest.Options) {},
		"at one that fails a replay":    failsReplay,
		"at one that ignores keys":      ignoresKeys,
	}, 2) {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			server := w.mastodon(options)
			items := twoUncertain(t, w, server, [2]bool{true, false})
			w.clock.SetTime(items[0].Status.Deliveries[0].NextRetryTime.Time)
			w.lookAtOne(&items[1])
			w.lookAtOne(&items[0])
			ended := append(w.untilEnded("one", 1), w.untilEnded("two", 1)...)
			if err := allProcessed(2)(ended); err != nil {
				t.Error(err)
			}
			if _, err := ids(ended, "press"); err != nil {
				t.Error(err)
			}
			if posts := server.Posts(); len(posts) != 2 {
				t.Errorf("%d posts, want one for each item: %+v", len(posts), posts)
			}
		})
	}
}

// R4.5, minInterval: the distance is kept after a restart too.
func TestARestartBringsNoPostForward(t *testing.T) {
	t.Parallel()
	const n, interval = 10, 10 * time.Minute
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
	w.untilItems("news", hasPosted(1))
	for i := range portion.Of(10, 3) {
		w.restart()
		w.untilDestination("press", isOpen)
		w.lookAtItems("news")
		if posts := server.Posts(); len(posts) != 1 {
			t.Fatalf("%d posts after restart %d, want 1", len(posts), i+1)
		}
	}
}

// R4.5: the call to one destination hangs; the item's post to another one, which was suspended when
// the call began, is made when that one is free.
func TestACallThatHangsHoldsBackNoOtherDelivery(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hangs, fine := w.mastodon(), w.mastodon()
	w.openDestination("hangs", hangs.URL, patient)
	w.destination("fine", fine.URL, suspended)
	hangs.OnPost(func(p *mastodontest.Pending) bool { p.Hang(); return true })
	w.oneItem("hangs", "fine")
	w.untilItem("news", inState("hangs", v1alpha1.DeliveryIntent))
	w.changeDestination("fine", `{"spec":{"suspend":false}}`)
	w.untilItem("news", inState("fine", v1alpha1.DeliveryDone))
}

// R3.13: nor does it hold up the items of others, by keeping for itself the slots of the other
// destination.
func TestACallThatHangsKeepsNoSlotElsewhere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hangs, fine := w.mastodon(), w.mastodon()
	w.destination("hangs", hangs.URL, patient, suspended, func(d *v1alpha1.FeedDestination) { d.Spec.MaxConcurrent = new(int32(100)) })
	w.destination("fine", fine.URL, suspended)
	hangs.OnPost(func(p *mastodontest.Pending) bool { p.Hang(); return true })
	web := feedtest.New(t)
	web.List(web.Entries("both", 5)...)
	w.source("both", web.FeedURL(), postsTo("hangs", "fine"))
	w.untilItems("both", func(items []v1alpha1.FeedItem) error {
		for i := range items {
			if err := inState("hangs", v1alpha1.DeliveryQueued)(&items[i]); err != nil {
				return err
			}
		}
		return hasItems(5)(items)
	})
	w.changeDestination("hangs", `{"spec":{"suspend":false}}`)
	w.untilItems("both", func(items []v1alpha1.FeedItem) error {
		for i := range items {
			if err := inState("hangs", v1alpha1.DeliveryIntent)(&items[i]); err != nil {
				return err
			}
		}
		return nil
	})
	w.changeDestination("fine", `{"spec":{"suspend":false}}`)
	quickly := feedtest.New(t)
	quickly.List(quickly.Entries("quick", 3)...)
	w.source("quick", quickly.FeedURL(), postsTo("fine"))
	w.untilItems("quick", allProcessed(3))
}

// R4.5: the lookup of a post hangs; the item's post to another destination is made all the same.
func TestALookupThatHangsHoldsBackNoOtherDelivery(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hangs, fine := w.mastodon(), w.mastodon()
	w.openDestination("hangs", hangs.URL, patient)
	w.destination("fine", fine.URL, suspended)
	hangs.OnPost(func(p *mastodontest.Pending) bool { p.Reset(); return true })
	w.oneItem("hangs", "fine")
	item := w.untilItem("news", hasFailed("hangs", 1))
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	looking := make(chan struct{}, 100)
	hangs.OnRequest(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/verify_credentials") {
			looking <- struct{}{}
			select {
			case <-release:
			case <-r.Context().Done():
			}
		}
		return false
	})
	w.clock.SetTime(item.Status.Deliveries[0].NextRetryTime.Time)
	w.lookAt(controllers.ItemKey, client.ObjectKeyFromObject(item))
	<-looking
	w.changeDestination("fine", `{"spec":{"suspend":false}}`)
	w.untilItem("news", inState("fine", v1alpha1.DeliveryDone))
}

// R3.7: a person's retry overrides the item's own waiting time, once the settle time has passed.
func TestARetryDoesNotWaitForTheBackoffOfAnUncertainPost(t *testing.T) {
	t.Parallel()
	t.Run("that its key protects", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		server := w.mastodon(writeOnly)
		w.openDestination("press", server.URL)
		server.OnPost(func(p *mastodontest.Pending) bool { p.Reset(); return true })
		w.oneItem("press")
		item := w.untilItem("news", hasFailed("press", 1))
		server.OnPost(nil)
		settled := item.Status.Deliveries[0].NextRetryTime
		w.clock.SetTime(settled.Time)
		item = w.untilItem("news", waitsLonger(settled))
		w.retry(item.Name, "now")
		w.wantProcessed(server, 1)
	})
	t.Run("that could not be looked for", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		server := w.mastodon()
		w.openDestination("press", server.URL)
		server.OnPost(func(p *mastodontest.Pending) bool { p.Commit(); p.Reset(); return true })
		w.oneItem("press")
		item := w.untilItem("news", hasFailed("press", 1))
		server.OnPost(nil)
		server.OnRequest(func(rw http.ResponseWriter, _ *http.Request) bool {
			http.Error(rw, "down", http.StatusBadGateway)
			return true
		})
		settled := item.Status.Deliveries[0].NextRetryTime
		w.clock.SetTime(settled.Time)
		item = w.untilItem("news", waitsLonger(settled))
		server.OnRequest(nil)
		w.retry(item.Name, "now")
		w.wantProcessed(server, 1)
	})
}

// waitsLonger checks that a delivery waits for longer than until a time.
func waitsLonger(than *metav1.Time) func(*v1alpha1.FeedItem) error {
	return func(item *v1alpha1.FeedItem) error {
		if row := item.Status.Deliveries[0]; row.NextRetryTime == nil || !than.Before(row.NextRetryTime) {
			return fmt.Errorf("delivery %+v", row)
		}
		return nil
	}
}

// R3.4: also a post that its key protects is sent once, and as often again as the policy says.
func TestAProtectedPostIsSentNoMoreOftenThanThePolicyAllows(t *testing.T) {
	t.Parallel()
	const most = 1
	w := newWorld(t)
	server := w.mastodon(writeOnly)
	w.openDestination("press", server.URL, func(d *v1alpha1.FeedDestination) {
		d.Spec.Retry = &v1alpha1.DeliveryRetryPolicy{MaxRetries: new(int32(most)), InitialDelay: &metav1.Duration{Duration: time.Second}}
	})
	server.OnPost(func(p *mastodontest.Pending) bool {
		p.Answer(http.StatusServiceUnavailable, "text/html", "")
		return true
	})
	w.oneItem("press")
	item := w.untilEnded("news", 1)[0]
	if item.Status.Phase != v1alpha1.PhaseFailed {
		t.Errorf("%s/%s", item.Status.Phase, item.Status.Reason)
	}
	if got := server.Count("POST /api/v1/statuses"); got != 1+most {
		t.Errorf("%d requests to post, want %d", got, 1+most)
	}
}

// R4.5: when the rate limit is reset, the oldest goes first although it is the one that was refused.
func TestTheRefusedPostGoesFirstWhenItIsTheOldest(t *testing.T) {
	t.Parallel()
	refusedUntilReset(t, newWorld(t), "news-1")
}
