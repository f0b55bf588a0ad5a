// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

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

// budget is how many tokens of its day a resource may use. Tokens are known only after a call, so a
// call may begin while there is room for it, and for those under way, by the size of the largest one
// seen lately. What those cost beyond that is too much: at most what the calls under way cost.
type budget struct {
	Tokens
	perDay  int64 // 0 and less is without limit
	largest int64 // call seen lately, 0 before there was one
	// inFlight counts the calls that have not ended, and promised is what they were thought to cost
	// when they began.
	inFlight int
	promised int64
	asked    bool // a further block is being written down
	ended    bool // who waits knows that nothing is left
}

// on turns to the day of a time, which counts anew. A clock that goes back over a midnight stays in
// the later day; what was counted in a day farther ahead is taken to be of today.
func (b *budget) on(now time.Time) {
	today := now.UTC().Truncate(day)
	switch {
	case b.Day.Equal(today), b.Day.Equal(today.Add(day)):
	case b.Day.After(today):
		b.Day = today
	default:
		b.Tokens = Tokens{Day: today}
	}
}

// empty reports whether nothing was used or reserved.
func (b *budget) empty() bool { return b.Used == 0 && b.Reserved == 0 }

// restore takes over what was written down: whatever was reserved may have been used.
func (b *budget) restore(held Tokens) {
	used := min(max(held.Used, held.Reserved, 0), mostTokens)
	b.Tokens = Tokens{Day: held.Day, Used: used, Reserved: used}
	b.asked = false
}

// share is the twentieth part of the day's tokens, 1 at least.
func (b *budget) share() int64 {
	return (b.perDay + blocksPerDay - 1) / blocksPerDay
}

// call is what a call is thought to cost. One call a day is always possible.
func (b *budget) call() int64 {
	if b.largest == 0 {
		return min(firstEstimate, b.share())
	}
	return min(b.largest, b.perDay)
}

// need is what must be reserved for one call more than those under way.
func (b *budget) need() int64 {
	call := b.call()
	return b.Used + max(b.promised, int64(b.inFlight)*call) + call
}

// begin notes that a call begins, and returns what it is thought to cost.
func (b *budget) begin() int64 {
	call := b.call()
	b.inFlight++
	b.promised += call
	return call
}

// end notes that a call has ended of which so much was thought.
func (b *budget) end(promised int64) {
	b.inFlight--
	b.promised -= promised
}

// forget forgets everything but the calls under way.
func (b *budget) forget() { *b = budget{inFlight: b.inFlight, promised: b.promised} }

// allows reports whether a call may begin.
func (b *budget) allows(now time.Time) bool {
	b.on(now)
	return b.perDay <= 0 || b.need() <= min(b.Reserved, b.perDay)
}

// spent reports whether no call may begin before the next day. While calls are under way nobody knows yet.
func (b *budget) spent(now time.Time) bool {
	b.on(now)
	return b.perDay > 0 && b.inFlight == 0 && b.need() > b.perDay
}

// ends is when the next day begins.
func (b *budget) ends() time.Time { return b.Day.Add(day) }

// further is what must be reserved for a call to begin that may not begin yet: whole blocks, each of
// one call at least. It is nothing when that would not help.
func (b *budget) further(now time.Time) (reserved int64, needed bool) {
	if b.allows(now) {
		return 0, false
	}
	need := b.need()
	if need > b.perDay {
		return 0, false
	}
	block := max(b.share(), b.call())
	blocks := (need - b.Reserved + block - 1) / block
	return min(b.Reserved+blocks*block, b.perDay), true
}

// use counts what a call has cost.
func (b *budget) use(now time.Time, tokens int64) {
	b.on(now)
	if tokens = min(tokens, mostTokens); tokens <= 0 {
		return
	}
	b.Used = min(b.Used+tokens, mostTokens)
	b.largest = max(tokens, b.largest-(b.largest-tokens)/shrinking)
}

// reserve notes what is written down. What a clock that was wrong has written says nothing of today.
func (b *budget) reserve(now time.Time, held Tokens) {
	b.on(now)
	b.asked = false
	if b.Day.Equal(held.Day) {
		b.Reserved = max(b.Reserved, min(held.Reserved, mostTokens))
	}
}

// toWrite is what is to be written down: with the block that is asked for, and never less than was
// used.
func (b *budget) toWrite(now time.Time, ahead bool) Tokens {
	b.on(now)
	held := b.Tokens
	if ahead && b.asked {
		if reserved, needed := b.further(now); needed {
			held.Reserved = reserved
		}
	}
	held.Reserved = max(held.Reserved, held.Used)
	return held
}
