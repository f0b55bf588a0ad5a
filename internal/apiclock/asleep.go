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
			now := &asleep{at: awake, wall: wall} // read before that, so that a suspension in between shows the next time
			total := w.boot() - boot
			later, _ := w.read() // and after it, so that it is never too much
			if now.total = max(total-(later-began), 0); later-awake >= jitter {
				now.at, now.wall = now.at-freshFor, now.wall-freshFor // frozen meanwhile, so it is too little by that: it is read again at once
			}
			if known != nil {
				now.total = max(now.total, known.total) // it does not sleep less than it has
			}
			for !w.last.CompareAndSwap(known, now) { // somebody else has read it just now, who may know less
				known = w.last.Load()
				now.total = max(now.total, known.total)
			}
			awake, known = later, now
		}
		return awake - began + known.total
	}
}
