// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"cmp"
	"container/heap"
	"time"
)

// Owner is for whom something is asked: a tenant, and within it a group of what is asked for. Turns
// at what is shared are by tenant first.
type Owner struct{ Tenant, Group string }

// Sharing is who goes first where a resource is scarce.
type Sharing int

// How resources are shared.
const (
	// Unshared: whoever has the best rank. For what one tenant alone uses.
	Unshared Sharing = iota
	// ByTenant: the tenants by turns, and of each the best rank.
	ByTenant
	// ByGroup: the tenants by turns, within each its groups by turns, and of each the best rank.
	ByGroup
)

// A slot that was given cannot be taken back, and the one who has it may keep it for minutes. So what is shared is
// never given away completely: a tenant may take another slot while it holds fewer than are free for all,
// and of what a tenant may still take, the same holds for its groups. (For queues of switches this is known as the dynamic
// threshold, with a factor of 1: Choudhury and Hahne, IEEE/ACM Transactions on Networking 6(2), 1998.)
//
// It follows that who is alone has the half of all slots, n who take what they can have one part each of
// n+1 and one part stays free, and the next who comes finds half of that free at once, whatever the others do. Who holds
// more than this, because there were fewer when it took them, gets none until it has given back enough.

// part is what one owner has of a shared resource, or all have together. The lowest parts have the lines.
type part struct {
	above   *part
	name    string
	parts   map[string]*part
	line    line
	waiting int // in its line, and in those of its parts
	inUse   int
	served  uint64 // when it was given a slot last, counted in all slots that were given
	// queue has those of its parts that wait, where these have the lines; the one whose turn it is comes first. Queued is the
	// place of a part in such a queue, counted from 1; 0: it is in none.
	queue  groups
	queued int
	// availability is a tenant's: who is asked to leave the resource alone does so without those who were not asked.
	availability Availability
}

// Slots is how many slots there are in all, 0 for any number.
func (l Limit) Slots() int {
	const most = 1 << 20
	return min(max(l.Concurrent, 0), most) << l.Sharing
}

// used is how many slots a part holds; one that nobody knows holds none.
func (p *part) used() int {
	if p == nil {
		return 0
	}
	return p.inUse
}

// of returns a part of a part, nil where there is none.
func (p *part) of(name string) *part {
	if p == nil {
		return nil
	}
	return p.parts[name]
}

// needs returns a part of a part, and makes it where there is none.
func (p *part) needs(name string) *part {
	below := p.parts[name]
	if below == nil {
		below = &part{above: p, name: name}
		if p.parts == nil {
			p.parts = map[string]*part{}
		}
		p.parts[name] = below
	}
	return below
}

// tidy removes the part, and those above it, where nobody holds anything or waits.
func (r *resource) tidy(p *part) {
	for ; p.above != nil && p.inUse == 0 && p.waiting == 0 && len(p.parts) == 0 && !r.pauses[p]; p = p.above {
		delete(p.above.parts, p.name)
	}
}

// lowest returns the part with the line of an owner, and makes it where there is none.
func (r *resource) lowest(owner Owner) *part {
	tenant := r.shared.needs(owner.Tenant)
	if r.limit.Sharing == ByGroup {
		return tenant.needs(owner.Group)
	}
	return tenant
}

// lineOf is who waits of an owner.
func (r *resource) lineOf(owner Owner) line {
	p := r.shared.of(owner.Tenant)
	if r.limit.Sharing == ByGroup {
		p = p.of(owner.Group)
	}
	if p == nil {
		return nil
	}
	return p.line
}

// tenant is the part of a tenant that a lower one belongs to.
func (r *resource) tenant(p *part) *part {
	for p.above != r.shared {
		p = p.above
	}
	return p
}

// availabilityFor is whether the resource may be called for an owner: where it is shared, and may be called at
// all, by what was answered to that tenant.
func (r *resource) availabilityFor(owner Owner, now time.Time) Availability {
	common := r.availability
	if p := r.shared.of(owner.Tenant); p != nil && common.State != StateDown && common.Remaining(now) == 0 {
		return p.availability
	}
	return common
}

// room reports whether an owner may take another slot.
func (r *resource) room(owner Owner) bool {
	if r.limit.Concurrent <= 0 {
		return true
	}
	free := r.limit.Slots() - r.inUse
	if r.shared == nil {
		return free > 0
	}
	tenant := r.shared.of(owner.Tenant)
	if r.limit.Sharing == ByGroup {
		return tenant.of(owner.Group).used() < further(free, tenant)
	}
	return further(free, tenant) > 0
}

// further is how many slots more a tenant may take, while so many are free.
func further(free int, tenant *part) int { return max(free-tenant.used()+1, 0) / 2 }

// turn says whose turn it is: -1 for this part, 1 for the other one. It is that of the one that holds
// less, and where both hold the same, of the one that was served longer ago.
func (p *part) turn(other *part) int {
	served := func(p *part) uint64 {
		if p == nil {
			return 0
		}
		return p.served
	}
	return cmp.Or(cmp.Compare(p.used(), other.used()), cmp.Compare(served(p), served(other)))
}

