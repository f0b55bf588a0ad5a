// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feeditem

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/apitest"
	"github.com/feed-operator/feed-operator/internal/attempt"
	"github.com/feed-operator/feed-operator/internal/backoff"
	"github.com/feed-operator/feed-operator/internal/delivery"
	"github.com/feed-operator/feed-operator/internal/itemcache"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
	"github.com/feed-operator/feed-operator/internal/queue"
	"github.com/feed-operator/feed-operator/internal/schedule"
	"github.com/feed-operator/feed-operator/internal/services"
)

// R2.3: after a start everybody is in line before anybody is let through, so that what was published first goes first, whatever the cache
// lists first.
func TestAStartLetsTheOldestThroughFirst(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	gemini := types.NamespacedName{Namespace: "news", Name: "gemini"}
	press := types.NamespacedName{Namespace: "news", Name: "press"}
	oldestFirst := []string{"item/news/c", "item/news/a", "item/news/d", "item/news/b"}
	for name, test := range map[string]struct {
		change func(*v1alpha1.FeedSource, *v1alpha1.FeedItem)
		want   []string
	}{
		"for their summaries": {func(*v1alpha1.FeedSource, *v1alpha1.FeedItem) {}, oldestFirst},
		"for their posts": {func(source *v1alpha1.FeedSource, item *v1alpha1.FeedItem) {
			lifecycle.Settle(item, lifecycle.Outcome{
				Summary: &v1alpha1.Summary{Text: "All is well."}, Destinations: source.Spec.Destinations,
			}, backoff.Policy{}, now)
		}, oldestFirst},
		"but none of a source that is suspended": {func(source *v1alpha1.FeedSource, _ *v1alpha1.FeedItem) { source.Spec.Suspend = true }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source := &v1alpha1.FeedSource{ObjectMeta: metav1.ObjectMeta{Namespace: "news", Name: "blog", UID: "blog"}}
			source.Spec.Providers = []v1alpha1.ProviderReference{{Name: gemini.Name}}
			source.Spec.Destinations = []v1alpha1.DestinationReference{{Name: press.Name}}
			objects := []client.Object{source, &v1alpha1.AIProvider{ObjectMeta: metav1.ObjectMeta{Namespace: gemini.Namespace, Name: gemini.Name}}}
			for i, name := range []string{"b", "d", "a", "c"} {
				item := &v1alpha1.FeedItem{ObjectMeta: metav1.ObjectMeta{Namespace: "news", Name: name, UID: types.UID(name)}}
				item.Spec.SourceRef = v1alpha1.SourceReference{Name: source.Name, UID: source.UID}
				item.Spec.PublishedTime = &metav1.Time{Time: now.Add(-time.Duration(i) * time.Hour)}
				item.Status.Phase = v1alpha1.PhasePending
				test.change(source, item)
				objects = append(objects, item)
			}
			building := fake.NewClientBuilder().WithScheme(apitest.Scheme()).WithObjects(objects...)
			if err := itemcache.Index(t.Context(), apitest.Indexes{ClientBuilder: building}); err != nil {
				t.Fatal(err)
			}
			api, clock := building.Build(), clocktesting.NewFakeClock(now)
			var woken []string
			plan := schedule.New(clock, func(key string) { woken = append(woken, key) }, nil)
			plan.Configure(queue.ItemPlaces, schedule.Limit{Concurrent: 1})
			known := services.New(clock, plan, func(schedule.Resource, bool) {})
			known.MarkReady(schedule.Provider(gemini), nil, "1", "", schedule.Limit{Concurrent: 1}, time.Time{})
			known.MarkReady(schedule.Destination(press), nil, "1", "", schedule.Limit{Concurrent: 1}, time.Time{})
			seeder := &Seeder{
				Reconciler: &Reconciler{
					Clock: clock, Client: api, Live: api, Schedule: plan,
					Attempts:   &attempt.Engine{Clock: clock, Client: api, Schedule: plan, Services: known},
					Deliveries: &delivery.Engine{Clock: clock, Client: api, Live: api, Schedule: plan, Services: known},
				},
				Synced: func(context.Context) bool { return true },
			}
			if err := seeder.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			<-plan.Opened()
			for served := 0; served < len(woken) && served < len(objects); served++ { // who does not take its turn lets the next one through
				plan.Enter(woken[served]).Leave()
			}
			if diff := cmp.Diff(test.want, woken); diff != "" {
				t.Errorf("who was let through: %s", diff)
			}
		})
	}
}

// R6.3: what waits after a start is not read, and keeps nobody from reading, before it is known who goes first: or an operator that takes over hundreds of
// items reads all of them once before it does anything.
func TestNoItemIsReadBeforeItIsKnownWhoGoesFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		away := errors.New("the API server is away")
		api := interceptor.NewClient(fake.NewClientBuilder().WithScheme(apitest.Scheme()).Build(), interceptor.Funcs{
			Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
				return away
			},
		})
		item := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "news", Name: "a"}}
		plan := schedule.New(clocktesting.NewFakeClock(time.Now()), func(string) {}, nil)
		r := &Reconciler{Client: api, Live: api, Schedule: plan, Attempts: &attempt.Engine{}, Deliveries: &delivery.Engine{}}
		ended := make(chan error, 1)
		begin := func(ctx context.Context) {
			go func() {
				_, err := r.Reconcile(ctx, item)
				ended <- err
			}()
			synctest.Wait()
		}
		stopping, stop := context.WithCancel(t.Context())
		begin(stopping)
		stop()
		if err := <-ended; err != nil {
			t.Fatalf("stopped before the schedule is open: %v", err)
		}
		begin(t.Context())
		if len(ended) > 0 {
			t.Fatalf("before the schedule is open: %v", <-ended)
		}
		plan.Open()
		if err := <-ended; !errors.Is(err, away) {
			t.Fatalf("once it is open: %v", err)
		}
	})
}
