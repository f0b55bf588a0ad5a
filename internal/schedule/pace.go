// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"fmt"
	"time"
)

// Limit is how much a resource may be asked for. Zero or less means without limit.
type Limit struct {
	// PerMinute is how many calls are begun in a minute at most, evenly spaced.
	PerMinute int
	// Every is the time between the beginnings of two calls at least.
	Every time.Duration
	// Concurrent is how many calls are under way at the same time at most. Where the resource is shared, it is so many for one
	// owner that is alone, and twice as many for all together, four times where it is ByGroup: some are always kept
	// free for who comes next.
	Concurrent int
	// TokensPerDay is how many tokens calls may cost in a day, from midnight to midnight UTC.
	TokensPerDay int64
	// LongestPause is how long it is left alone at most after it has refused a call; 0 is for as long as another side may ask for.
	LongestPause time.Duration
	// Sharing says whose turn it is where several tenants want the resource. What is shared stays as it is.
	Sharing Sharing
}

// paceShare is how much of the allowance is used, in percent. Clocks differ, and a call takes an
// uneven time to arrive.
const paceShare = 97

// interval is the time from one call to the next.
func (l Limit) interval() time.Duration {
	if l.PerMinute <= 0 {
		return max(l.Every, 0)
	}
	return max(l.Every, time.Minute*100/paceShare/time.Duration(l.PerMinute))
}

// String says the pace in words.
func (l Limit) String() string {
	if l.PerMinute > 0 {
		return fmt.Sprintf("%d a minute", l.PerMinute)
	}
	return "one every " + l.Every.String()
}

// pace spaces calls evenly: a token bucket that holds one token, which is no more than the time
// of the next one. golang.org/x/time/rate is not used because it takes back only what lies in
// the future, and a ticket that is given back unused always has its time behind it.
type pace struct {
	interval time.Duration
	next     time.Time
}

// token remembers what taking it has changed.
type token struct{ before, after time.Time }

// wait is how long it takes until there is a token, 0 when there is one.
func (p *pace) wait(now time.Time) time.Duration {
	if latest := now.Add(p.interval); p.next.After(latest) { // the clock went back
		p.next = latest
	}
	return max(p.next.Sub(now), 0)
}

// spend uses up the token that wait has promised.
func (p *pace) spend(now time.Time) token {
	taken := token{before: p.next, after: p.next}
	if p.interval > 0 {
		p.next = now.Add(p.interval)
		taken.after = p.next
	}
	return taken
}

// began notes a call that was begun before this bucket was made.
func (p *pace) began(at time.Time) {
	if next := at.Add(p.interval); p.interval > 0 && !at.IsZero() && next.After(p.next) {
		p.next = next
	}
}

// putBack returns a token that was not used. When another was taken since, there is nothing to
// return: the bucket holds only one, and two calls at once would be more than the pace allows.
func (p *pace) putBack(taken token) {
	if p.next.Equal(taken.after) {
		p.next = taken.before
	}
}

// change sets another interval, counted from the last token that was taken.
func (p *pace) change(interval time.Duration) {
	if !p.next.IsZero() {
		p.next = p.next.Add(interval - p.interval)
	}
	p.interval = interval
}
