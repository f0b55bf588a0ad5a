// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http"
	"sync"
	"time"
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

// rhythm takes the same steps over and over, one for each call, and refuses every call in a pause.
type rhythm struct {
	steps []step
	now   func() time.Time

	mu    sync.Mutex
	at    int
	until time.Time // when the pause ends
}

func newRhythm(steps []step, now func() time.Time) *rhythm { return &rhythm{steps: steps, now: now} }

// next decides on a call.
func (r *rhythm) next() step {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	if now.Before(r.until) {
		return throttles(r.until.Sub(now))
	}
	taken := r.steps[r.at%len(r.steps)]
	r.at++
	r.until = now.Add(taken.pause)
	return taken
}
