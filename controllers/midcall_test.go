// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/mastodontest"
	"github.com/feed-operator/feed-operator/internal/portion"
)

// postedOnce fails where two posts are about the same article.
func postedOnce(posts []mastodontest.Post) error {
	seen := map[string]bool{}
	for _, post := range posts {
		_, link, _ := strings.Cut(post.Text, "http://")
		link, _, _ = strings.Cut(link, "\n")
		if seen[link] {
			return fmt.Errorf("posted twice: %s", link)
		}
		seen[link] = true
	}
	return nil
}

// R3.13, R4.4: what is taken away while posts of it hang, again and again, keeps no place and makes no second post: where a source has one
// place and a namespace two, its next items are posted, and so are those of a neighbour.
func TestWhatGoesDuringACallKeepsNoPlace(t *testing.T) {
	t.Parallel()
	rounds := portion.Of(3, 1) // there is one place
	open := func(w *world, server *mastodontest.Server) {
		w.openDestination("press", server.URL, patient, func(d *v1alpha1.FeedDestination) { d.Spec.MaxConcurrent = new(int32(100)) })
	}
	removeDestination := func(w *world) {
		gone := &v1alpha1.FeedDestination{}
		gone.Namespace, gone.Name = w.namespace, "press"
		if err := w.client.Delete(w.t.Context(), gone); err != nil {
			w.t.Fatal(err)
		}
	}
	for name, test := range portion.Some(map[string]struct {
		during func(w *world, server *mastodontest.Server, source string, url string)
		after  func(w *world, server *mastodontest.Server)
	}{
		"the destination": {
			func(w *world, _ *mastodontest.Server, _, _ string) { removeDestination(w) },
			func(w *world, server *mastodontest.Server) { open(w, server) },
		},
		"the destination, which is made again at once": {
			func(w *world, server *mastodontest.Server, _, _ string) { removeDestination(w); open(w, server) },
			nil,
		},
		"the items": {func(w *world, _ *mastodontest.Server, source, _ string) {
			items, err := w.items(w.t.Context(), source)
			if err != nil {
				w.t.Fatal(err)
			}
			for i := range items {
				if err := w.client.Delete(w.t.Context(), &items[i]); client.IgnoreNotFound(err) != nil {
					w.t.Fatal(err)
				}
			}
		}, nil},
		"the source": {func(w *world, _ *mastodontest.Server, source, _ string) { w.remove(source) }, nil},
		"the source, which is made again at once": {func(w *world, _ *mastodontest.Server, source, url string) {
			w.remove(source)
			w.source(source, url, postsTo("press"))
			w.awaitItems(source, hasItems(3))
		}, nil},
		"nothing, but it is annotated": {func(w *world, _ *mastodontest.Server, source, _ string) {
			items, err := w.items(w.t.Context(), source)
			if err != nil {
				w.t.Fatal(err)
			}
			for token := range 5 {
				for i := range items {
					w.retry(items[i].Name, fmt.Sprint(token))
				}
				to := &v1alpha1.FeedDestination{}
				to.Namespace, to.Name = w.namespace, "press"
				w.annotate(to, v1alpha1.AnnotationRetry, fmt.Sprint(source, token))
			}
		}, nil},
	}, 3) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tenants := newTenants(t, 2, func(w *world) { w.workers = 1 })
			hog, neighbour := tenants[0], tenants[1]
			server := hog.mastodon(ignoresKeys)
			var g gate
			var hanging atomic.Int32
			server.OnPost(func(p *mastodontest.Pending) bool {
				hanging.Add(1)
				defer hanging.Add(-1)
				g.pass(p.Request)
				return false
			})
			open(hog, server)
			for round := range rounds {
				release := g.close(t)
				source := fmt.Sprint("news-", round)
				web := feedtest.NewAt(t, fmt.Sprintf("127.0.%d.1", 20+round))
				web.List(web.Entries(source, 3)...)
				hog.source(source, web.FeedURL(), postsTo("press"))
				hog.awaitItems(source, hasItems(3))
				await(t, func() error {
					if hanging.Load() == 0 {
						return errNotYet
					}
					return nil
				})
				test.during(hog, server, source, web.FeedURL())
				release()
				await(t, func() error {
					if n := hanging.Load(); n > 0 {
						return fmt.Errorf("%d hang", n)
					}
					return nil
				})
				if test.after != nil {
					test.after(hog, server)
				}
			}
			for i, w := range []*world{hog, neighbour} {
				fine := w.mastodon()
				w.openDestination("fine", fine.URL)
				web := feedtest.NewAt(t, fmt.Sprintf("127.0.0.%d", 2+i))
				web.List(web.Entries("after", 5)...)
				w.source("after", web.FeedURL(), postsTo("fine"))
				w.itemsInTime("after", allProcessed(5))
			}
			for round := range rounds {
				source := fmt.Sprint("news-", round)
				hog.itemsInTime(source, func(items []v1alpha1.FeedItem) error {
					for i := range items {
						if !items[i].Terminal() {
							return fmt.Errorf("%s is %s/%s", items[i].Name, items[i].Status.Phase, items[i].Status.Reason)
						}
					}
					return nil
				})
			}
			if err := postedOnce(server.Posts()); err != nil {
				t.Error(err)
			}
		})
	}
}
