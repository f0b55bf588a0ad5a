// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"
	"time"
)

// setClock is that of a machine on which somebody sets the time.
type setClock struct {
	now    time.Time
	passed time.Duration
}

func (c *setClock) Now() time.Time        { return c.now }
func (c *setClock) Passed() time.Duration { return c.passed }

// R6.3: whether a Lease has run out follows from the time that has passed: nobody loses one because somebody sets a clock.
func TestLeasesDoNotRunOutWhenSomebodySetsAClock(t *testing.T) {
	t.Parallel()
	clock := &setClock{now: time.Date(2026, 4, 1, 9, 0, 0, 0, time.UTC), passed: time.Hour}
	shown := steady(clock)
	began := shown()
	for _, jump := range []time.Duration{time.Hour, -2 * time.Hour, 24 * time.Hour} {
		clock.now = clock.now.Add(jump)
		clock.passed += time.Second
	}
	if passed := shown().Sub(began); passed != 3*time.Second {
		t.Errorf("by the clock that Leases are judged by %s have passed, and not 3s", passed)
	}
}
