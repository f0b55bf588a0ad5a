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

// R1.1, R1.6: a policy that refuses all items is not asked for each entry of a long feed, and all of them come when it is gone.
func TestAPolicyThatRefusesAllEntriesIsNotAskedForEach(t *testing.T) {
	t.Parallel()
	const n, most = 30, 20
	w := newWorld(t)
	lifted, refused := w.refusesNewItems(policies["a policy of the API server"], "")
	web := feedtest.New(t)
	web.List(web.Entries("news", n)...)
	w.source("news", web.FeedURL(), func(s *v1alpha1.FeedSource) { s.Spec.InitialItems = new(int32(n)) })
	w.untilSource("news", saysOf(v1alpha1.ReasonItemsNotCreated, fmt.Sprintf("%d entries wait in the feed", n)))
	if got := refused.Load(); got != most {
		t.Errorf("%d entries were tried, not %d", got, most)
	}
	lifted.Store(true)
	w.itemsInTime("news", allProcessed(n))
}
