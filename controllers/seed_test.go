// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"net/http"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/feedtest"
)

// R2.3: after a start the oldest is posted first, though the newest is the first that is looked at: everybody is in line before anybody
// is let through.
func TestAfterAStartTheOldestIsPostedFirstWhoeverIsLookedAtFirst(t *testing.T) {
	t.Parallel()
	const n = 4
	w := newWorld(t)
	server := w.mastodon()
	w.destination("press", server.URL, suspended)
	web := feedtest.New(t)
	web.List(web.Entries("news", n)...)
	w.source("news", web.FeedURL(), postsTo("press"))
	items := w.untilItems("news", allQueued(n))
	newest := ""
	for i := range items {
		if strings.HasSuffix(items[i].Spec.URL, "/articles/news-4") {
			newest = items[i].Name
		}
	}
	w.stop()
	described := &v1alpha1.FeedDestination{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "press"}}
	if err := w.client.Patch(t.Context(), described, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"suspend":false}}`))); err != nil {
		t.Fatal(err)
	}
	var others gate
	open := others.close(t)
	w.faults.on(func(r *http.Request) *metav1.Status {
		if _, name, one := strings.Cut(r.URL.Path, "/feeditems/"); one && r.Method == http.MethodGet && name != newest {
			others.pass(r)
		}
		return nil
	})
	w.start()
	w.untilDestination("press", isOpen)
	w.lookAtItems("news") // the newest has had its time
	open()
	w.untilItems("news", allProcessed(n))
	if diff := gocmp.Diff(oldestFirst(n), order(server)); diff != "" {
		t.Errorf("order of posts: %s", diff)
	}
}