// head is who is to get the resource next, nil where nobody waits who may have it now.
func (r *resource) head(now time.Time) *request {
	if r.shared == nil {
		if len(r.line) > 0 && r.standing(now, Owner{}) == free {
			return r.line[0].request
		}
		return nil
	}
	if r.shared.waiting == 0 {
		return nil
	}
	var first *part
	var head *request
	for name, tenant := range r.shared.parts {
		if tenant.waiting == 0 || first != nil && first.turn(tenant) < 0 {
			continue
		}
		q := tenant.best()
		if r.standing(now, Owner{name, q.rank.Owner.Group}) != free {
			continue // nor is it free for its other groups, which hold as much
		}
		if first == nil || tenant.turn(first) < 0 || q.compare(head) < 0 {
			first, head = tenant, q
		}
	}
	return head
}

// best is the first who waits in a part, by turns and by rank.
func (p *part) best() *request {
	if len(p.line) > 0 {
		return p.line[0].request
	}
	return p.queue[0].line[0].request
}

// reorder puts a group in its place among those of its tenant that wait. Call it when its line has changed, or what it holds: there
// may be thousands of groups, so they are not looked through each time.
func (p *part) reorder() {
	switch {
	case p.above == nil || p.above.above == nil: // it is no group
	case p.waiting > 0 && p.queued == 0:
		heap.Push(&p.above.queue, p)
	case p.waiting > 0:
		heap.Fix(&p.above.queue, p.queued-1)
	case p.queued > 0:
		heap.Remove(&p.above.queue, p.queued-1)
	}
}

// groups is a heap of parts that wait.
type groups []*part

func (q groups) Len() int { return len(q) }
func (q groups) Less(i, j int) bool {
	return cmp.Or(q[i].turn(q[j]), q[i].line[0].request.compare(q[j].line[0].request)) < 0
}

func (q groups) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].queued, q[j].queued = i+1, j+1
}

// Push implements heap.Interface.
func (q *groups) Push(x any) {
	p := x.(*part) //nolint:forcetypeassert // only parts are pushed
	*q = append(*q, p)
	p.queued = len(*q)
}

// Pop implements heap.Interface.
func (q *groups) Pop() any {
	last := len(*q) - 1
	p := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	p.queued = 0
	return p
}

// behind reports whether somebody who waits goes before a request that has just come.
func (r *resource) behind(q *request, now time.Time) bool {
	head := r.head(now)
	if head == nil {
		return false
	}
	var turn int
	theirs, mine := r.shared.of(head.rank.Owner.Tenant), r.shared.of(q.rank.Owner.Tenant)
	switch {
	case r.shared == nil:
	case head.rank.Owner.Tenant != q.rank.Owner.Tenant:
		turn = theirs.turn(mine)
	case r.limit.Sharing == ByGroup:
		turn = theirs.of(head.rank.Owner.Group).turn(mine.of(q.rank.Owner.Group))
	}
	return cmp.Or(turn, head.compare(q)) < 0
}

// waiters counts those who wait for the resource.
func (r *resource) waiters() int {
	if r.shared != nil {
		return r.shared.waiting
	}
	return len(r.line)
}

// places are those of all who stand in a line of the part.
func (p *part) places() []*place {
	places := append([]*place(nil), p.line...)
	for _, below := range p.parts {
		places = append(places, below.places()...)
	}
	return places
}

// places are those of all who wait for the resource, in no order.
func (r *resource) places() []*place {
	if r.shared != nil {
		return r.shared.places()
	}
	return r.line
}

// enqueue puts a place into its line.
func (r *resource) enqueue(at *place) {
	if r.shared == nil {
		heap.Push(&r.line, at)
		return
	}
	at.part = r.lowest(at.request.rank.Owner)
	heap.Push(&at.part.line, at)
	for p := at.part; p != nil; p = p.above {
		p.waiting++
	}
	at.part.reorder()
}

// dequeue takes a place out of its line.
func (r *resource) dequeue(at *place) {
	if r.shared == nil {
		heap.Remove(&r.line, at.index)
		return
	}
	heap.Remove(&at.part.line, at.index)
	for p := at.part; p != nil; p = p.above {
		p.waiting--
	}
	at.part.reorder()
	r.tidy(at.part)
}

// report sets what was answered to the owner of a ticket.
func (r *resource) report(ticket *Ticket, after Availability) {
	if ticket.part == nil {
		r.availability = after
		return
	}
	tenant := r.tenant(ticket.part)
	tenant.availability = after
	if r.pauses == nil {
		r.pauses = map[*part]bool{}
	}
	r.pauses[tenant] = true
}

// endPauses forgets the pauses that are over, of tenants who do not use the resource.
func (r *resource) endPauses(now time.Time) {
	for tenant := range r.pauses {
		if tenant.inUse == 0 && tenant.waiting == 0 && tenant.availability.Remaining(now) == 0 {
			delete(r.pauses, tenant)
			r.tidy(tenant)
		}
	}
}

// pauseEnds is when the first pause of a tenant ends, zero where there is none.
func (r *resource) pauseEnds(now time.Time) (first time.Time) {
	for tenant := range r.pauses {
		until := tenant.availability.Until
		if tenant.availability.Remaining(now) > 0 && (first.IsZero() || until.Before(first)) {
			first = until
		}
	}
	return first
}
