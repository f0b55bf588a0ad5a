// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/portion"
)

// refusesNewItems has a policy refuse new items in which there is a text, until it is lifted, and counts how often it did.
func (w *world) refusesNewItems(answer metav1.Status, with string) (lifted *atomic.Bool, refused *atomic.Int32) {
	lifted, refused = &atomic.Bool{}, &atomic.Int32{}
	w.faults.on(func(r *http.Request) *metav1.Status {
		if lifted.Load() || r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/feeditems") {
			return nil
		}
		body, err := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		if err != nil || !bytes.Contains(body, []byte(with)) {
			return nil
		}
		refused.Add(1)
		return answer.DeepCopy()
	})
	return lifted, refused
}

// R1.1, R1.6: what a webhook or a policy refuses to be made of an entry waits in the feed, whatever code it gives, and nothing is lost when it lets it pass; others
// of the feed come meanwhile, and the source says why one does not.
func TestAnEntryThatAPolicyRefusesWaitsInTheFeed(t *testing.T) {
	t.Parallel()
	for name, answer := range portion.Some(policies, 3) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			lifted, _ := w.refusesNewItems(answer, "unwanted")
			web := feedtest.New(t)
			entries := web.Entries("news", 4)
			entries[0].Title, entries[2].Title = "unwanted", "unwanted, too"
			web.List(entries...)
			w.source("news", web.FeedURL(), func(s *v1alpha1.FeedSource) { s.Spec.InitialItems = new(int32(10)) })
			w.itemsInTime("news", allProcessed(2))
			w.untilSource("news", saysOf(v1alpha1.ReasonItemsNotCreated, "2 entries wait in the feed. Have it let them pass"))
			lifted.Store(true)
			w.itemsInTime("news", allProcessed(4))
			w.untilSource("news", isReadySource)
		})
	}
}

// R1.1, R1.6: who refuses all items is not asked for each entry of a long feed, nor who does not answer for a second one; who refuses many of them, for all. All come
// when it is gone.
func TestHowOftenAPolicyIsAskedForEntries(t *testing.T) {
	t.Parallel()
	const n = 42
	for name, test := range map[string]struct {
		answer  metav1.Status
		every   int
		refused int32
		says    string
	}{
		"it refuses all":         {policies["a policy of the API server"], 1, 20, "42 entries wait in the feed"},
		"it refuses every other": {policies["a policy of the API server"], 2, n / 2, "21 entries wait in the feed"},
		"it cannot be called": {
			metav1.Status{
				Code: http.StatusInternalServerError, Reason: metav1.StatusReasonInternalError,
				Message: `Internal error occurred: failed calling webhook "taste.example": failed to call webhook: context deadline exceeded`,
			}, 1, 1, "failed calling webhook",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			lifted, refused := w.refusesNewItems(test.answer, "unwanted")
			web := feedtest.New(t)
			entries := web.Entries("news", n)
			for i := range entries {
				if i%test.every == 0 {
					entries[i].Title = fmt.Sprintf("unwanted %d", i)
				}
			}
			web.List(entries...)
			w.source("news", web.FeedURL(), func(s *v1alpha1.FeedSource) { s.Spec.InitialItems = new(int32(n)) })
			w.untilSource("news", saysOf(v1alpha1.ReasonItemsNotCreated, test.says))
			if got := refused.Load(); got != test.refused {
				t.Errorf("%d entries were tried in vain, not %d", got, test.refused)
			}
			lifted.Store(true)
			w.itemsInTime("news", allProcessed(n))
		})
	}
}
