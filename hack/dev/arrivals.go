// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import "sync"

// arrivals has what arrives at a stand-in shown once.
type arrivals struct {
	mu    sync.Mutex
	shown int
}

// upTo shows what was not shown yet of all that has arrived, by its number from 0, and returns how much was shown in all.
func (a *arrivals) upTo(arrived int, show func(i int)) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	for ; a.shown < arrived; a.shown++ {
		show(a.shown)
	}
	return a.shown
}
