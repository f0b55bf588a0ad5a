// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"
)

// queue hands out keys as a controller's queue does: a key is worked on by one worker at a time,
// and once more when it was added meanwhile.
type queue struct {
	mu      sync.Mutex
	added   sync.Cond
	keys    []string
	dirty   map[string]bool
	working map[string]bool
	closed  bool
}

func newQueue() *queue {
	q := &queue{dirty: map[string]bool{}, working: map[string]bool{}}
	q.added.L = &q.mu
	return q
}

func (q *queue) add(key string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.dirty[key] {
		return
	}
	q.dirty[key] = true
	if !q.working[key] {
		q.keys = append(q.keys, key)
		q.added.Signal()
	}
}

func (q *queue) get() (string, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.keys) == 0 {
		if q.closed {
			return "", false
		}
		q.added.Wait()
	}
	key := q.keys[0]
	q.keys = q.keys[1:]
	delete(q.dirty, key)
	q.working[key] = true
	return key, true
}

func (q *queue) done(key string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.working, key)
	if q.dirty[key] {
		q.keys = append(q.keys, key)
		q.added.Signal()
	}
}

func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.added.Broadcast()
}

// world is a controller with many workers, at a schedule, in virtual time.
type world struct {
	*Schedule
	queue *queue

	mu     sync.Mutex
	enters map[string]int
	begun  []string    // keys in the order in which their call was begun
	at     []time.Time // when each was
	open   map[string]bool
}

func newWorld(keys []string) *world {
	w := &world{queue: newQueue(), enters: map[string]int{}, open: map[string]bool{}}
	w.Schedule = New(clock.RealClock{}, w.queue.add, map[Kind]Limit{KindHost: {Concurrent: 2}})
	for _, key := range keys {
		w.open[key] = true
	}
	return w
}

// run parks everybody, opens, and returns when all are done. It blocks for good, which the bubble
// reports, when anybody is forgotten.
func (w *world) run(workers int, reconcile func(key string, turn *Turn)) {
	w.mu.Lock()
	for key := range w.open { // in any order, as a cache lists them
		w.queue.add(key)
	}
	w.mu.Unlock()
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for {
				key, ok := w.queue.get()
				if !ok {
					return
				}
				w.mu.Lock()
				w.enters[key]++
				open := w.open[key]
				w.mu.Unlock()
				turn := w.Enter(key)
				if open {
					reconcile(key, turn)
				}
				turn.Leave()
				w.queue.done(key)
			}
		})
	}
	synctest.Wait()
	w.Open()
	group.Wait()
}

func (w *world) begin(key string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.begun = append(w.begun, key)
	w.at = append(w.at, time.Now())
}

func (w *world) finish(key string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.open, key)
	if len(w.open) == 0 {
		w.queue.close()
	}
}

// wantPace checks that the allowance was used, and never exceeded in any minute.
func (w *world) wantPace(t *testing.T, perMinute int) {
	t.Helper()
	elapsed := w.at[len(w.at)-1].Sub(w.at[0])
	if used := float64(len(w.at)-1) / elapsed.Minutes() / float64(perMinute); used < 0.95 {
		t.Errorf("used %.3f of the allowance", used)
	}
	for i := perMinute; i < len(w.at); i++ {
		if w.at[i].Sub(w.at[i-perMinute]) < time.Minute {
			t.Fatalf("%d calls in less than a minute", perMinute+1)
		}
	}
}

// wantEnters checks how often keys were reconciled: at most so often on average and each.
func (w *world) wantEnters(t *testing.T, average float64, each int) {
	t.Helper()
	total, most := 0, 0
	for _, n := range w.enters {
		total += n
		most = max(most, n)
	}
	if got := float64(total) / float64(len(w.begun)); got > average || most > each {
		t.Errorf("%.2f reconciles an item, at most %d", got, most)
	}
}

// items makes keys in the order of their rank.
func items(n int) ([]string, map[string]Rank) {
	keys, ranks := make([]string, n), map[string]Rank{}
	for i := range keys {
		keys[i] = fmt.Sprintf("item/news/%04d", i)
		ranks[keys[i]] = published(i / 3) // ties, decided by name
		rank := ranks[keys[i]]
		rank.Name = keys[i]
		ranks[keys[i]] = rank
	}
	return keys, ranks
}
