// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package itemcache

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
)

// madeNow is when the items of these tests are made.
var madeNow = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

func madeItem(name, uid, version string) *v1alpha1.FeedItem {
	item := &v1alpha1.FeedItem{}
	item.Namespace, item.Name, item.UID, item.ResourceVersion = "news", name, types.UID(uid), version
	return item
}

// R2.8: what was made is taken for the item once, only while the cache holds the same, and not for long: else it is read.
func TestAnItemIsFreshOnceAndAsItWasMade(t *testing.T) {
	t.Parallel()
	made := func(_ context.Context, f *Fresh) {
		f.Expect(madeItem("a", "", ""), madeNow).Ended(madeItem("a", "1", "7"))
	}
	for name, test := range map[string]struct {
		before func(context.Context, *Fresh)
		cached *v1alpha1.FeedItem
		after  time.Duration
		want   bool
	}{
		"as it was made":                   {made, madeItem("a", "1", "7"), time.Second, true},
		"somebody has written it since":    {made, madeItem("a", "1", "8"), time.Second, false},
		"another one of the same name":     {made, madeItem("a", "2", "7"), time.Second, false},
		"another one":                      {made, madeItem("b", "1", "7"), time.Second, false},
		"the process was frozen meanwhile": {made, madeItem("a", "1", "7"), time.Minute, false},
		"the clock was set back since":     {made, madeItem("a", "1", "7"), -time.Second, false},
		"nobody knows whether it was made": {func(_ context.Context, f *Fresh) {
			f.Expect(madeItem("a", "", ""), madeNow).Ended(nil)
		}, madeItem("a", "1", "7"), time.Second, false},
		"there is no answer": {func(_ context.Context, f *Fresh) {
			f.Expect(madeItem("a", "", ""), madeNow)
		}, madeItem("a", "1", "7"), time.Second, false},
		"the answer comes in a moment": {func(_ context.Context, f *Fresh) {
			making := f.Expect(madeItem("a", "", ""), madeNow)
			time.AfterFunc(answerWait/2, func() { making.Ended(madeItem("a", "1", "7")) })
		}, madeItem("a", "1", "7"), time.Second, true},
		"somebody has had it, and may have written it": {func(ctx context.Context, f *Fresh) {
			made(ctx, f)
			f.Take(ctx, madeItem("a", "1", "7"), madeNow)
		}, madeItem("a", "1", "7"), time.Second, false},
		"somebody has read it, because its answer was late": {func(ctx context.Context, f *Fresh) {
			making := f.Expect(madeItem("a", "", ""), madeNow)
			f.Take(ctx, madeItem("a", "1", "7"), madeNow)
			making.Ended(madeItem("a", "1", "7"))
		}, madeItem("a", "1", "7"), time.Second, false},
		"somebody has had the one before of this name": {func(ctx context.Context, f *Fresh) {
			made(ctx, f)
			f.Take(ctx, madeItem("a", "1", "7"), madeNow)
			f.Expect(madeItem("a", "", ""), madeNow).Ended(madeItem("a", "2", "9"))
		}, madeItem("a", "2", "9"), time.Second, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var fresh Fresh
				test.before(t.Context(), &fresh)
				if got := fresh.Take(t.Context(), test.cached, madeNow.Add(test.after)) != nil; got != test.want {
					t.Errorf("it is taken: %t, want %t", got, test.want)
				}
			})
		})
	}
}

// R2.8: items that were made before the process was frozen are read, also where they were made at different times; whose that waits for its turn while
// others are worked on is taken as it was made, for a minute.
func TestItemsAreFreshWhileTheProcessIsAtWork(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		pauses []time.Duration // between the makings of others, and before the item is asked for
		want   bool
	}{
		"others are made meanwhile":                                                 {slices.Repeat([]time.Duration{4 * time.Second}, 14), true},
		"for too long":                                                              {slices.Repeat([]time.Duration{4 * time.Second}, 16), false},
		"the process was frozen in between":                                         {[]time.Duration{4 * time.Second, 6 * time.Second, time.Second}, false},
		"two workers have read the clock the other way round":                       {[]time.Duration{2 * time.Second, -betweenWorkers, time.Second}, true},
		"the clock was set back in between":                                         {[]time.Duration{4 * time.Second, -3 * time.Second, time.Second}, false},
		"a worker that read the clock sooner hides no time in which all was frozen": {[]time.Duration{2 * time.Second, -betweenWorkers, 6 * time.Second}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var fresh Fresh
			fresh.Expect(madeItem("a", "", ""), madeNow).Ended(madeItem("a", "1", "7"))
			now := madeNow
			for i, pause := range test.pauses {
				now = now.Add(pause)
				if i < len(test.pauses)-1 {
					fresh.Expect(madeItem("other-"+strconv.Itoa(i), "", ""), now).Ended(nil)
				}
			}
			if got := fresh.Take(t.Context(), madeItem("a", "1", "7"), now) != nil; got != test.want {
				t.Errorf("it is taken: %t, want %t", got, test.want)
			}
		})
	}
}

// R1.10: however many items are made, and however long they are, little is held of them; and nothing of those that were worked on.
func TestFewItemsAreFresh(t *testing.T) {
	t.Parallel()
	for name, work := range map[string]bool{"nobody works on them": false, "each is worked on": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var fresh Fresh
			for i := range 10_000 {
				made := madeItem(strconv.Itoa(i), "1", "7")
				made.Spec.Content = strings.Repeat("x", i%8192)
				fresh.Expect(made, madeNow).Ended(made)
				if work && fresh.Take(t.Context(), made, madeNow) == nil {
					t.Fatalf("item %d is not held", i)
				}
			}
			size := 0
			for held := fresh.line.Front(); held != nil; held = held.Next() {
				size += itemOverhead + len(held.Value.(*Making).item.Spec.Content)
			}
			if size > mostFresh/2 || work && (size > 0 || fresh.weight != 0 || len(fresh.of) > 0) {
				t.Errorf("%d bytes are held, and counted as %d", size, fresh.weight)
			}
			if !work && size < mostFresh/4 {
				t.Errorf("%d bytes are held, though there is room for %d", size, mostFresh/2)
			}
		})
	}
}

// R1.10, R3.13: a namespace whose items wait leaves room for those of its neighbours, of which each finds some as well.
func TestANamespaceWhoseItemsWaitLeavesRoomForOthers(t *testing.T) {
	t.Parallel()
	var fresh Fresh
	makes := func(namespace string, items int) {
		for i := range items {
			item := madeItem(strconv.Itoa(i), "1", "7")
			item.Namespace, item.Spec.Content = namespace, strings.Repeat("x", 2<<10)
			fresh.Expect(item, madeNow).Ended(item)
		}
	}
	makes("hog", 10_000)
	for _, neighbour := range []string{"a", "b", "c", "d"} {
		makes(neighbour, 50)
		for i := range 50 {
			item := madeItem(strconv.Itoa(i), "1", "7")
			if item.Namespace = neighbour; fresh.Take(t.Context(), item, madeNow) == nil {
				t.Fatalf("item %d of %s is not held", i, neighbour)
			}
		}
		makes(neighbour, 10_000)
	}
}
