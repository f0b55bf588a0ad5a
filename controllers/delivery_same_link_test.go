// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/controllers"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/mastodontest"
	"github.com/feed-operator/feed-operator/internal/portion"
)

// twoUncertain makes two sources with the same entry, so that their posts have the same text, and
// lets the answer to both posts get lost. The first request that arrives is published or not, and
// so is the second. It returns the items in that order.
func twoUncertain(t *testing.T, w *world, server *mastodontest.Server, publish [2]bool) [2]v1alpha1.FeedItem {
	t.Helper()
	w.openDestination("press", server.URL)
	w.impatient.Store(true)
	arrived := make(chan *mastodontest.Pending, 2)
	server.OnPost(func(p *mastodontest.Pending) bool {
		arrived <- p
		p.Hang()
		return true
	})
	web, other := feedtest.New(t), feedtest.New(t)
	web.List(web.Entries("news", 1)...)
	other.List(web.Entries("news", 1)...)
	w.source("one", web.FeedURL(), postsTo("press"))
	w.source("two", other.FeedURL(), postsTo("press"))
	both := map[string]v1alpha1.FeedItem{}
	for _, source := range []string{"one", "two"} {
		item := w.untilItem(source, hasFailed("press", 1))
		both[item.Status.Deliveries[0].Key] = *item
	}
	server.OnPost(nil)
	w.impatient.Store(false)
	var items [2]v1alpha1.FeedItem
	for i := range items {
		p := <-arrived
		items[i] = both[p.Post.Key]
		if publish[i] {
			p.Commit()
		}
	}
	return items
}

// lookAtOne has the operator look at one item until it has found out what became of its post. The
// server may be too slow for a look on a busy machine: then the next one is waited for.
func (w *world) lookAtOne(item *v1alpha1.FeedItem) {
	w.t.Helper()
	w.untilItem(item.Spec.SourceRef.Name, func(now *v1alpha1.FeedItem) error {
		row := now.Status.Deliveries[0]
		if row.State != v1alpha1.DeliveryIntent {
			return nil
		}
		if next := row.NextRetryTime; next != nil && next.After(w.clock.Now()) {
			w.clock.SetTime(next.Time)
		}
		return fmt.Errorf("not looked for yet: %+v", row)
	})
}

// oneEach checks that two sources have a post each.
func (w *world) oneEach(server *mastodontest.Server) {
	w.t.Helper()
	items := append(w.untilEnded("one", 1), w.untilEnded("two", 1)...)
	if err := allProcessed(2)(items); err != nil {
		w.t.Error(err)
	}
	if _, err := ids(items, "press"); err != nil {
		w.t.Error(err)
	}
	if posts := server.Posts(); len(posts) != 2 || posts[0].Key == posts[1].Key {
		w.t.Errorf("%d posts, want one for each item: %+v", len(posts), posts)
	}
}

// R4.4: two sources that post the same link to one account, both uncertain at the same time: each
// gets its own post.
func TestTwoSourcesWithTheSameLinkGetAPostEach(t *testing.T) {
	t.Parallel()
	for where, options := range portion.Some(map[string]func(*mastodontest.Options){
		"at a server that honours keys": func(*mastodontest.Options) {},
		"at one that ignores keys":      ignoresKeys,
	}, 1) {
		for what, test := range portion.Some(map[string]struct {
			publish [2]bool
			looks   []int // in this order, or at the same time
		}{
			"both were published": {[2]bool{true, true}, nil},
			"both were published, the second is looked for first": {[2]bool{true, true}, []int{1, 0}},
			"neither was published":                               {[2]bool{false, false}, nil},
			"one was published, and that one is looked for first": {[2]bool{true, false}, []int{0, 1}},
		}, 3) {
			t.Run(what+" "+where, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				server := w.mastodon(options)
				items := twoUncertain(t, w, server, test.publish)
				w.clock.SetTime(items[0].Status.Deliveries[0].NextRetryTime.Time)
				for _, i := range test.looks {
					w.lookAtOne(&items[i])
				}
				if test.looks == nil {
					for i := range items {
						w.lookAt(controllers.ItemKey, client.ObjectKeyFromObject(&items[i]))
					}
				}
				w.oneEach(server)
			})
		}
	}
}

