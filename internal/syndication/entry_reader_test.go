// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package syndication

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
)

func TestFeedListsTheNewest50NewestFirst(t *testing.T) {
	t.Parallel()
	objects := newStore(60)
	// Two of the same moment: by name.
	objects.items[58].Spec.PublishedTime = objects.items[59].Spec.PublishedTime
	// Without a date, the time at which it was first seen counts.
	undated := objects.items[3]
	undated.Spec.PublishedTime = nil
	undated.CreationTimestamp = metav1.NewTime(launch.Add(1000 * time.Hour))

	want := []string{"Title 3", "Title 58", "Title 59"}
	for n := 57; len(want) < 50; n-- {
		want = append(want, fmt.Sprintf("Title %d", n))
	}
	for _, path := range []string{atomPath, jsonPath} {
		answer := get(t, NewHandler(objects, Options{}), path)
		wantStatus(t, answer, 200)
		var got []string
		for _, item := range parse(t, answer.Body.Bytes()).Items {
			got = append(got, item.Title)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", path, diff)
		}
	}
	if diff := cmp.Diff([]int{50, 50}, objects.limits); diff != "" {
		t.Errorf("limits asked for: %s", diff)
	}
	// A reader that gives more than it was asked for does not make the feed longer.
	for _, item := range objects.items {
		objects.listed = append(objects.listed, RefOf(item))
	}
	if n := len(parse(t, get(t, NewHandler(objects, Options{}), atomPath).Body.Bytes()).Items); n != 50 {
		t.Errorf("%d entries, want 50", n)
	}
}

func TestEachVersionOfAnItemIsReadOnce(t *testing.T) {
	t.Parallel()
	objects := newStore(5)
	handler := NewHandler(objects, Options{})
	for range 3 {
		wantStatus(t, get(t, handler, atomPath), 200)
		wantStatus(t, get(t, handler, jsonPath), 200)
	}
	if objects.reads != 5 {
		t.Errorf("%d reads for 5 items, want one each", objects.reads)
	}
	objects.items[2].ResourceVersion = "101"
	objects.items[2].Status.Summary.Text = "A better summary."
	if got := parse(t, get(t, handler, atomPath).Body.Bytes()).Items[2].Description; got != "A better summary." {
		t.Errorf("the changed item reads %q", got)
	}
	if objects.reads != 6 {
		t.Errorf("%d reads after one change, want 6", objects.reads)
	}
}

func TestItemsThatChangeBetweenListAndRead(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		change    func(*store)
		wantTitle []string
	}{
		"a vanished item is left out": {
			change:    func(s *store) { s.items = slices.Delete(s.items, 1, 2) },
			wantTitle: []string{"Title 2", "Title 0"},
		},
		"an item that was deleted and created again is left out until it is listed": {
			change:    func(s *store) { s.items[1].UID = uid(3, 1) },
			wantTitle: []string{"Title 2", "Title 0"},
		},
		"an item that lost its summary is left out": {
			change:    func(s *store) { s.items[1].Status.Summary = nil },
			wantTitle: []string{"Title 2", "Title 0"},
		},
		"a newer item is shown as it is": {
			change:    func(s *store) { s.items[1].ResourceVersion, s.items[1].Spec.Title = "200", "New" },
			wantTitle: []string{"Title 2", "New", "Title 0"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			objects := newStore(3)
			for _, item := range objects.items {
				objects.listed = append(objects.listed, RefOf(item))
			}
			slices.SortFunc(objects.listed, NewestFirst)
			before := get(t, NewHandler(objects, Options{}), atomPath).Header().Get("ETag")
			c.change(objects)

			handler := NewHandler(objects, Options{}) // its cache is empty: it has to read
			answer := get(t, handler, atomPath)
			wantStatus(t, answer, 200)
			var got []string
			for _, item := range parse(t, answer.Body.Bytes()).Items {
				got = append(got, item.Title)
			}
			if diff := cmp.Diff(c.wantTitle, got); diff != "" {
				t.Error(diff)
			}
			// A strong tag must not stand for two different feeds.
			lagging := answer.Header().Get("ETag")
			if lagging == before {
				t.Error("the tag is that of the feed before the change")
			}
			objects.listed = nil // the list has caught up
			if caughtUp := get(t, handler, atomPath).Header().Get("ETag"); name != "an item that was deleted and created again is left out until it is listed" && caughtUp != lagging {
				t.Errorf("the same feed has the tags %s and %s", lagging, caughtUp)
			}
		})
	}
}

