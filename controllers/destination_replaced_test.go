// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"fmt"
	"net/http"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/mastodontest"
)

// gated has a server hold back what it is asked about itself.
func gated(server *mastodontest.Server, g *gate) {
	server.OnRequest(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodGet {
			g.pass(r)
		}
		return false
	})
}

// R4.4, R4.5: a destination is deleted and made again by the same name, for another server, or its spec names another one. Nothing is posted to
// the one before from then on, however long the new one takes to say who it is.
func TestNothingIsPostedWhereADestinationPostedBefore(t *testing.T) {
	t.Parallel()
	for name, replace := range map[string]func(w *world, before *gate, old *v1alpha1.FeedDestination, url string){
		"deleted and made again": func(w *world, _ *gate, old *v1alpha1.FeedDestination, url string) {
			if err := w.client.Delete(w.t.Context(), old); err != nil {
				w.t.Fatal(err)
			}
			w.destination("press", url)
		},
		"deleted and made again while it was asked": func(w *world, before *gate, old *v1alpha1.FeedDestination, url string) {
			open := before.close(w.t)
			before.held.Store(0)
			changed := old.DeepCopy()
			if err := w.client.Patch(w.t.Context(), changed, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"maxConcurrent":3}}`))); err != nil {
				w.t.Fatal(err)
			}
			await(w.t, before.isHeld)
			if err := w.client.Delete(w.t.Context(), old); err != nil {
				w.t.Fatal(err)
			}
			w.destination("press", url)
			open()
		},
		"changed": func(w *world, _ *gate, old *v1alpha1.FeedDestination, url string) {
			patch := fmt.Sprintf(`{"spec":{"mastodon":{"server":%q}}}`, url)
			if err := w.client.Patch(w.t.Context(), old.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
				w.t.Fatal(err)
			}
		},
		"made private": func(w *world, before *gate, old *v1alpha1.FeedDestination, _ string) {
			before.held.Store(0)
			_ = before.close(w.t)
			patch := []byte(`{"spec":{"mastodon":{"visibility":"direct"}}}`)
			if err := w.client.Patch(w.t.Context(), old.DeepCopy(), client.RawPatch(types.MergePatchType, patch)); err != nil {
				w.t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			before, after := w.mastodon(), w.mastodon()
			var askedBefore, askedAfter gate
			gated(before, &askedBefore)
			gated(after, &askedAfter)
			old := w.openDestination("press", before.URL)
			_ = askedAfter.close(t)
			replace(w, &askedBefore, old, after.URL)
			if name == "made private" {
				await(t, askedBefore.isHeld)
			} else {
				await(t, askedAfter.isHeld) // from now on the operator knows of the new one
			}
			w.oneItem("press")
			item := w.awaitItem("news", func(item *v1alpha1.FeedItem) error {
				row, err := rowTo(item, "press")
				if err == nil && row.State == v1alpha1.DeliveryIntent {
					err = errNotYet
				}
				return err
			})
			for _, post := range before.Posts() {
				t.Errorf("posted to the destination as it was before, %s: %+v", post.Visibility, item.Status.Deliveries)
			}
		})
	}
}
