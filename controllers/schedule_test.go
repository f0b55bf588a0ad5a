// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/apitest"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/provider"
)

// listing notes the titles that a provider was asked about, in order.
type listing struct {
	provider.Provider
	mu     sync.Mutex
	titles []string
}

func (l *listing) Generate(ctx context.Context, request provider.Request) (provider.Response, error) {
	l.mu.Lock()
	l.titles = append(l.titles, request.Title)
	l.mu.Unlock()
	return l.Provider.Generate(ctx, request)
}

func (l *listing) asked() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.titles)
}

// R2.3: where a provider is scarce, who was looked at longest ago goes first, ties by name; also
// after a restart, and no faster than the provider allows.
func TestAScarceProviderServesItemsInOrder(t *testing.T) {
	t.Parallel()
	const n = 12
	web := feedtest.New(t)
	web.List(web.Entries("queue", n)...)
	var slow *listing
	w := newWorld(t, func(w *world) {
		slow = &listing{Provider: w.builtin}
		w.builtin = slow
	})
	w.provider("slow", func(p *v1alpha1.AIProvider) {
		p.Spec.RequestsPerMinute, p.Spec.Suspend = new(int32(6)), true
	})
	w.source("news", web.FeedURL(), func(source *v1alpha1.FeedSource) {
		source.Spec.Providers = []v1alpha1.ProviderReference{{Name: "slow"}}
	})
	items := w.untilItems("news", func(items []v1alpha1.FeedItem) error {
		for i := range items {
			if err := inPhase(v1alpha1.PhaseUnprocessed, v1alpha1.ReasonWaiting)(&items[i]); err != nil {
				return err
			}
		}
		return hasItems(n)(items)
	})
	slices.SortFunc(items, func(a, b v1alpha1.FeedItem) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	var want []string
	for _, item := range items {
		want = append(want, item.Spec.Title)
	}

	w.resume("slow")
	for i := range n {
		apitest.Eventually(t, func(context.Context) error {
			if got := len(slow.asked()); got != i+1 {
				return fmt.Errorf("asked %d times, want %d", got, i+1)
			}
			return nil
		})
		w.untilItems("news", func(items []v1alpha1.FeedItem) error {
			done := 0
			for j := range items {
				if items[j].Terminal() {
					done++
				}
			}
			if done != i+1 {
				return fmt.Errorf("%d done, want %d", done, i+1)
			}
			return nil
		})
		if i == n/2-1 {
			w.restart()
			w.untilSeen("slow", `{"spec":{"maxConcurrent":5}}`)
		}
		w.clock.Step(10*time.Second + 400*time.Millisecond) // 6 a minute, and a little less
	}
	if diff := gocmp.Diff(want, slow.asked()); diff != "" {
		t.Errorf("out of order: %s", diff)
	}
}
