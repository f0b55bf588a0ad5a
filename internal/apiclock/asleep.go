// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apiclock

import (
	"sync/atomic"
	"time"
)

const (
	// jitter is by how much two clocks that are read one after the other seem to move against each other.
	jitter = time.Millisecond
	// freshFor is how long it is believed that a machine has not slept of which the other clocks say so.
	freshFor = time.Second
)

// wakefulness counts the time that passes, with that in which the machine is suspended. To read the clock that goes on meanwhile takes a system call, which
// is dear where it is done dozens of times for an item. So it is read when the other two, which are cheap, have moved against each other, as by
// a suspension they do, and else once a second.
type wakefulness struct {
	// boot goes on while the machine is suspended.
	boot func() time.Duration
	// read reads the clock that stands still then, and the one that shows what time it is and may be set.
	read func() (awake, wall time.Duration)
	last atomic.Pointer[asleep]
}

// asleep is for how long the machine has been suspended, as it was known at a time.
type asleep struct {
	total    time.Duration
	at, wall time.Duration
}

// since returns what says how much time has passed since.
func (w *wakefulness) since() func() time.Duration {
	boot := w.boot()
	began, _ := w.read()
	return func() time.Duration {
		awake, wall := w.read()
		known := w.last.Load()
		if known == nil || awake-known.at >= freshFor || ((wall-awake)-(known.wall-known.at)).Abs() >= jitter {
			total := w.boot() - boot
			awake, wall = w.read() // later than that, so that it is never too much
			now := &asleep{total: max(total-(awake-began), 0), at: awake, wall: wall}
			if known != nil {
				now.total = max(now.total, known.total) // it does not sleep less than it has
			}
			if w.last.CompareAndSwap(known, now) {
				known = now
			} else { // somebody else has read it just now
				known = w.last.Load()
			}
		}
		return awake - began + known.total
	}
}
