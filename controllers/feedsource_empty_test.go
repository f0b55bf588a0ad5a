// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/feedtest"
)

// R1.5: the old entries of a feed in which nothing was found when it was read first do not flood when they are found, in
// whichever way that came about; what was published since becomes items, all of it.
func TestTheFirstEntriesThatAreFoundDoNotFlood(t *testing.T) {
	t.Parallel()
	for name, begins := range map[string]func(w *world, url string){
		"the feed was empty": func(w *world, url string) {
			w.source("news", url, fewAtFirst)
			w.poll("news")
		},
		"an older version overlooked all, and did not note when it read the feed first": func(w *world, url string) {
			w.source("news", url, fewAtFirst)
			w.poll("news")
			w.changeMemories(`{"data":{"emptySince":null}}`)
			w.restart()
		},
		"the URL was changed, a month later": func(w *world, url string) {
			other := feedtest.New(w.t)
			other.List(other.Entries("other", 1)...)
			source := w.source("news", other.FeedURL(), fewAtFirst)
			w.untilItems("news", allProcessed(1))
			w.deleteItems("news")
			w.clock.Step(30 * 24 * time.Hour)
			w.change(source, `{"spec":{"url":"`+url+`"}}`)
			w.poll("news")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			web := feedtest.New(t)
			begins(w, web.FeedURL())
			old := published(web, "old", 20, w.clock.Now().AddDate(0, 0, -10))
			w.clock.Step(10 * time.Hour)
			web.List(append(published(web, "fresh", 8, w.clock.Now()), old...)...)
			w.poll("news")
			want := slices.Concat(named("fresh", 1, 8), named("old", 16, 20))
			slices.Sort(want)
			if diff := cmp.Diff(want, titles(w.untilItems("news", allProcessed(len(want))))); diff != "" {
				t.Error(diff)
			}
			late := published(web, "late", 8, w.clock.Now().AddDate(0, 0, -10))
			web.List(append(late, old...)...)
			w.poll("news") // something was found before: what is new is new
			w.untilItems("news", allProcessed(len(want)+len(late)))
		})
	}
}

// fewAtFirst has a source begin with as few items as by default.
func fewAtFirst(source *v1alpha1.FeedSource) { source.Spec.InitialItems = nil }

// published makes entries that were published an hour apart.
func published(web *feedtest.Server, prefix string, n int, newest time.Time) []feedtest.Entry {
	entries := web.Entries(prefix, n)
	for i := range entries {
		entries[i].Published = newest.Add(-time.Duration(i) * time.Hour)
	}
	return entries
}

// named are the titles of some of such entries.
func named(prefix string, from, to int) (titles []string) {
	for i := from; i <= to; i++ {
		titles = append(titles, fmt.Sprintf("News about %s-%d", prefix, i))
	}
	return titles
}

func (w *world) changeMemories(patch string) {
	w.t.Helper()
	var memories v1alpha1.FeedMemoryList
	if err := w.client.List(w.t.Context(), &memories, client.InNamespace(w.namespace)); err != nil {
		w.t.Fatal(err)
	}
	for i := range memories.Items {
		if err := w.client.Patch(w.t.Context(), &memories.Items[i], client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
			w.t.Fatal(err)
		}
	}
}
