// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/feedtest"
)

// R4.4, R3.13: who may edit a namespace may delete what is remembered there, also at the moment in which it is written. That neither ends the
// operator, nor does what is posted after it go unremembered.
func TestAMemoryThatIsDeletedWhileItIsWrittenIsWrittenAnew(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.mastodon()
	w.openDestination("press", server.URL)
	web := feedtest.New(t)
	entries := web.Entries("news", 7)
	web.List(entries[:5]...)
	w.source("news", web.FeedURL(), postsTo("press"))
	w.untilItems("news", allProcessed(5))
	w.untilPostsRemembered("press", 5)
	web.List(entries[:6]...)
	w.poll("news")
	w.untilItems("news", allProcessed(6))

	var once atomic.Bool
	deleted, goOn := make(chan struct{}), make(chan struct{})
	w.faults.then(func(r *http.Request) {
		if r.Method != http.MethodPut || !strings.Contains(r.URL.Path, "/feedmemories/press-posted-") || !once.CompareAndSwap(false, true) {
			return
		}
		memories, err := w.postMemories(t.Context(), "press")
		if err != nil || len(memories) != 1 {
			t.Errorf("%d memories: %v", len(memories), err)
		} else if err := w.client.Delete(t.Context(), &memories[0]); err != nil {
			t.Error(err)
		}
		close(deleted)
		<-goOn
	})
	w.clock.Step(time.Minute)
	<-deleted
	w.source("again", web.FeedURL(), postsTo("press"), func(source *v1alpha1.FeedSource) {
		source.Spec.InitialItems = new(int32(2)) // which were written before
	})
	w.untilEnded("again", 2)
	close(goOn)
	web.List(entries...)
	w.poll("news")
	w.untilItems("news", allProcessed(7))
	w.untilPostsRemembered("press", 4) // what was not written, both that were posted again, and what is new
}
