// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package quota is what a service that may use so many tokens a day has of them: how many are used, how many are written down to be used, and
// whether a call may begin.
//
// It is arithmetic, and the time is a parameter. It must never know what is called, nor write anything down.
package quota

import "time"

// Tokens are what a resource has been given, and has used up, of its tokens of one day. It is a
// value that can be written down and restored. The zero Tokens are of no day.
type Tokens struct {
	// Day is the midnight, UTC, with which the day begins.
	Day time.Time
	// Used is what calls have cost.
	Used int64
	// Reserved is what may be used, because it is written down. Used is above it where calls cost
	// more than was thought.
	Reserved int64
}

const (
	day = 24 * time.Hour
	// blocksPerDay is how many blocks a day's tokens are reserved in: 5 % each.
	blocksPerDay = 20
	// firstEstimate is what a call is thought to cost before one was seen, in tokens: a long article
	// and its summary. It is bounded by one block.
	firstEstimate = 4000
	// shrinking is how fast a call that was larger than the others is forgotten: each later one takes
	// this part of the difference away.
	shrinking = 16
	// mostTokens bounds what anybody may have written down, so that no sum of what
	// some thousand calls cost overflows.
	mostTokens = 1e15
)

// Budget is how many tokens of its day a resource may use. Tokens are known only after a call, so a
// call may begin while there is room for it, and for those under way, by the size of the largest one
// seen lately. What those cost beyond that is too much: at most what the calls under way cost.
type Budget struct {
	Tokens
	// PerDay is the limit, in tokens; 0 and less is without limit.
	PerDay int64
	// Asked is set while a further block is being written down, and Ended once who waits knows that nothing is left.
	Asked, Ended bool

	largest int64 // call seen lately, 0 before there was one
	// inFlight counts the calls that have not ended, and promised is what they were thought to cost
	// when they began.
	inFlight int
	promised int64
}

// on turns to the day of a time, which counts anew. A clock that goes back over a midnight stays in
// the later day; what was counted in a day farther ahead is taken to be of today.
func (b *Budget) on(now time.Time) {
	today := now.UTC().Truncate(day)
	switch {
	case b.Day.Equal(today), b.Day.Equal(today.Add(day)):
	case b.Day.After(today):
		b.Day = today
	default:
		b.Tokens = Tokens{Day: today}
	}
}

// SetLimit sets how many tokens may be used in a day, 0 and less for any number.
func (b *Budget) SetLimit(perDay int64) { b.PerDay, b.Asked = min(perDay, mostTokens), false }

// Empty reports whether nothing was used or reserved.
func (b *Budget) Empty() bool { return b.Used == 0 && b.Reserved == 0 }

// Restore takes over what was written down: whatever was reserved may have been used.
func (b *Budget) Restore(held Tokens) {
	used := min(max(held.Used, held.Reserved, 0), mostTokens)
	b.Tokens = Tokens{Day: held.Day, Used: used, Reserved: used}
	b.Asked = false
}

// share is the twentieth part of the day's tokens, 1 at least.
func (b *Budget) share() int64 {
	return (b.PerDay + blocksPerDay - 1) / blocksPerDay
}

// Call is what a call is thought to cost. One call a day is always possible.
func (b *Budget) Call() int64 {
	if b.largest == 0 {
		return min(firstEstimate, b.share())
	}
	return min(b.largest, b.PerDay)
}

// need is what must be reserved for one call more than those under way.
func (b *Budget) need() int64 {
	call := b.Call()
	return b.Used + max(b.promised, int64(b.inFlight)*call) + call
}

// Begin notes that a call begins, and returns what it is thought to cost.
func (b *Budget) Begin() int64 {
	call := b.Call()
	b.inFlight++
	b.promised += call
	return call
}

// End notes that a call has ended of which so much was thought.
func (b *Budget) End(promised int64) {
	b.inFlight--
	b.promised -= promised
}

// Forget forgets everything but the calls under way.
func (b *Budget) Forget() { *b = Budget{inFlight: b.inFlight, promised: b.promised} }

// Allows reports whether a call may begin.
func (b *Budget) Allows(now time.Time) bool {
	b.on(now)
	return b.PerDay <= 0 || b.need() <= min(b.Reserved, b.PerDay)
}

// Spent reports whether no call may begin before the next day. While calls are under way nobody knows yet.
func (b *Budget) Spent(now time.Time) bool {
	b.on(now)
	return b.PerDay > 0 && b.inFlight == 0 && b.need() > b.PerDay
}

// Ends is when the next day begins.
func (b *Budget) Ends() time.Time { return b.Day.Add(day) }

// Further is what must be reserved for a call to begin that may not begin yet: whole blocks, each of
// one call at least. It is nothing when that would not help.
func (b *Budget) Further(now time.Time) (reserved int64, needed bool) {
	if b.Allows(now) {
		return 0, false
	}
	need := b.need()
	if need > b.PerDay {
		return 0, false
	}
	block := max(b.share(), b.Call())
	blocks := (need - b.Reserved + block - 1) / block
	return min(b.Reserved+blocks*block, b.PerDay), true
}

// Use counts what a call has cost.
func (b *Budget) Use(now time.Time, tokens int64) {
	b.on(now)
	if tokens = min(tokens, mostTokens); tokens <= 0 {
		return
	}
	b.Used = min(b.Used+tokens, mostTokens)
	largest := b.largest
	if b.PerDay > 0 { // more would say the same, and be forgotten in months, by one call a day
		largest = min(largest, b.PerDay)
	}
	b.largest = max(tokens, largest-(largest-tokens)/shrinking)
}

// Reserve notes what is written down. What a clock that was wrong has written says nothing of today.
func (b *Budget) Reserve(now time.Time, held Tokens) {
	b.on(now)
	b.Asked = false
	if b.Day.Equal(held.Day) {
		b.Reserved = max(b.Reserved, min(held.Reserved, mostTokens))
	}
}

// ToWrite is what is to be written down: with the block that is asked for, and never less than was
// used.
func (b *Budget) ToWrite(now time.Time, ahead bool) Tokens {
	b.on(now)
	held := b.Tokens
	if ahead && b.Asked {
		if reserved, needed := b.Further(now); needed {
			held.Reserved = reserved
		}
	}
	held.Reserved = max(held.Reserved, held.Used)
	return held
}
