// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apiclock

import (
	"time"

	"golang.org/x/sys/unix"
)

// sinceBoot returns what says how much time has passed since, also while the machine was suspended: time.Since leaves that out, and an
// operator that wakes up with it would take a call for one that it may still make.
func sinceBoot() func() time.Duration {
	boot := func() (time.Duration, bool) {
		var now unix.Timespec
		if unix.ClockGettime(unix.CLOCK_BOOTTIME, &now) != nil {
			return 0, false
		}
		return time.Duration(now.Nano()), true
	}
	if _, can := boot(); !can {
		return monotonic()
	}
	began := time.Now()
	awake := &wakefulness{
		boot: func() time.Duration {
			now, _ := boot() // what could be read once can be read again
			return now
		},
		read: func() (awake, wall time.Duration) {
			now := time.Now()
			return now.Sub(began), now.Round(0).Sub(began.Round(0))
		},
	}
	return awake.since()
}
