// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package postmemory_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/apitest"
	"github.com/feed-operator/feed-operator/internal/itemcache"
	"github.com/feed-operator/feed-operator/internal/postmemory"
)

// slowAPI takes a second for each request for items.
type slowAPI struct {
	client.Reader

	mu                  sync.Mutex
	now, most, requests int
}

func (s *slowAPI) takes() {
	s.mu.Lock()
	s.requests++
	s.now++
	s.most = max(s.most, s.now)
	s.mu.Unlock()
	time.Sleep(time.Second)
	s.mu.Lock()
	s.now--
	s.mu.Unlock()
}

func (s *slowAPI) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	if _, is := object.(*v1alpha1.FeedItem); is {
		s.takes()
	}
	return s.Reader.Get(ctx, key, object, options...)
}

func (s *slowAPI) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if _, is := list.(*v1alpha1.FeedItemList); is {
		s.takes()
	}
	return s.Reader.List(ctx, list, options...)
}

// R6.3, R3.13: whoever takes over the work of another operator reads the items first that may have been posted, several at a time, or it would post nothing
// for long; but of all destinations together no more than are bounded.
func TestItemsAreReadSeveralAtATime(t *testing.T) {
	t.Parallel()
	const sources = 8
	scheme := apitest.Scheme()
	for name, test := range map[string]struct {
		destinations, items int
		most, requests      int
		takes               time.Duration
	}{
		"of one destination":             {1, 4, postmemory.ReadsAtOnce, sources * 4, sources * 4 / postmemory.ReadsAtOnce * time.Second},
		"of many destinations":           {4, 4, postmemory.ReadsOfAll, 4 * sources * 4, 4 * sources * 4 / postmemory.ReadsOfAll * time.Second},
		"of sources with many, as lists": {1, 20, postmemory.ReadsAtOnce, sources, sources / postmemory.ReadsAtOnce * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				made := fake.NewClientBuilder().WithScheme(scheme)
				if err := itemcache.Index(t.Context(), apitest.Indexes{ClientBuilder: made}); err != nil {
					t.Fatal(err)
				}
				made.WithIndex(&v1alpha1.FeedItem{}, "spec.sourceRef.name", func(object client.Object) []string {
					return []string{itemcache.AsItem(object).Spec.SourceRef.Name}
				})
				var all []string
				for d := range test.destinations {
					all = append(all, fmt.Sprint("press-", d))
				}
				for i := range sources * test.destinations {
					to := all[i%len(all)]
					name := fmt.Sprint("news-", i)
					made.WithObjects(sourceOf(name, to))
					for j := range test.items {
						made.WithObjects(begun(name, fmt.Sprint(name, "-", j), to))
					}
				}
				objects := made.Build()
				api := &slowAPI{Reader: objects}
				known := postmemory.NewMemories(clock.RealClock{}, objects, postmemory.MostPosts)
				known.Live = api
				began := time.Now()
				var asked sync.WaitGroup
				for _, to := range all {
					asked.Go(func() {
						if err := known.Ask(t.Context(), types.NamespacedName{Namespace: "a", Name: to}); err != nil {
							t.Error(err)
						}
					})
				}
				asked.Wait()
				if took := time.Since(began); took != test.takes || api.most != test.most || api.requests != test.requests {
					t.Errorf("%d requests, %d at once, took %s, want %d, %d, %s", api.requests, api.most, took, test.requests, test.most, test.takes)
				}
				if held, want := known.Reserved(), sources*test.destinations*test.items; held != want {
					t.Errorf("%d entries are held of %d that may have been posted", held, want)
				}
			})
		})
	}
}

func sourceOf(name, to string) *v1alpha1.FeedSource {
	return &v1alpha1.FeedSource{
		ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name, UID: types.UID("uid-" + name)},
		Spec:       v1alpha1.FeedSourceSpec{URL: "https://news.example/" + name, Destinations: []v1alpha1.DestinationReference{{Name: to}}},
	}
}

// begun is an item whose post may have been made.
func begun(source, name, to string) *v1alpha1.FeedItem {
	return &v1alpha1.FeedItem{
		ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name, UID: types.UID("uid-" + name)},
		Spec:       v1alpha1.FeedItemSpec{SourceRef: v1alpha1.SourceReference{Name: source, UID: types.UID("uid-" + source)}, GUID: name, Title: name},
		Status: v1alpha1.FeedItemStatus{
			Phase: v1alpha1.PhasePending, Deliveries: []v1alpha1.Delivery{{Destination: to, State: v1alpha1.DeliveryIntent}},
		},
	}
}
