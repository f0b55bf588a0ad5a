// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package itemcache

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
)

// answering is what has some items by their names, or fails with an error.
type answering struct {
	client.Reader
	has   []string
	fails error
	asked map[string]int
}

func (a *answering) Get(_ context.Context, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	if a.asked == nil {
		a.asked = map[string]int{}
	}
	a.asked[key.Name]++
	if a.fails != nil || slices.Contains(a.has, key.Name) {
		return a.fails
	}
	return apierrors.NewNotFound(schema.GroupResource{Resource: "feeditems"}, key.Name)
}

var (
	noon   = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	source = &v1alpha1.FeedSource{ObjectMeta: metav1.ObjectMeta{Namespace: "news", Name: "blog", UID: "blog"}}
)

func itemOf(source *v1alpha1.FeedSource, name string) *v1alpha1.FeedItem {
	item := &v1alpha1.FeedItem{ObjectMeta: metav1.ObjectMeta{Namespace: source.Namespace, Name: name}}
	item.Spec.SourceRef = v1alpha1.SourceReference{Name: source.Name, UID: source.UID}
	return item
}

// R1.5: an item of which the cache does not tell for a minute is looked for: it has its room as long as it may be there, and no longer.
func TestAnItemOfWhichNobodyTellsIsLookedFor(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		cached, live answering
		after        time.Duration
		want         int
	}{
		"it is there, and the cache is late":             {live: answering{has: []string{"a"}}, after: time.Hour, want: 1},
		"it is not there":                                {after: askedAfter, want: 0},
		"the cache has it already":                       {cached: answering{has: []string{"a"}}, live: answering{has: []string{"a"}}, after: askedAfter, want: 0},
		"the API server does not answer":                 {live: answering{fails: errors.New("connection refused")}, after: time.Hour, want: 1},
		"the cache may tell of it yet":                   {after: askedAfter - time.Second, want: 1},
		"the clock was set back, and nobody is asked":    {after: -time.Hour, want: 1},
		"the cache was asked, and the API server cannot": {cached: answering{has: []string{"a"}}, live: answering{fails: errors.New("late")}, after: askedAfter, want: 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			counted := &Tally{}
			counted.Expect(itemOf(source, "a"), noon)
			counted.Confirm(t.Context(), &test.cached, &test.live, source, noon.Add(test.after))
			if got := counted.Active(source); got != test.want {
				t.Errorf("%d are unfinished, want %d", got, test.want)
			}
		})
	}
}

// R1.5: where it is not known whether an item was made, it is looked for by the next poll, so that an entry which is tried again finds the room that it had.
func TestAnItemThatIsInDoubtIsLookedForAtOnce(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		live answering
		want int
	}{"it is not there": {want: 0}, "it is there": {live: answering{has: []string{"a"}}, want: 1}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			counted := &Tally{}
			counted.Expect(itemOf(source, "a"), noon)
			counted.Doubt(itemOf(source, "a"))
			counted.Confirm(t.Context(), &answering{}, &test.live, source, noon)
			if got := counted.Active(source); got != test.want {
				t.Errorf("%d are unfinished, want %d", got, test.want)
			}
		})
	}
}

// R1.5: an API server that does not answer is asked once, whatever is expected.
func TestAnAPIServerThatDoesNotAnswerIsAskedOnce(t *testing.T) {
	t.Parallel()
	counted, live := &Tally{}, &answering{fails: errors.New("connection refused")}
	for i := range 3 {
		counted.Expect(itemOf(source, fmt.Sprint(i)), noon)
	}
	counted.Confirm(t.Context(), &answering{}, live, source, noon.Add(askedAfter))
	if len(live.asked) != 1 || counted.Active(source) != 3 {
		t.Errorf("asked %v, %d are unfinished", live.asked, counted.Active(source))
	}
}

// R1.5: where the clock was set back, what is expected is looked for a minute later by what the clock says now.
func TestWhatIsExpectedIsLookedForThoughTheClockWasSetBack(t *testing.T) {
	t.Parallel()
	counted := &Tally{}
	counted.Expect(itemOf(source, "a"), noon)
	for _, now := range []time.Time{noon.Add(-time.Hour), noon.Add(askedAfter - time.Hour)} {
		counted.Confirm(t.Context(), &answering{}, &answering{}, source, now)
	}
	if got := counted.Active(source); got != 0 {
		t.Errorf("%d are unfinished", got)
	}
}

