// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"maps"
	"net/http"
	"sync"
	"time"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
)

// step is what a stand-in for an AI service does with one call: it answers, or refuses with a status,
// and may say for how long it is to be left alone.
type step struct {
	status int
	pause  time.Duration
}

var (
	takes      = step{}
	overloaded = step{status: http.StatusServiceUnavailable}
)

func throttles(pause time.Duration) step {
	return step{status: http.StatusTooManyRequests, pause: pause}
}

// The stand-ins refuse so much that the five articles of one feed show all there is to fallback, where
// nobody else calls them: claude summarizes one, and refuses the next, which gpt takes over, while the
// others wait, because the pause is short. Then claude summarizes one more, and asks for a pause that is
// longer than anybody waits. So the rest goes to gpt; which is overloaded until its circuit opens, and
// leaves them to the built-in summarizer.
var (
	claudeSteps = []step{takes, throttles(8 * time.Second), takes, throttles(75 * time.Second)}
	gptSteps    = []step{takes, overloaded, overloaded, overloaded, overloaded, overloaded, takes, takes}
)

// onItsWay is how long after a refusal a call may still arrive that was begun before it was read.
const onItsWay = 2 * time.Second

// rhythm takes the same steps over and over, one for each call, and refuses every call in a pause.
type rhythm struct {
	steps []step
	now   func() time.Time

	mu      sync.Mutex
	at      int
	refused time.Time // when the pause began
	until   time.Time // and when it ends
	record  record
}

// record is what the calls have come to.
type record struct {
	calls int64
	// failures by the category that they have for the operator.
	failures map[v1alpha1.Category]int64
	// early are the calls that came although it had asked to be left alone.
	early int
}

func newRhythm(steps []step, now func() time.Time) *rhythm {
	return &rhythm{steps: steps, now: now, record: record{failures: map[v1alpha1.Category]int64{}}}
}

// next decides on a call.
func (r *rhythm) next() step {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	r.record.calls++
	if now.Before(r.until) {
		r.record.failures[v1alpha1.CategoryRateLimit]++
		if now.Sub(r.refused) > onItsWay {
			r.record.early++
		}
		return throttles(r.until.Sub(now))
	}
	taken := r.steps[r.at%len(r.steps)]
	r.at++
	switch taken.status {
	case http.StatusTooManyRequests:
		r.record.failures[v1alpha1.CategoryRateLimit]++
		r.refused, r.until = now, now.Add(taken.pause)
	case http.StatusServiceUnavailable:
		r.record.failures[v1alpha1.CategoryAPI]++
	}
	return taken
}

// soFar returns what the calls have come to until now.
func (r *rhythm) soFar() record {
	r.mu.Lock()
	defer r.mu.Unlock()
	copied := r.record
	copied.failures = maps.Clone(copied.failures)
	return copied
}

// answered is how many calls were not refused.
func (r record) answered() int64 { return r.calls - total(r.failures) }
