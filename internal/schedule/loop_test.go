// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/portion"
)

// thousand is how many items wait: more than are worked on at once.
var thousand = portion.Of(1000, 250)

// R2.3, R3.9, R3.13: 1,000 items at 10 a minute.
func TestThousandWaitingItems(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		keys, ranks := items(thousand)
		w := newWorld(keys)
		w.Configure(gemini, Limit{PerMinute: 10, Concurrent: 4})
		w.run(128, func(key string, turn *Turn) {
			ticket, ok := turn.Acquire(ranks[key], gemini)
			if !ok {
				return
			}
			w.begin(key)
			time.Sleep(time.Duration(rand.Int64N(int64(20 * time.Second))))
			ticket.Succeeded()
			w.finish(key)
		})
		if diff := cmp.Diff(keys, w.begun); diff != "" {
			t.Errorf("order (-want +got)\n%s", diff)
		}
		w.wantPace(t, 10)
		w.wantEnters(t, 2, 2)
	})
}

// Parked once while closed, worked on once.
func TestThousandItemsWithoutLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		keys, ranks := items(thousand)
		w := newWorld(keys)
		w.Configure(extractive, Limit{})
		w.run(128, func(key string, turn *Turn) {
			if ticket, ok := turn.Acquire(ranks[key], extractive); ok {
				w.begin(key)
				ticket.Succeeded()
				w.finish(key)
			}
		})
		w.wantEnters(t, 2, 2)
	})
}

// R1.3, R3.13: four of ten items are on one slow host, which takes only two at a time.
func TestThousandItemsOnBusyHosts(t *testing.T) {
	t.Parallel()
	for name, slow := range map[string]time.Duration{
		"a host as fast as its share":      20 * time.Second,
		"a host that can't keep up":        60 * time.Second,
		"a host that answers in an hour":   time.Hour,
		"a host that is faster than needs": time.Millisecond,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				keys, ranks := items(thousand)
				hosts := map[string]Resource{}
				for i, key := range keys {
					hosts[key] = Resource{KindHost, fmt.Sprint("host", i%10)}
					if i%10 < 4 {
						hosts[key] = host
					}
				}
				w := newWorld(keys)
				w.Configure(gemini, Limit{PerMinute: 10})
				var mu sync.Mutex
				loading := map[Resource]int{}
				load := func(id Resource, n int) {
					mu.Lock()
					defer mu.Unlock()
					if loading[id] += n; loading[id] > 2 {
						t.Errorf("%d at once at %s", loading[id], id)
					}
				}
				w.run(128, func(key string, turn *Turn) {
					tickets, ok := turn.AcquireAll(ranks[key], []Resource{gemini}, []Resource{hosts[key]})
					if !ok {
						return
					}
					w.begin(key)
					load(hosts[key], 1)
					if hosts[key] == host {
						time.Sleep(slow)
					} else {
						time.Sleep(time.Second)
					}
					load(hosts[key], -1)
					tickets[1].Done()
					time.Sleep(5 * time.Second)
					tickets[0].Succeeded()
					w.finish(key)
				})
				w.wantEnters(t, 2, 2)
				byHost := map[bool][]string{}
				for _, key := range w.begun {
					byHost[hosts[key] == host] = append(byHost[hosts[key] == host], key)
				}
				if !slices.IsSorted(byHost[true]) || !slices.IsSorted(byHost[false]) {
					t.Error("out of order on one host, or on the others")
				}
				// The others need as many minutes as there are tens of them at worst.
				last := slices.Index(w.begun, byHost[false][thousand*6/10-1])
				if took := w.at[last].Sub(w.at[0]); took > time.Duration(thousand/10+5)*time.Minute {
					t.Errorf("the others took %s", took)
				}
				if slow <= 20*time.Second {
					w.wantPace(t, 10)
				}
			})
		})
	}
}

// R3.6, R3.12: a provider that fails most of the time, one that comes and goes, and one at a slow
// pace: everybody is served.
func TestNobodyIsForgottenWhileProvidersFail(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		keys, ranks := items(portion.Of(300, 100))
		w := newWorld(keys)
		w.Configure(gemini, Limit{PerMinute: 60, Concurrent: 2})
		w.Configure(openAI, Limit{Concurrent: 4})
		w.Configure(mastodon, Limit{PerMinute: 30})
		stop := make(chan struct{})
		go func() {
			for {
				for _, change := range []func(){
					func() { w.Remove(openAI) },
					func() { w.SetAvailability(openAI, Availability{State: StateDown}) },
					func() { w.Configure(openAI, Limit{Concurrent: 1}) },
					func() { w.SetAvailability(openAI, Availability{}) },
				} {
					select {
					case <-stop:
						return
					case <-time.After(7 * time.Second):
						change()
					}
				}
			}
		}()
		w.run(16, func(key string, turn *Turn) {
			ticket, ok := turn.Acquire(ranks[key], gemini, openAI)
			if !ok {
				return
			}
			time.Sleep(time.Duration(rand.Int64N(int64(10 * time.Second))))
			switch rand.IntN(6) {
			case 0:
				ticket.Failed(failed(v1alpha1.CategoryRateLimit))
				w.queue.add(key)
				return
			case 1, 2:
				ticket.Failed(failed(v1alpha1.CategoryAPI))
				w.queue.add(key)
				return
			case 3:
				ticket.Cancel()
				w.queue.add(key)
				return
			}
			ticket.Succeeded()
			w.begin(key)
			w.finish(key)
		})
		close(stop)
		if len(w.begun) != len(keys) {
			t.Errorf("%d of %d done", len(w.begun), len(keys))
		}
		for kind, usage := range w.Snapshot() {
			if usage != (Usage{}) {
				t.Errorf("%s: %+v", kind, usage)
			}
		}
	})
}
