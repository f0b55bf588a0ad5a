// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package postmemory_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
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
	fails               int // the request of this number
}

var errAway = errors.New("the API server is away")

func (s *slowAPI) takes() error {
	s.mu.Lock()
	s.requests++
	s.now++
	s.most = max(s.most, s.now)
	fails := s.requests == s.fails
	s.mu.Unlock()
	time.Sleep(time.Second)
	s.mu.Lock()
	s.now--
	s.mu.Unlock()
	if fails {
		return errAway
	}
	return nil
}

func (s *slowAPI) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	if _, is := object.(*v1alpha1.FeedItem); is {
		if err := s.takes(); err != nil {
			return err
		}
	}
	return s.Reader.Get(ctx, key, object, options...)
}

func (s *slowAPI) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if _, is := list.(*v1alpha1.FeedItemList); is {
		if err := s.takes(); err != nil {
			return err
		}
	}
	return s.Reader.List(ctx, list, options...)
}

// R6.3, R3.13: whoever takes over the work of another operator reads the items first that may have been posted, several at a time, or it would post nothing
// for long; but no more than are bounded, of one namespace and of all. One that has much to be read holds up no other.
func TestItemsAreReadSeveralAtATime(t *testing.T) {
	t.Parallel()
	const sources = 8
	scheme := apitest.Scheme()
	for name, test := range map[string]struct {
		destinations   map[string]int // of each namespace
		items          int
		most, requests int
		takes          map[string]time.Duration
	}{
		"of one destination": {map[string]int{"a": 1}, 4, postmemory.ReadsAtOnce, sources * 4, map[string]time.Duration{"a": 4 * time.Second}},
		"of two namespaces": {
			map[string]int{"a": 4, "b": 1}, 4, postmemory.ReadsOfAll, 5 * sources * 4, map[string]time.Duration{"a": 16 * time.Second, "b": 4 * time.Second},
		},
		"of more than there are places for": {map[string]int{"a": 1, "b": 1, "c": 1}, 4, postmemory.ReadsOfAll, 3 * sources * 4, nil},
		"of sources with many, as lists":    {map[string]int{"a": 1}, 20, postmemory.ReadsAtOnce, sources, map[string]time.Duration{"a": time.Second}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				made := indexed(t, scheme)
				all := 0
				for namespace, destinations := range test.destinations {
					for i := range sources * destinations {
						to, name := fmt.Sprint("press-", i%destinations), fmt.Sprint("news-", i)
						made.WithObjects(sourceOf(namespace, name, to))
						for j := range test.items {
							made.WithObjects(begun(namespace, name, fmt.Sprint(name, "-", j), to))
							all++
						}
					}
				}
				objects := made.Build()
				api := &slowAPI{Reader: objects}
				known := postmemory.NewMemories(clock.RealClock{}, objects, postmemory.MostPosts)
				known.Live = api
				began, took := time.Now(), sync.Map{}
				var asked sync.WaitGroup
				for namespace, destinations := range test.destinations {
					asked.Go(func() {
						var of sync.WaitGroup
						for i := range destinations {
							of.Go(func() {
								if err := known.Ask(t.Context(), types.NamespacedName{Namespace: namespace, Name: fmt.Sprint("press-", i)}); err != nil {
									t.Error(err)
								}
							})
						}
						of.Wait()
						took.Store(namespace, time.Since(began))
					})
				}
				asked.Wait()
				for namespace, want := range test.takes {
					if got, _ := took.Load(namespace); got != want {
						t.Errorf("those of %s were read after %v, want %s", namespace, got, want)
					}
				}
				if api.most != test.most || api.requests != test.requests {
					t.Errorf("%d requests, %d at once, want %d and %d", api.requests, api.most, test.requests, test.most)
				}
				if held := known.Reserved(); held != all {
					t.Errorf("%d entries are held of %d that may have been posted", held, all)
				}
			})
		})
	}
}