// R4.4: what another item has is known also after a restart, and across namespaces.
func TestTwoNamespacesWithTheSameLinkGetAPostEach(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.stop()
	other := &world{t: t, client: w.client, namespace: apiServer().Namespace(t), clock: w.clock}
	w.others = []string{other.namespace}
	w.start()
	other.lookAt = w.lookAt
	server := w.mastodon()
	net := newNetwork(t, server)
	web := feedtest.New(t)
	web.List(web.Entries("news", 1)...)
	worlds := []*world{w, other}
	for _, one := range worlds {
		one.openDestination("press", net.URL)
	}
	net.breakWith(answerLost)
	w.impatient.Store(true)
	for _, one := range worlds {
		one.source("news", web.FeedURL(), postsTo("press"))
	}
	var next v1alpha1.FeedItem
	for _, one := range worlds {
		next = *one.untilItem("news", hasFailed("press", 1))
	}
	net.heal()
	w.impatient.Store(false)
	w.clock.SetTime(next.Status.Deliveries[0].NextRetryTime.Time)
	items := append(w.untilEnded("news", 1), other.untilEnded("news", 1)...)
	if err := allProcessed(2)(items); err != nil {
		t.Error(err)
	}
	if _, err := ids(items, "press"); err != nil {
		t.Error(err)
	}
	if posts := server.Posts(); len(posts) != 2 || posts[0].Key == posts[1].Key {
		t.Errorf("posts %+v", posts)
	}
}

// R4.4, R1.2: a feed whose entries all share one link: all their posts, each once, also when all
// first attempts are uncertain.
func TestEntriesThatShareALinkGetAPostEach(t *testing.T) {
	t.Parallel()
	for what, test := range map[string]struct {
		title     func(i int) string
		uncertain bool
	}{
		"all is well":                               {title: numbered},
		"the answers get lost":                      {title: numbered, uncertain: true},
		"all have the same title":                   {title: same},
		"the same title, and answers that get lost": {title: same, uncertain: true},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			const n = 4
			w := newWorld(t)
			server := w.mastodon(ignoresKeys)
			net := newNetwork(t, server)
			w.openDestination("press", net.URL)
			web := feedtest.New(t)
			entries := web.Entries("news", n)
			for i := range entries {
				entries[i].Link, entries[i].Title = web.ArticleURL("status"), test.title(i)
			}
			web.List(entries...)
			if test.uncertain {
				net.breakWith(answerLost)
				w.impatient.Store(true)
			}
			w.source("news", web.FeedURL(), postsTo("press"))
			if test.uncertain {
				w.untilItems("news", func(items []v1alpha1.FeedItem) error {
					for i := range items {
						if err := hasFailed("press", 1)(&items[i]); err != nil {
							return err
						}
					}
					return hasItems(n)(items)
				})
				net.heal()
				w.impatient.Store(false)
			}
			items := w.untilEnded("news", n)
			if err := allProcessed(n)(items); err != nil {
				t.Error(err)
			}
			held, err := ids(items, "press")
			if err != nil {
				t.Error(err)
			}
			posts := server.Posts()
			if len(posts) != n {
				t.Errorf("%d posts, want %d", len(posts), n)
			}
			for _, post := range posts {
				if held[post.ID] == "" || strings.Count(post.Text, web.ArticleURL("status")) != 1 {
					t.Errorf("post %+v is on no item, or has not the link once", post)
				}
			}
		})
	}
}

func numbered(i int) string { return fmt.Sprintf("The state of things, number %d", i) }

func same(int) string { return "The state of things" }
