// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"sync/atomic"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/mastodontest"
)

// R4.5: where the owner of a destination says nothing else, a post is made when the one before it stands, however long its server takes
// for that. So neighbours on the account are in the order of their entries.
func TestByDefaultNoPostOvertakesAnother(t *testing.T) {
	t.Parallel()
	const n = 6
	w := newWorld(t)
	server := w.mastodon()
	w.destination("press", server.URL, suspended)
	web := feedtest.New(t)
	web.List(web.Entries("news", n)...)
	w.source("news", web.FeedURL(), postsTo("press"))
	w.untilItems("news", allQueued(n))

	var requests atomic.Int32
	asked, answer := make(chan struct{}), make(chan struct{})
	server.OnPost(func(*mastodontest.Pending) bool {
		if requests.Add(1) == 1 { // the oldest one
			close(asked)
			<-answer
		}
		return false
	})
	w.changeDestination("press", `{"spec":{"suspend":false}}`)
	<-asked
	w.pause("news")
	if got := requests.Load(); got != 1 {
		t.Errorf("%d requests to post while the first one is under way", got)
	}
	close(answer)
	w.untilItems("news", allProcessed(n))
	if diff := gocmp.Diff(oldestFirst(n), order(server)); diff != "" {
		t.Errorf("order of posts: %s", diff)
	}
}
