// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Rank is the place in the order of work; lower comes first.
type Rank struct {
	// Class comes first: 0 for what is Pending, 1 for the others.
	Class int
	// Time comes second: the published time of what is Pending, the last check of the others.
	Time time.Time
	// Name decides ties.
	Name string
	// Owner is for whom it is asked, which counts only where a resource is shared, and there before all else.
	Owner Owner
}

// Compare returns -1 when r comes before other, 1 when it comes after, 0 when they are equal.
func (r Rank) Compare(other Rank) int {
	return cmp.Or(cmp.Compare(r.Class, other.Class), r.Time.Compare(other.Time), strings.Compare(r.Name, other.Name))
}

// waiter is a key that waits, has something reserved, or is being reconciled.
type waiter struct {
	key      string
	turns    int        // under way; one, where a key is never reconciled twice at once
	requests []*request // parked
	reserved []*Ticket  // granted while parked, not yet taken up by a turn
}

// request is what a waiter asked for in one Acquire: one resource of each chain. It waits for
// the first chain that could not be served.
type request struct {
	waiter *waiter
	rank   Rank
	number uint64 // no two requests are equal, or they could wait for each other
	chains [][]Resource
	soon   bool     // it does not wait where all of a chain are down
	turn   *Turn    // that asked for it last
	heard  uint64   // up to which WakeAll its key knows what has happened
	places []*place // one in the heap of each resource that it waits for
}

// place is where a request stands in the heap of one resource.
type place struct {
	request  *request
	resource *resource
	part     *part // whose line it stands in, where the resource is shared
	index    int
}

func (q *request) compare(other *request) int {
	return cmp.Or(
		q.rank.Compare(other.rank),
		strings.Compare(q.waiter.key, other.waiter.key),
		cmp.Compare(q.number, other.number),
	)
}

// asksFor reports whether it is the request for these chains.
func (q *request) asksFor(chains [][]Resource) bool {
	return slices.EqualFunc(q.chains, chains, slices.Equal)
}

// enter lines the request up for a resource, once.
func (q *request) enter(r *resource) {
	for _, at := range q.places {
		if at.resource.id == r.id {
			return
		}
	}
	at := &place{request: q, resource: r}
	q.places = append(q.places, at)
	r.enqueue(at)
}

// requests are those that stand in the line of a resource.
func (r *resource) requests() []*request {
	requests := make([]*request, 0, r.waiters())
	for _, at := range r.places() {
		requests = append(requests, at.request)
	}
	return requests
}

// line is a heap of places, best first.
type line []*place

func (l line) Len() int           { return len(l) }
func (l line) Less(i, j int) bool { return l[i].request.compare(l[j].request) < 0 }
func (l line) Swap(i, j int) {
	l[i], l[j] = l[j], l[i]
	l[i].index, l[j].index = i, j
}

// Push implements heap.Interface.
func (l *line) Push(x any) {
	at := x.(*place) //nolint:forcetypeassert // only places are pushed
	at.index = len(*l)
	*l = append(*l, at)
}

// Pop implements heap.Interface.
func (l *line) Pop() any {
	last := len(*l) - 1
	at := (*l)[last]
	(*l)[last] = nil
	*l = (*l)[:last]
	return at
}
