// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	gocmp "github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/portion"
	"github.com/feed-operator/feed-operator/internal/provider"
)

// metered is a provider that allows so many calls in any minute, and refuses all others. It notes
// what it was asked about, and when.
type metered struct {
	provider.Provider
	clock     clock.PassiveClock
	perMinute int
	called    chan struct{}

	mu      sync.Mutex
	titles  []string
	at      []time.Time
	refused int
}

func (m *metered) Generate(ctx context.Context, request provider.Request) (provider.Response, error) {
	m.mu.Lock()
	now := m.clock.Now()
	m.titles, m.at = append(m.titles, request.Title), append(m.at, now)
	allowed := len(m.at) <= m.perMinute || now.Sub(m.at[len(m.at)-1-m.perMinute]) >= time.Minute
	if !allowed {
		m.refused++
	}
	m.mu.Unlock()
	m.called <- struct{}{}
	if !allowed {
		return provider.Response{}, failure.New(v1alpha1.CategoryRateLimit, failure.TypeThrottled, "too many requests")
	}
	return m.Provider.Generate(ctx, request)
}

// reconciles counts how often each item was reconciled, by what the manager logs.
type reconciles struct {
	mu    sync.Mutex
	items map[string]int
}

func (r *reconciles) logger() logr.Logger {
	const everyReconcile = 5
	return funcr.New(func(_, line string) {
		if !strings.Contains(line, `"msg"="Reconciling"`) || !strings.Contains(line, `"controllerKind"="FeedItem"`) {
			return
		}
		_, rest, _ := strings.Cut(line, `"name"="`)
		name, _, _ := strings.Cut(rest, `"`)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.items[name]++
	}, funcr.Options{Verbosity: everyReconcile})
}

// counts returns how often items were reconciled in all, and the one most often.
func (r *reconciles) counts() (total, most int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, n := range r.items {
		total += n
		most = max(most, n)
	}
	return total, most
}

// R2.3, R3.5, R3.9, R3.12, R3.13: 1,000 items wait for one provider that allows 10 calls a minute. At
// least 95 % of that is used and never more; each is worked on in its turn, also when the operator is
// replaced half-way; those who wait are left alone, and written once, with their result.
func TestAThousandItemsWaitForOneProvider(t *testing.T) {
	t.Parallel()
	n := portion.Of(1000, 30)
	const perMinute, step = 10, 6200 * time.Millisecond // 96.8 % of the allowance
	web := feedtest.New(t)
	web.List(web.Entries("queue", n)...)
	slow, counted := &metered{perMinute: perMinute, called: make(chan struct{}, n)}, &reconciles{items: map[string]int{}}
	w := newWorld(t, func(w *world) {
		slow.Provider, slow.clock = w.builtin, w.clock
		w.builtin, w.log = slow, counted.logger()
	})
	w.provider("slow", func(p *v1alpha1.AIProvider) {
		p.Spec.RequestsPerMinute, p.Spec.Suspend = new(int32(perMinute)), true
	})
	w.source("news", web.FeedURL(), summarizedBy("slow"))
	items := w.awaitItems("news", eachOf(n, waitsFor("suspended")))
	slices.SortFunc(items, func(a, b v1alpha1.FeedItem) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	want := make([]string, 0, n)
	for i := range items {
		want = append(want, items[i].Spec.Title)
	}
	var mu sync.Mutex
	writes := 0
	w.faults.on(func(r *http.Request) *metav1.Status {
		if r.Method != http.MethodGet && strings.Contains(r.URL.Path, "/feeditems") {
			mu.Lock()
			defer mu.Unlock()
			writes++
		}
		return nil
	})

	w.resume("slow")
	for i := range n {
		select {
		case <-slow.called:
		case <-time.After(2 * time.Minute):
			t.Fatalf("nobody came after %d calls", i)
		}
		if i == n/2-1 {
			w.awaitItems("news", processed(n, i+1))
			w.restart()
			w.untilSeen("slow", `{"spec":{"maxConcurrent":5}}`)
		}
		w.clock.Step(step)
	}
	w.awaitItems("news", allProcessed(n))

	if diff := gocmp.Diff(want, slow.titles); diff != "" {
		t.Errorf("out of order (-want +got):\n%s", diff)
	}
	if slow.refused > 0 {
		t.Errorf("%d calls more than are allowed in a minute", slow.refused)
	}
	elapsed := slow.at[n-1].Sub(slow.at[0])
	if used := float64(n-1) / elapsed.Minutes() / perMinute; used < 0.95 {
		t.Errorf("%.3f of the allowance was used", used)
	}
	if writes > n {
		t.Errorf("%d writes for %d items: waiting is written", writes, n)
	}
	// Each look may come one more before it that ends at the cache, while all places of the source are taken.
	if total, most := counted.counts(); total > 4*n || most > 5 {
		t.Errorf("%d reconciles, %d of one item", total, most)
	} else if total < n {
		t.Error("the reconciles are not counted")
	} else {
		t.Logf("%d reconciles, at most %d of one item, %d writes of items", total, most, writes)
	}
}
