// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/apitest"
	"github.com/feed-operator/feed-operator/internal/feedtest"
)

// R1.2, R1.9: what a poll finds for a source that is deleted meanwhile makes nothing of one that was made by the same name: that one has a
// URL, filters and bounds of its own, and here it is suspended. Feeds may be slow, so there is time to replace a source during a poll.
func TestAPollMakesNothingOfASourceThatReplacesItsOwn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.mastodon()
	w.destination("press", server.URL, func(d *v1alpha1.FeedDestination) { d.Spec.Template = "{{.FeedTitle}}: {{.Title}}\n{{.URL}}" })
	web := feedtest.New(t)
	web.List(web.Entries("one", 3)...)
	var feed gate
	web.OnRequest(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/feed.xml" {
			feed.pass(r)
		}
		return false
	})
	open := feed.close(t)
	replaced := w.source("news", web.FeedURL(), postsTo("press"))
	apitest.Eventually(t, func(context.Context) error { return feed.isHeld() })
	if err := w.client.Delete(t.Context(), replaced); err != nil {
		t.Fatal(err)
	}
	fresh := w.source("news", web.FeedURL(), postsTo("press"), func(source *v1alpha1.FeedSource) { source.Spec.Suspend = true })
	open()

	got := w.untilSource("news", saysOf(v1alpha1.ReasonSuspended)) // written by the turn after that of the poll
	if status := got.Status; status.ItemsToday != (v1alpha1.ItemsToday{}) || status.Title != "" || status.LastPollTime != nil {
		t.Errorf("its status speaks of the other one: %+v", status)
	}
	items, err := w.items(t.Context(), "news")
	if err != nil {
		t.Fatal(err)
	}
	for i := range items {
		if items[i].Spec.SourceRef.UID == fresh.UID {
			t.Errorf("it has the item %q", items[i].Spec.Title)
		}
	}
}
