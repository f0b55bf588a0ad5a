// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package writes

import (
	"hash/fnv"
	"strconv"
	"time"

	"github.com/feed-operator/feed-operator/internal/believable"
)

const (
	// firstWait is when a write that was refused is worth another try.
	firstWait = time.Second
	// longestWait is the longest wait for the next try while no writes of a namespace are taken, and longestForAll the same while
	// none at all are: who has written nothing yet waits for that as well.
	longestWait   = 30 * time.Second
	longestForAll = 5 * time.Second
	// LongestWait is longer than any of these, with what is added by who waits. A next try that is further away was set by a clock that
	// was set back since, and is due.
	LongestWait = 2 * longestWait
)

// Wait is how long to wait after so many refusals, counted from 1: twice as long each time, up to the longest. It is up to half as
// long again, by who waits, so that those who were refused together do not try together.
func Wait(who string, refusals int, longest time.Duration) time.Duration {
	wait := longest
	if refusals < 20 {
		wait = min(firstWait<<max(refusals-1, 0), longest)
	}
	spread := fnv.New32a()
	_, _ = spread.Write([]byte(who + "/" + strconv.Itoa(refusals)))
	return wait + wait/2*time.Duration(spread.Sum32()%1000)/1000
}

// goesOn is for how long after a stretch another one is its continuation, with waits as long: or what is taken and refused by turns would be
// tried every second for ever.
const goesOn = 2 * time.Minute

// refused begins a stretch, or makes it longer, and reports which. What is refused before its next try is due was sent before,
// or is one of many that are sent together: it says nothing new.
func (s *stretch) refused(who string, longest time.Duration, now time.Time) (began bool) {
	if began = !s.held; began {
		if s.continued = s.recent(now); !s.continued {
			s.tries = 0
		}
		s.held, s.since = true, now
	} else if now.Before(s.until) && believable.Coming(s.until, now, LongestWait) {
		return false
	}
	const many = 1 << 20
	s.tries = min(s.tries+1, many)
	s.until = now.Add(Wait(who, s.tries, longest))
	return began
}

// end ends a stretch, if it is one.
func (s *stretch) end(now time.Time) {
	if s.held {
		s.held, s.ended = false, now
	}
}

// recent reports whether a stretch has ended lately.
func (s *stretch) recent(now time.Time) bool {
	return !s.ended.IsZero() && now.Sub(s.ended) < goesOn
}
