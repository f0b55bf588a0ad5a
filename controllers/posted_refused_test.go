// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/feed-operator/feed-operator/internal/apitest"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/portion"
)

// R4.4, R3.14: the writes of the memory are refused for an hour, in which a source is deleted and applied again.
func TestWhatCannotBeRememberedForAnHourIsNotPostedAgain(t *testing.T) {
	t.Parallel()
	const n = 3
	w := newWorld(t)
	server := w.mastodon()
	w.openDestination("press", server.URL)
	web := feedtest.New(t)
	web.List(web.Entries("news", n)...)
	refused := w.refusesMemories()
	w.source("news", web.FeedURL(), postsTo("press"))
	w.untilItems("news", allProcessed(n))
	for range 60 {
		w.clock.Step(time.Minute)
	}
	w.remove("news")
	w.source("news", web.FeedURL(), postsTo("press"))
	w.untilItems("news", hasItems(n))
	for range 10 {
		w.clock.Step(time.Minute)
	}
	refused.Store(false)
	w.untilItems("news", allSkipped(n, "press"))
	apitest.Eventually(t, func(ctx context.Context) error {
		w.clock.Step(time.Minute) //nolint:contextcheck // it waits by itself
		memories, err := w.postMemories(ctx, "press")
		if err != nil || len(memories) == 0 {
			return fmt.Errorf("nothing is written: %w", err)
		}
		return nil
	})
	if posts := len(server.Posts()); posts != n {
		t.Errorf("%d posts", posts)
	}
}

// R3.14, R4.4: items go, one after the other, while the memory's writes are refused. What is refused is not tried again for each of them.
func TestWhatCannotBeRememberedIsNotTriedForEachItemThatGoes(t *testing.T) {
	t.Parallel()
	portion.Whole(t, "it takes many items that go at once")
	const n = 30
	w := newWorld(t)
	server := w.mastodon()
	w.openDestination("press", server.URL)
	web := feedtest.New(t)
	web.List(web.Entries("news", n)...)
	refused := w.refusesMemories()
	var tries atomic.Int32
	w.faults.then(func(r *http.Request) {
		if r.Method != http.MethodGet && strings.Contains(r.URL.Path, "/feedmemories") && strings.Contains(r.URL.Path, w.namespace) {
			tries.Add(1)
		}
	})
	w.source("news", web.FeedURL(), postsTo("press"))
	items := w.untilItems("news", allProcessed(n))
	tries.Store(0)
	for i := range items {
		if err := w.client.Delete(t.Context(), &items[i]); err != nil {
			t.Fatal(err)
		}
		w.untilUpToDate()
	}
	w.settles()
	if got := tries.Load(); got > 5 {
		t.Errorf("%d writes were tried, within a minute in which they are refused, because %d items went", got, n)
	}
	refused.Store(false)
	w.untilPostsRemembered("press", n)
}

// refusesMemories has the API server refuse what is written of posts, until it is set to false.
func (w *world) refusesMemories() *atomic.Bool {
	var on atomic.Bool
	on.Store(true)
	w.faults.on(func(r *http.Request) *metav1.Status {
		if !on.Load() || r.Method == http.MethodGet || !strings.Contains(r.URL.Path, "/feedmemories") {
			return nil
		}
		body, err := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		if err != nil || !strings.Contains(string(body), `"posted":{`) {
			return nil
		}
		return databaseFull.DeepCopy()
	})
	return &on
}
