// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apiclock

import (
	"testing"
	"time"
)

// machine is a machine with three clocks.
type machine struct {
	awake, wall, boot time.Duration
	bootRead          int
}

func (m *machine) passes(d time.Duration) {
	m.awake, m.wall, m.boot = m.awake+d, m.wall+d, m.boot+d
}

// suspended has the clock that counts only what is awake stand still.
func (m *machine) suspended(d time.Duration) {
	m.wall, m.boot = m.wall+d, m.boot+d
}

func (m *machine) since() func() time.Duration {
	w := &wakefulness{
		boot: func() time.Duration { m.bootRead++; return m.boot },
		read: func() (time.Duration, time.Duration) { return m.awake, m.wall },
	}
	return w.since()
}

// R4.4: the time in which a machine was suspended has passed, whatever its clock was set to meanwhile; and to know that takes one system call a second.
func TestTimePassesWhileTheMachineIsSuspended(t *testing.T) {
	t.Parallel()
	m := &machine{awake: time.Hour, wall: 20 * time.Hour, boot: 3 * time.Hour}
	passed := m.since()
	expect := func(want time.Duration, when string) {
		t.Helper()
		if got := passed(); got != want {
			t.Errorf("%s: %s have passed, want %s", when, got, want)
		}
	}
	expect(0, "at first")
	before := m.bootRead
	for range 900 {
		m.passes(time.Millisecond)
		passed()
	}
	expect(900*time.Millisecond, "awake")
	if m.bootRead != before {
		t.Errorf("the clock that takes a system call was read %d times within a second", m.bootRead-before)
	}
	m.suspended(time.Minute)
	expect(time.Minute+900*time.Millisecond, "after a suspension")
	m.wall -= 24 * time.Hour
	expect(time.Minute+900*time.Millisecond, "after the clock was set back")
	m.suspended(time.Hour)
	m.wall -= time.Hour // by whoever set it while nobody looked
	m.passes(freshFor)
	expect(time.Hour+time.Minute+900*time.Millisecond+freshFor, "a second after a suspension that no other clock shows")
}

// R4.4: what has passed never becomes less, though the clocks are read one after the other.
func TestWhatHasPassedDoesNotBecomeLess(t *testing.T) {
	t.Parallel()
	m := &machine{}
	late := time.Duration(0) // after a clock is read, the process does not run for so long
	w := &wakefulness{
		boot: func() time.Duration { at := m.boot; m.passes(late); return at },
		read: func() (time.Duration, time.Duration) { return m.awake, m.wall },
	}
	passed := w.since()
	m.suspended(time.Hour)
	before := passed()
	for _, late = range []time.Duration{0, 20 * time.Millisecond, 0, 5 * time.Second, 0} {
		m.passes(freshFor)
		now := passed()
		if now < before+freshFor || now > m.boot {
			t.Errorf("%s have passed after %s, and %s in truth", now, before, m.boot)
		}
		before = now
	}
}

// R4.4: a machine that is suspended at the very moment at which it is asked for how long it was has slept all the same: who had a call to make before
// finds that out when it next asks, and not a second later.
func TestASuspensionIsNoticedThatComesWhileTheClocksAreRead(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]struct{ before, after bool }{
		"before the clock is read that goes on meanwhile": {before: true},
		"after it":                          {after: true},
		"before it, and once more after it": {before: true, after: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := &machine{}
			before, after := false, false
			sleep := func(now *bool) {
				if *now {
					*now = false
					m.suspended(time.Hour)
				}
			}
			w := &wakefulness{
				boot: func() time.Duration { sleep(&before); at := m.boot; sleep(&after); return at },
				read: func() (time.Duration, time.Duration) { return m.awake, m.wall },
			}
			passed := w.since()
			passed()
			m.passes(freshFor)
			before, after = at.before, at.after
			passed() // what it says is as old as what it was told before it was suspended
			m.passes(10 * time.Millisecond)
			if now := passed(); now != m.boot {
				t.Errorf("%s have passed, and %s in truth", now, m.boot)
			}
		})
	}
}

// R4.4: nor is a suspension forgotten for a second of which the machine is told when the process is frozen for longer, or when two ask at once of which
// one was told before it.
func TestASuspensionIsNoticedByAProcessThatIsFrozenOrAsksTwiceAtOnce(t *testing.T) {
	t.Parallel()
	t.Run("frozen", func(t *testing.T) {
		t.Parallel()
		m := &machine{}
		frozen := time.Duration(0)
		w := &wakefulness{
			boot: func() time.Duration { at := m.boot; m.passes(frozen); frozen = 0; return at },
			read: func() (time.Duration, time.Duration) { return m.awake, m.wall },
		}
		passed := w.since()
		passed()
		m.suspended(time.Hour)
		frozen = time.Minute
		passed()
		if now := passed(); now != m.boot {
			t.Errorf("%s have passed, and %s in truth", now, m.boot)
		}
	})
	t.Run("at once", func(t *testing.T) {
		t.Parallel()
		m := &machine{}
		var meanwhile func()
		w := &wakefulness{
			boot: func() time.Duration {
				at := m.boot
				if other := meanwhile; other != nil {
					meanwhile = nil
					other()
				}
				return at
			},
			read: func() (time.Duration, time.Duration) { return m.awake, m.wall },
		}
		passed := w.since()
		passed()
		m.suspended(time.Hour)
		meanwhile = func() {
			if known := w.last.Load(); !w.last.CompareAndSwap(known, &asleep{}) { // as by somebody who was told before the suspension
				t.Fatal("somebody else asks")
			}
		}
		if now := passed(); now != m.boot {
			t.Errorf("%s have passed, and %s in truth", now, m.boot)
		}
	})
}
