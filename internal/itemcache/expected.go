// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package itemcache

import (
	"context"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
)

const (
	// askedAfter is how long the cache is waited for to tell of an item before somebody asks whether it is there.
	askedAfter = time.Minute
	// mostAsked is after how many items is asked at once.
	mostAsked = 20
)

// Expect is called before an item is made, because the cache may tell of it before its maker has the answer. It is expected, and counts as not finished,
// until the cache tells of it.
func (t *Tally) Expect(item *v1alpha1.FeedItem, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	source := sourceOf(item)
	if t.expected[source] == nil {
		if t.expected == nil {
			t.expected = map[sourceID]map[string]time.Time{}
		}
		t.expected[source] = map[string]time.Time{}
	}
	t.expected[source][item.Name] = now
}

// Doubt is called when it is not known whether an item that is expected was made: it is looked for before room is made for others.
func (t *Tally) Doubt(item *v1alpha1.FeedItem) { t.Expect(item, time.Time{}) }

// NotMade is called when an item that is expected is known not to have been made.
func (t *Tally) NotMade(item *v1alpha1.FeedItem) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.heardOf(sourceOf(item), item.Name)
}

// heardOf ends, under the lock, that an item is expected.
func (t *Tally) heardOf(source sourceID, name string) {
	delete(t.expected[source], name)
	if len(t.expected[source]) == 0 {
		delete(t.expected, source)
	}
}

// Forget is called when a source is gone.
func (t *Tally) Forget(source types.NamespacedName) {
	t.mu.Lock()
	defer t.mu.Unlock()
	maps.DeleteFunc(t.expected, func(id sourceID, _ map[string]time.Time) bool { return id.NamespacedName == source })
}

// Confirm looks for the items of a source that have been expected for long. The cache never tells of one that is deleted while it lists all items anew, nor
// of one that was not made after all; and it does not tell twice of one that it has, though it may have it a moment before it tells. What the API server has
// is expected on: the cache is late. Where that does not answer, it is not asked for the others, nor for more than a few at once.
func (t *Tally) Confirm(ctx context.Context, cached, live client.Reader, source *v1alpha1.FeedSource, now time.Time) {
	asked := 0
	for _, name := range t.overdue(idOf(source), now) {
		key, item := types.NamespacedName{Namespace: source.Namespace, Name: name}, &v1alpha1.FeedItem{}
		if known := cached.Get(ctx, key, item) == nil; !known {
			if asked++; asked > mostAsked {
				continue
			}
			t.askedFor(idOf(source), name, now)
			switch err := live.Get(ctx, key, item); {
			case err == nil:
				continue
			case !apierrors.IsNotFound(err):
				return
			}
		}
		t.mu.Lock()
		t.heardOf(idOf(source), name)
		t.mu.Unlock()
	}
}

// askedFor has an item that is still expected asked for after the others the next time.
func (t *Tally) askedFor(source sourceID, name string, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, is := t.expected[source][name]; is {
		t.expected[source][name] = now
	}
}

// overdue returns what has been expected for long, the longest first. Where the clock was set back, the time begins anew.
func (t *Tally) overdue(source sourceID, now time.Time) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var names []string
	for name, since := range t.expected[source] {
		switch passed := now.Sub(since); {
		case passed < 0:
			t.expected[source][name] = now
		case passed >= askedAfter:
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return t.expected[source][a].Compare(t.expected[source][b]) })
	return names
}