// failing breaks the reading of single items.
type failing struct {
	*store
	err error
}

func (f failing) Item(context.Context, Ref) (*v1alpha1.FeedItem, error) { return nil, f.err }

func TestAFeedIsWholeOrNotServed(t *testing.T) {
	t.Parallel()
	answer := get(t, NewHandler(failing{newStore(2), errors.New("etcdserver: request timed out")}, Options{}), jsonPath)
	wantStatus(t, answer, 503)
	if answer.Header().Get("ETag") != "" {
		t.Error("an entity tag on an error")
	}
}

// gated lets no item be read until the gate opens, and counts those who read.
type gated struct {
	*store
	gate    chan struct{}
	mu      sync.Mutex
	reading int
	most    int
}

func (g *gated) Item(ctx context.Context, ref Ref) (*v1alpha1.FeedItem, error) {
	g.mu.Lock()
	g.reading++
	g.most = max(g.most, g.reading)
	g.mu.Unlock()
	<-g.gate
	g.mu.Lock()
	g.reading--
	g.mu.Unlock()
	return g.store.Item(ctx, ref)
}

func TestManyReadersCostOneReadAndAFewAtATime(t *testing.T) {
	t.Parallel()
	const clients = 20
	reader := &gated{store: newStore(10), gate: make(chan struct{})}
	entries := newEntryReader(reader, maxCacheBytes)
	var refs []Ref
	for _, item := range reader.items {
		refs = append(refs, RefOf(item))
	}
	var clientsDone sync.WaitGroup
	for client := range clients {
		clientsDone.Go(func() {
			// Each starts elsewhere, so that different items are asked for at once.
			mine := slices.Concat(refs[client%10:], refs[:client%10])
			if got, _, err := entries.read(t.Context(), mine); err != nil || len(got) != 10 {
				t.Errorf("%d entries, %v", len(got), err)
			}
		})
	}
	for range 10 {
		reader.gate <- struct{}{}
	}
	close(reader.gate)
	clientsDone.Wait()
	if reader.most > maxReads {
		t.Errorf("%d items were read at the same time, want at most %d", reader.most, maxReads)
	}
	if reader.reads != 10 {
		t.Errorf("%d reads for 10 items", reader.reads)
	}
}

func TestAClientThatHangsUpDoesNotFailTheOthers(t *testing.T) {
	t.Parallel()
	reader := &gated{store: newStore(1), gate: make(chan struct{})}
	entries := newEntryReader(reader, maxCacheBytes)
	ref := RefOf(reader.items[0])
	ctx, hangUp := context.WithCancel(t.Context())
	first := make(chan error)
	go func() {
		_, err := entries.one(ctx, ref)
		first <- err
	}()
	hangUp()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Errorf("the client that hung up got %v", err)
	}
	close(reader.gate)
	if e, err := entries.one(t.Context(), ref); err != nil || e == nil {
		t.Errorf("the next client got %v, %v", e, err)
	}
}

func TestCacheIsBoundedInBytes(t *testing.T) {
	t.Parallel()
	entries := make([]*entry, 4)
	for n := range entries {
		entries[n] = newEntry(newItem(n))
	}
	cache := newEntryCache(3 * entries[0].size())
	for _, e := range entries[:3] {
		cache.put(e)
	}
	cache.put(entries[0]) // again: nothing changes
	cache.get(versionOf(entries[0].ref))
	cache.put(entries[3])
	var kept []string
	for _, e := range entries {
		if cache.get(versionOf(e.ref)) != nil {
			kept = append(kept, e.title)
		}
	}
	if diff := cmp.Diff([]string{"Title 0", "Title 2", "Title 3"}, kept); diff != "" {
		t.Errorf("not the least recently used one went: %s", diff)
	}
	if cache.bytes != 3*entries[0].size() {
		t.Errorf("%d bytes counted for 3 entries of %d", cache.bytes, entries[0].size())
	}
	small := newEntryCache(1)
	small.put(entries[0])
	if small.bytes != 0 || small.get(versionOf(entries[0].ref)) != nil {
		t.Error("an entry that is larger than the whole cache was kept")
	}
}
