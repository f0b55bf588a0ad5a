// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/feedtest"
)

// loseReport has the API server take the first write of an object of a kind that holds a text, and its answer get lost. It returns how many
// were lost.
func (w *world) loseReport(kind, holds string) *atomic.Int32 {
	w.t.Helper()
	var lost atomic.Int32
	w.faults.on(func(r *http.Request) *metav1.Status {
		if r.Method != http.MethodPatch || !strings.Contains(r.URL.Path, "/"+kind+"/") {
			return nil
		}
		body, err := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		if err != nil || !strings.Contains(string(body), holds) || !lost.CompareAndSwap(0, 1) {
			return nil
		}
		taken := w.takeUnanswered(r, body)
		if taken == nil {
			lost.Store(0)
		}
		return taken
	})
	return &lost
}

// takeUnanswered has the API server take a write, and its answer get lost; nil where somebody else was faster, so that it is not taken.
func (w *world) takeUnanswered(r *http.Request, body []byte) *metav1.Status {
	direct, err := rest.HTTPClientFor(apiServer().Config)
	if err != nil {
		w.t.Error(err)
		return nil
	}
	again := r.Clone(r.Context())
	again.Body = io.NopCloser(bytes.NewReader(body))
	answer, err := direct.Do(again)
	if err != nil {
		w.t.Error(err)
		return nil
	}
	_ = answer.Body.Close()
	if answer.StatusCode == http.StatusConflict {
		return nil
	}
	if answer.StatusCode >= http.StatusMultipleChoices {
		w.t.Errorf("the write was answered with %s", answer.Status)
	}
	return &metav1.Status{Code: http.StatusServiceUnavailable, Reason: metav1.StatusReasonServiceUnavailable}
}

// R1.8: the report of a poll is written, and the API server's answer to that gets lost. What the filters have dropped is counted once.
func TestFilteredEntriesAreCountedOnceThoughTheAnswerToTheReportIsLost(t *testing.T) {
	t.Parallel()
	web := feedtest.New(t)
	web.List(categorized(web.Entries("one", 4), "Sports", "News")...)
	w := newWorld(t)
	lost := w.loseReport("feedsources", "filteredEntries")
	w.source("news", web.FeedURL(), filtered(dropping("no-sports", "'Sports' in categories")))
	source := w.untilCounted("news", readsWith(v1alpha1.ItemCounts{Processed: 2}))
	if err := hasFiltered(2)(source); err != nil || lost.Load() != 1 {
		t.Errorf("%v; %d answers lost", err, lost.Load())
	}
}

// R1.4: a poll has failed, and the API server's answer to that gets lost. It is one failure, and the next poll comes as after one.
func TestAFailedPollIsCountedOnceThoughTheAnswerToItIsLost(t *testing.T) {
	t.Parallel()
	web := feedtest.New(t)
	web.OnRequest(func(rw http.ResponseWriter, _ *http.Request) bool {
		rw.WriteHeader(http.StatusNotFound)
		return true
	})
	w := newWorld(t)
	lost := w.loseReport("feedsources", "consecutiveFailures")
	w.source("news", web.FeedURL())
	w.untilSource("news", func(source *v1alpha1.FeedSource) error {
		if lost.Load() == 0 || source.Status.ConsecutiveFailures == 0 {
			return errNotYet
		}
		return nil
	})
	w.lookAtSource("news") // the write is tried again by then
	source := w.untilSource("news", func(*v1alpha1.FeedSource) error { return nil })
	if got := source.Status.ConsecutiveFailures; got != 1 || web.Hits("/feed.xml") != 1 {
		t.Errorf("%d failures of %d polls", got, web.Hits("/feed.xml"))
	}
}

// R5.1: the counts of a destination are written, and the API server's answer to that gets lost. Its posts are counted once.
func TestPostsAreCountedOnceThoughTheAnswerToTheCountIsLost(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.mastodon()
	w.openDestination("press", server.URL)
	lost := w.loseReport("feeddestinations", `"delivered"`)
	w.oneItem("press")
	w.untilItems("news", allProcessed(1))
	w.restart() // what was counted is written then
	w.untilDestination("press", func(d *v1alpha1.FeedDestination) error {
		if d.Status.Delivered != 1 || lost.Load() != 1 {
			t.Errorf("%d delivered, with %d answers lost", d.Status.Delivered, lost.Load())
		}
		return nil
	})
}