// R1.5, R3.13: a poll asks for some at once, each in its turn, and for none twice a minute.
func TestManyExpectedItemsAreLookedForInTurns(t *testing.T) {
	t.Parallel()
	counted, live := &Tally{}, &answering{}
	for i := range 2*mostAsked + 1 {
		name := fmt.Sprintf("item-%02d", i)
		live.has = append(live.has, name)
		counted.Expect(itemOf(source, name), noon)
	}
	now := noon.Add(askedAfter)
	for polls, want := range []int{mostAsked, 2 * mostAsked, 2*mostAsked + 1, 2*mostAsked + 1} {
		counted.Confirm(t.Context(), &answering{}, live, source, now)
		if len(live.asked) != want {
			t.Errorf("poll %d: asked for %d items so far, want %d", polls, len(live.asked), want)
		}
	}
	for name, times := range live.asked {
		if times != 1 {
			t.Errorf("asked %d times for %s", times, name)
		}
	}
	if got := counted.Active(source); got != 2*mostAsked+1 {
		t.Errorf("%d are unfinished", got)
	}
}

// R1.5: an item that the cache has takes no room twice, though it was expected again: none of them costs a question, so all are looked for.
func TestManyExpectedItemsThatTheCacheHasAreFoundAtOnce(t *testing.T) {
	t.Parallel()
	counted, cached, live := &Tally{}, &answering{}, &answering{}
	for i := range 2*mostAsked + 1 {
		item := itemOf(source, fmt.Sprint(i))
		item.Status.Phase = v1alpha1.PhasePending
		counted.Change(nil, item)
		counted.Doubt(item)
		cached.has = append(cached.has, item.Name)
	}
	counted.Confirm(t.Context(), cached, live, source, noon)
	if got := counted.Active(source); got != 2*mostAsked+1 || len(live.asked) > 0 {
		t.Errorf("%d are unfinished, asked for %v", got, live.asked)
	}
}

// R1.5: what the cache has and has not told of takes its room, and so does what it has not: each once.
func TestWhatTheCacheHasNotToldOfTakesItsRoom(t *testing.T) {
	t.Parallel()
	counted := &Tally{}
	var items []v1alpha1.FeedItem
	for name, phase := range map[string]v1alpha1.Phase{"told": v1alpha1.PhaseDeferred, "not told": v1alpha1.PhasePending, "ended": v1alpha1.PhaseProcessed} {
		item := itemOf(source, name)
		item.Status.Phase = phase
		items = append(items, *item)
		if name == "told" {
			counted.Change(nil, item)
		}
	}
	counted.Expect(itemOf(source, "made now"), noon)
	counted.Expect(itemOf(source, "not told"), noon)
	if got := counted.ActiveAmong(source, items); got != 3 {
		t.Errorf("%d are unfinished, want 3", got)
	}
	counted.NotMade(itemOf(source, "not told")) // the cache has it: see Confirm
	if got := counted.ActiveAmong(source, items); got != 3 {
		t.Errorf("%d are unfinished when the cache was looked at, want 3", got)
	}
	if got := counted.ActiveAmong(source, nil); got != 2 {
		t.Errorf("%d are unfinished where the cache has lost them, want 2", got)
	}
}

// R1.5: nothing is kept of a source that is gone, and what was made of it takes no room of another one of the same name.
func TestNothingIsExpectedOfASourceThatIsGone(t *testing.T) {
	t.Parallel()
	other := &v1alpha1.FeedSource{ObjectMeta: metav1.ObjectMeta{Namespace: "news", Name: "other", UID: "other"}}
	again := &v1alpha1.FeedSource{ObjectMeta: metav1.ObjectMeta{Namespace: "news", Name: "blog", UID: "again"}}
	counted := &Tally{}
	counted.Expect(itemOf(source, "a"), noon)
	counted.Expect(itemOf(other, "a"), noon)
	if got := counted.Active(again); got != 0 {
		t.Errorf("%d of another source of that name are unfinished", got)
	}
	counted.Forget(client.ObjectKeyFromObject(source))
	if len(counted.expected) != 1 || counted.Active(other) != 1 {
		t.Errorf("kept: %v", counted.expected)
	}
}