// R4.4, R3.14: where one of the requests fails, nothing is decided by what the others have answered: all are made again, and the places are free for that.
func TestAReadThatFailsIsMadeAgain(t *testing.T) {
	t.Parallel()
	scheme := apitest.Scheme()
	for name, items := range map[string]int{"of single items": 9, "as a list": 40} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				made := indexed(t, scheme)
				made.WithObjects(sourceOf("a", "news", "press"))
				for i := range items {
					made.WithObjects(begun("a", "news", fmt.Sprint("news-", i), "press"))
				}
				objects := made.Build()
				api := &slowAPI{Reader: objects, fails: 1}
				known := postmemory.NewMemories(clock.RealClock{}, objects, postmemory.MostPosts)
				known.Live = api
				press := types.NamespacedName{Namespace: "a", Name: "press"}
				if err := known.Ask(t.Context(), press); !errors.Is(err, errAway) {
					t.Errorf("it was read: %v", err)
				}
				began := time.Now()
				if err := known.Ask(t.Context(), press); err != nil || time.Since(began) == 0 {
					t.Errorf("it is not read again: %v", err)
				}
				if held := known.Reserved(); held != items {
					t.Errorf("%d entries are held of %d that may have been posted", held, items)
				}
			})
		})
	}
}

// heldAPI answers no request for an item before it is open.
type heldAPI struct {
	client.Reader

	asked, open chan struct{}
}

func (h *heldAPI) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	if _, is := object.(*v1alpha1.FeedItem); is {
		h.asked <- struct{}{}
		<-h.open
	}
	return h.Reader.Get(ctx, key, object, options...)
}

// R2.8: an operator is told to stop while it reads what was posted. It comes to its end.
func TestAStopComesToItsEndWhileAMemoryIsRead(t *testing.T) {
	t.Parallel()
	const items = postmemory.ReadsAtOnce + 2 // so that some are asked for after the stop has begun
	made := indexed(t, apitest.Scheme())
	made.WithObjects(sourceOf("a", "news", "press"))
	for i := range items {
		made.WithObjects(begun("a", "news", fmt.Sprint("news-", i), "press"))
	}
	objects := made.Build()
	known := postmemory.NewMemories(clock.RealClock{}, objects, postmemory.MostPosts)
	api := &heldAPI{Reader: objects, asked: make(chan struct{}, items), open: make(chan struct{})}
	known.Live = api
	read, stopped := make(chan error, 1), make(chan struct{})
	go func() { read <- known.Ask(t.Context(), types.NamespacedName{Namespace: "a", Name: "press"}) }()
	for range postmemory.ReadsAtOnce {
		<-api.asked
	}
	go func() {
		known.Stop()
		close(stopped)
	}()
	apitest.Eventually(t, func(context.Context) error {
		if !known.StopHasBegun() {
			return errors.New("the stop has not begun")
		}
		return nil
	})
	close(api.open)
	late := time.After(10 * time.Second)
	select {
	case err := <-read:
		if err != nil {
			t.Error(err)
		}
	case <-late:
		t.Fatal("the stop and the reading wait for each other")
	}
	select {
	case <-stopped:
	case <-late:
		t.Fatal("the stop does not come to its end")
	}
}

// indexed is a client that can be made with objects, and lists items as the API server does.
func indexed(t *testing.T, scheme *runtime.Scheme) *fake.ClientBuilder {
	t.Helper()
	made := fake.NewClientBuilder().WithScheme(scheme)
	if err := itemcache.Index(t.Context(), apitest.Indexes{ClientBuilder: made}); err != nil {
		t.Fatal(err)
	}
	return made.WithIndex(&v1alpha1.FeedItem{}, "spec.sourceRef.name", func(object client.Object) []string {
		return []string{itemcache.AsItem(object).Spec.SourceRef.Name}
	})
}

func sourceOf(namespace, name, to string) *v1alpha1.FeedSource {
	return &v1alpha1.FeedSource{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(namespace + "-" + name)},
		Spec:       v1alpha1.FeedSourceSpec{URL: "https://news.example/" + name, Destinations: []v1alpha1.DestinationReference{{Name: to}}},
	}
}

// begun is an item whose post may have been made.
func begun(namespace, source, name, to string) *v1alpha1.FeedItem {
	return &v1alpha1.FeedItem{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(namespace + "-" + name)},
		Spec:       v1alpha1.FeedItemSpec{SourceRef: v1alpha1.SourceReference{Name: source, UID: types.UID(namespace + "-" + source)}, GUID: name, Title: name},
		Status: v1alpha1.FeedItemStatus{
			Phase: v1alpha1.PhasePending, Deliveries: []v1alpha1.Delivery{{Destination: to, State: v1alpha1.DeliveryIntent}},
		},
	}
}
