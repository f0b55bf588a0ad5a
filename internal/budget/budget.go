// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package budget shares out the memory that may be taken by what strangers send: while it comes in, while
// it is decoded, parsed and read, and while what was found in it waits. There is one [Budget] for the whole
// process, in bytes, whoever sends what.
//
// It has four parts, so that nobody who waits for one can keep another from those who would set the first
// free, and a line for a process beside this one:
//
//   - documents: what has arrived, and what was found in it until it is used. It is taken as it comes, so who
//     sends slowly holds what was sent and no more. Nobody waits for it: where there is no room, the taker
//     fails with [ErrFull], gives everything back and comes again later.
//   - large: for one document at a time that found no room among the others. Owners take turns at it.
//   - waiting: texts that were read, and wait for somebody else. What finds no room is read again when it is
//     needed.
//   - work: what decoding, parsing and extracting take. It is waited for, in turns by owner. Who works waits
//     for nothing, so each gets its turn.
//   - reader: the process that reads documents which are not read here. It has memory of its own and takes one document
//     at a time, in turns by owner. Who waits for it holds its document and no work.
//
// Nobody may hold more of the documents, or of what waits, than they leave free. So one owner alone has half,
// two who want all that they can get have a third each, and however much is held, a newcomer finds room.
//
// The package counts what it is told. It must never know what the bytes are, nor who an owner is; callers
// name the namespace.
package budget

import (
	"errors"
	"sync"
	"time"
)

// Sizes of a budget, in bytes.
const (
	// Default is the size that nobody has changed, and Min the smallest that there may be.
	Default = 128 << 20
	Min     = 64 << 20
	// Largest is what the largest document takes, beside the work on it: twice the largest feed that is read,
	// or a PDF document of 5 MiB with its text, while it is sent to a provider.
	Largest = 22 << 20
)

// ErrFull means that there is no room at the moment. It is no failure of what was asked for: the same may be
// asked again later.
var ErrFull = errors.New("the memory that documents may take is used up for now")

// ErrTooLarge means that there will never be room: it is more than one document may take.
var ErrTooLarge = errors.New("it takes more memory than one document may")

// Budget is what is left of the memory. It is safe for concurrent use.
type Budget struct {
	now    func() time.Time
	work   line
	reader line

	mu        sync.Mutex
	documents area
	waiting   area
	large     reserve
}

// New returns a budget of so many bytes, but at least Min. The clock says whose turn it is at what only one
// can have.
func New(bytes int64, now func() time.Time) *Budget {
	rest := max(bytes, Min) - Largest
	return &Budget{
		now:       now,
		work:      line{size: rest * 45 / 100},
		reader:    line{size: 1},
		documents: area{size: rest * 45 / 100},
		waiting:   area{size: rest * 10 / 100},
	}
}

// Document returns room for one document, of which nothing is taken yet. Give it back with Release.
func (b *Budget) Document(owner string) *Room {
	return &Room{budget: b, owner: owner, area: &b.documents}
}

// Waiting returns room for a text that waits, likewise.
func (b *Budget) Waiting(owner string) *Room { return &Room{budget: b, owner: owner, area: &b.waiting} }

// Usage is what is taken, in bytes.
type Usage struct{ Documents, Large, Waiting, Work int64 }

// Usage returns what is taken of each part.
func (b *Budget) Usage() Usage {
	b.mu.Lock()
	defer b.mu.Unlock()
	return Usage{Documents: b.documents.used, Large: b.large.used, Waiting: b.waiting.used, Work: b.work.inUse()}
}

// area is a part that nobody may hold more of than they leave free.
type area struct {
	size, used int64
	held       map[string]int64 // by owner
}

// offers reports whether an owner may take so much more.
func (a *area) offers(owner string, bytes int64) bool {
	return a.held[owner]+bytes <= a.size-a.used-bytes
}

// everOffers reports whether a document that holds so much may take so much more while nobody else holds anything.
func (a *area) everOffers(held, bytes int64) bool { return held+bytes <= a.size-held-bytes }

// add takes so much for an owner; less than nothing gives back.
func (a *area) add(owner string, bytes int64) {
	if a.held == nil {
		a.held = map[string]int64{}
	}
	a.used += bytes
	if a.held[owner] += bytes; a.held[owner] == 0 {
		delete(a.held, owner)
	}
}

// patience is how long an owner that was refused keeps its place for the room of the large, if it does not
// ask again.
const patience = 2 * time.Minute

// reserve is the room of one document at a time that the area of the others has no room for.
type reserve struct {
	used   int64
	holder *Room
	asked  map[string]*asked // who was refused, by owner
}

// asked is since when an owner asks in vain, and when it has asked last.
type asked struct{ since, last time.Time }

// grant takes so much for a document, if it has the reserve or if it is the turn of its owner: of those who ask,
// the one that has asked for the longest time.
func (r *reserve) grant(room *Room, bytes int64, now time.Time) bool {
	switch {
	case r.holder == room && r.used+bytes <= Largest:
		r.used += bytes
		return true
	case r.holder == room, bytes > Largest: // no turn would help, and who waits for one keeps others waiting
		return false
	case r.holder == nil && r.turnOf(room.owner, now):
		delete(r.asked, room.owner)
		r.holder, r.used = room, bytes
		return true
	}
	if r.asked == nil {
		r.asked = map[string]*asked{}
	}
	if r.asked[room.owner] == nil {
		r.asked[room.owner] = &asked{since: now}
	}
	r.asked[room.owner].last = now
	return false
}

// turnOf reports whether nobody else has asked for longer. Who asks no more is forgotten.
func (r *reserve) turnOf(owner string, now time.Time) bool {
	own := now
	if earlier := r.asked[owner]; earlier != nil {
		own = earlier.since
	}
	for name, other := range r.asked {
		switch {
		case name == owner:
		case now.Sub(other.last) > patience:
			delete(r.asked, name)
		case other.since.Before(own):
			return false
		}
	}
	return true
}

// giveBack gives back so much of what a document has, the last of it with its turn.
func (r *reserve) giveBack(bytes int64) {
	if r.used -= bytes; r.used == 0 {
		r.holder = nil
	}
}
