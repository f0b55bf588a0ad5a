// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/budget"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/portion"
)

// findsNoRoom makes a source with one entry, and returns once the feed or the page at a path is asked for, and the memory is
// full from that moment on.
func (w *world) findsNoRoom(path string) (web *feedtest.Server, full []*budget.Room) {
	w.t.Helper()
	web = feedtest.New(w.t)
	web.List(web.Entries("news", 1)...)
	rooms := make(chan []*budget.Room, 1)
	fill := sync.OnceFunc(func() { rooms <- fillMemory(w.out.Budget(), w.namespace) })
	web.OnRequest(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == path {
			fill()
		}
		return false
	})
	w.source("news", web.FeedURL(), func(source *v1alpha1.FeedSource) {
		source.Spec.Article = &v1alpha1.ArticlePolicy{Source: v1alpha1.ArticleSourcePage}
	})
	return web, <-rooms
}

// R1.10, R3.12: a feed or a page for which there is no room in memory waits: nothing has failed, no attempt is counted,
// and its server is not asked again before there is room. Then it is read.
func TestWhatFindsNoRoomInMemoryWaits(t *testing.T) {
	t.Parallel()
	for name, path := range map[string]string{"a feed": "/feed.xml", "a page": "/articles/news-1"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			web, full := w.findsNoRoom(path)
			for range 10 { // it comes again, and again finds no room
				w.clock.Step(10 * time.Second)
			}
			if hits := web.Hits(path); hits != 1 {
				t.Errorf("the server was asked %d times", hits)
			}
			for _, room := range full {
				room.Release()
			}
			var status v1alpha1.FeedItemStatus
			w.timePasses(func() error {
				items, err := w.items(t.Context(), "news")
				if err != nil || len(items) != 1 || items[0].Status.Phase != v1alpha1.PhaseProcessed {
					return fmt.Errorf("%d items: %+v, %w", len(items), items, err)
				}
				status = items[0].Status
				return nil
			})
			if status.RetryCount != 0 || status.FirstFailureTime != nil || len(status.History) != 1 {
				t.Errorf("the item has failed: %+v", status)
			}
			source := w.untilSource("news", func(source *v1alpha1.FeedSource) error {
				if source.Status.LastPollTime == nil {
					return fmt.Errorf("not told yet: %+v", source.Status)
				}
				return nil
			})
			if source.Status.ConsecutiveFailures != 0 || source.Status.Failure != nil {
				t.Errorf("the feed has failed: %+v", source.Status)
			}
			w.untilGivenBack()
		})
	}
}

// R1.10, R1.4: what has found no room in memory for long says so, with what to do: once for as long as that lasts. It goes on by itself.
func TestWhatFindsNoRoomInMemoryForLongSaysSo(t *testing.T) {
	t.Parallel()
	for name, path := range map[string]string{"a feed": "/feed.xml", "a page": "/articles/news-1"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			_, full := w.findsNoRoom(path)
			said := func() (message, version string) {
				if path == "/feed.xml" {
					var source v1alpha1.FeedSource
					if err := w.client.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "news"}, &source); err != nil {
						t.Fatal(err)
					}
					if ready := meta.FindStatusCondition(source.Status.Conditions, v1alpha1.ConditionReady); ready != nil && ready.Reason == string(v1alpha1.ReasonWaiting) {
						message = ready.Message
					}
					return message, source.ResourceVersion
				}
				items, err := w.items(t.Context(), "news")
				if err != nil || len(items) != 1 {
					t.Fatalf("%d items, %v", len(items), err)
				}
				if items[0].Status.Reason == v1alpha1.ReasonWaiting {
					message = readyMessage(&items[0])
				}
				return message, items[0].ResourceVersion
			}
			for range 10 {
				w.clock.Step(time.Minute)
			}
			if message, _ := said(); message != "" {
				t.Errorf("what may pass soon is told: %q", message)
			}
			var told, version string
			await(t, func() error {
				if told, version = said(); told == "" {
					w.clock.Step(time.Minute)
					return errors.New("nothing is told")
				}
				return nil
			})
			if !strings.Contains(told, "--document-memory") {
				t.Errorf("it does not say what to do: %q", told)
			}
			for range 10 {
				w.clock.Step(time.Minute)
			}
			if again, now := said(); again != told || now != version {
				t.Errorf("written again: %q", again)
			}
			for _, room := range full {
				room.Release()
			}
			await(t, func() error {
				items, err := w.items(t.Context(), "news")
				if message, _ := said(); err != nil || len(items) != 1 || items[0].Status.Phase != v1alpha1.PhaseProcessed || message != "" {
					w.clock.Step(time.Second)
					return fmt.Errorf("%d items, %q, %w", len(items), message, err)
				}
				return nil
			})
		})
	}
}

// R1.6, R1.10: of a feed that no turn would find room for, its source says so; it is not asked for again and again in silence. It runs alone: to read that
// feed takes a core for half a minute, and beside others minutes in which nothing moves.
func TestAFeedThatNeverFindsRoomInMemoryIsAFailure(t *testing.T) {
	portion.Whole(t, "to read it takes many seconds")
	w := newWorld(t)
	web := feedtest.New(t)
	var feed bytes.Buffer // 9 MiB, which UTF-8 makes three times as many
	feed.WriteString(`<?xml version="1.0" encoding="windows-874"?><rss version="2.0"><channel><title>T</title>`)
	for i := 0; feed.Len() < 9<<20; i++ {
		fmt.Fprintf(&feed, "<item><guid>%d</guid><description>%s</description></item>", i, bytes.Repeat([]byte("\xa1\xd2\xc3"), 10_000))
	}
	feed.WriteString("</channel></rss>")
	web.OnRequest(func(rw http.ResponseWriter, _ *http.Request) bool {
		rw.Header().Set("Content-Type", "application/rss+xml")
		_, _ = rw.Write(feed.Bytes())
		return true
	})
	w.source("news", web.FeedURL())
	w.untilSource("news", func(source *v1alpha1.FeedSource) error {
		if source.Status.Failure == nil || source.Status.Failure.Type != failure.TypeTooLarge {
			return fmt.Errorf("it says %+v, with %+v taken", source.Status, w.out.Budget().Usage()) // to read it takes its time, and memory bit by bit
		}
		return nil
	})
	w.untilGivenBack()
}

// untilGivenBack waits until no memory is taken for documents: a poll that was written down a moment ago may still hold some, and so does one that
// was begun since.
func (w *world) untilGivenBack() {
	w.t.Helper()
	await(w.t, func() error {
		if left := w.out.Budget().Usage(); left != (budget.Usage{}) {
			return fmt.Errorf("%+v is not given back", left)
		}
		return nil
	})
}

// fillMemory takes all the memory that documents of a namespace may have.
func fillMemory(memory *budget.Budget, namespace string) (rooms []*budget.Room) {
	for _, owner := range []string{"another", namespace} { // the first one has the turn of the large as well
		room := memory.Document(owner)
		for _, piece := range []int64{1 << 20, 1 << 10, 1} {
			for more := true; more; {
				more = room.Grow(piece) == nil
			}
		}
		rooms = append(rooms, room)
	}
	return rooms
}
