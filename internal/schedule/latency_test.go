// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/feed-operator/feed-operator/internal/portion"
)

// R3.13: what a neighbour's call takes at most doubles, beside one to five tenants who let everything hang that they can get: with the
// numbers of places that the operator has by default, ten feeds of a neighbour polled at once, and twenty of its items.
func TestANeighboursLatencyAtMostDoubles(t *testing.T) {
	t.Parallel()
	type crowd struct {
		what        string
		places      int
		calls, hogs int
	}
	for _, test := range portion.SomeOf([]crowd{
		{"items", 128, 20, 5},
		{"items", 128, 20, 1},
		{"polls", 32, 10, 3},
		{"polls", 32, 10, 1},
		{"items", 128, 20, 3},
	}, 2) {
		t.Run(fmt.Sprint(test.what, " beside ", test.hogs), func(t *testing.T) {
			t.Parallel()
			limit := Limit{Concurrent: test.places, Sharing: ByGroup}
			alone, beside := latencies(t, limit, test.calls, 0), latencies(t, limit, test.calls, test.hogs)
			for i, took := range beside {
				if took > 2*alone[i] {
					t.Errorf("call %d of the neighbour took %s, and %s alone", i, took, alone[i])
				}
			}
			t.Logf("of %d calls the slowest takes %s, and %s beside %d tenants", test.calls, alone[test.calls-1], beside[test.calls-1], test.hogs)
		})
	}
}

// latencies is how long each of a tenant's calls takes that are asked for at once, from when they are asked for to their
// ends, in the order in which they end. A call takes ten seconds. So many other tenants hang all the time, for five minutes
// each time that they get a place, with ten times as many items as there are places (in part three times), of forty sources each.
func latencies(t *testing.T, limit Limit, calls, hogs int) (took []time.Duration) {
	t.Helper()
	synctest.Test(t, func(*testing.T) {
		const sources = 40
		w := newWorld(nil)
		w.Configure(work, limit)
		owners := map[string]Owner{}
		for hog := range hogs {
			for i := range portion.Of(10, 3) * limit.Concurrent {
				owners[fmt.Sprint("hog/", hog, "/", i)] = Owner{fmt.Sprint("hog", hog), fmt.Sprint("source", i%sources)}
			}
		}
		for i := range calls {
			owners[fmt.Sprint("neighbour/", i)] = Owner{"neighbour", "news"}
		}
		for key := range owners {
			w.open[key] = true
		}
		asked := time.Now().Add(17 * time.Minute) // when the others have what they can get
		w.run(limit.Slots()+16, func(key string, turn *Turn) {
			now, theirs := time.Now(), strings.HasPrefix(key, "hog")
			switch {
			case !theirs && now.Before(asked):
				time.AfterFunc(asked.Sub(now), func() { w.queue.add(key) })
				return
			case theirs && now.After(asked.Add(10*time.Minute)):
				w.finish(key)
				return
			}
			if _, ok := turn.Acquire(published(0).of(owners[key]), work); !ok {
				return
			}
			if theirs {
				time.Sleep(5 * time.Minute)
				w.queue.add(key)
				return
			}
			time.Sleep(10 * time.Second)
			w.mu.Lock()
			took = append(took, time.Since(asked))
			w.mu.Unlock()
			w.finish(key)
		})
	})
	return took
}
