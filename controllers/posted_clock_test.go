// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"context"
	"testing"
	"time"

	"github.com/feed-operator/feed-operator/internal/feedtest"
)

// R4.4, R3.14: what was posted is not forgotten because the API server's clock is a year ahead for a moment.
func TestWhatWasPostedIsRememberedThoughTheClockIsAYearAhead(t *testing.T) {
	t.Parallel()
	for who, goesOn := range map[string]func(*world){
		"the operator works on": func(w *world) {
			w.clock.Step(time.Hour)
			w.clock.Step(time.Minute)
		},
		"one begins then": (*world).restart,
	} {
		t.Run(who, func(t *testing.T) {
			t.Parallel()
			const n = 3
			w := newWorld(t)
			server := w.mastodon()
			w.openDestination("press", server.URL)
			web := feedtest.New(t)
			web.List(web.Entries("news", n)...)
			w.source("news", web.FeedURL(), postsTo("press"))
			w.untilItems("news", allProcessed(n))
			w.untilPostsRemembered("press", n)
			w.remove("news")
			w.ahead.Store(int64(aYear))
			goesOn(w)
			polled := feedtest.NewAt(t, "127.0.0.9")
			polled.List(polled.Entries("other", 1)...)
			w.source("other", polled.FeedURL(), postsTo("press")) // the operator is at work, and writes what it has posted
			w.untilItems("other", allProcessed(1))
			w.clock.Step(2 * time.Minute)
			w.poll("other")
			w.ahead.Store(0)
			w.restart()
			w.source("again", web.FeedURL(), postsTo("press"))
			w.untilEnded("again", n)
			if posts := len(server.Posts()); posts != n+1 {
				memories, err := w.postMemories(context.WithoutCancel(t.Context()), "press")
				t.Errorf("%d posts of %d entries; %d memories (%v)", posts, n+1, len(memories), err)
			}
		})
	}
}
