// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package eventstream

import (
	"container/heap"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

const (
	// EachBytes is how much is kept for one destination: some 1,500 events.
	EachBytes = 1 << 20
	// AllTimes is how many times as much is kept for all destinations together.
	AllTimes = 16
	// overhead is what an event takes beside its texts.
	overhead = 96
)

const (
	// MaxCalls is how many requests with an event may fail before it is dropped.
	MaxCalls = 5
	// firstWait is how long nothing is sent after a request has failed; after each further one of the same event twice as long.
	firstWait = time.Second
	// TellEvery is how often it is told that events were dropped.
	TellEvery = 10 * time.Minute
)

// Outbox keeps events for destinations, of each in order, until they are sent. Where a destination has too many, its oldest are dropped: what
// is new says more of how things stand. Where all together are too many, those of the namespace that has the most are; so a namespace loses
// nothing to others while it has no more than its share. The methods never wait, and may be called at the same time.
type Outbox struct {
	each, all int

	mu      sync.Mutex
	boxes   map[types.NamespacedName]*box
	tenants map[string]*tenant // by namespace: those that have a box
	bytes   int
}

// tenant is a namespace with its boxes.
type tenant struct {
	bytes int
	boxes byWaiting
}

// box is what waits for one destination.
type box struct {
	key       types.NamespacedName
	of        types.UID
	tenant    *tenant
	at        int     // among the boxes of the tenant
	waiting   []Event // oldest first
	underWay  *Event  // was taken, and is older than all that waits
	bytes     int     // of all that is in it
	droppable int     // of what waits
	notBefore time.Time
	losses    Losses // not told yet
	toldAt    time.Time
}

// Losses are how many events were dropped, and why.
type Losses struct {
	// NoRoom: others were newer.
	NoRoom int64
	// Refused: the receiver does not take them, or MaxCalls requests have failed.
	Refused int64
	// Stopped: they waited when the operator stopped, and there was no more time for them.
	Stopped int64
}

// Sum is how many they are.
func (l Losses) Sum() int64 { return l.NoRoom + l.Refused + l.Stopped }

// NewOutbox makes an empty one, which keeps so many bytes for each destination.
func NewOutbox(each int) *Outbox {
	return &Outbox{each: each, all: AllTimes * each, boxes: map[types.NamespacedName]*box{}, tenants: map[string]*tenant{}}
}

// Put adds an event for a destination, and returns which destinations are to be looked at for that: those that have something to be sent or
// to be told now, and had not before.
func (o *Outbox) Put(to types.NamespacedName, of types.UID, event Event) (wake []types.NamespacedName) {
	o.mu.Lock()
	defer o.mu.Unlock()
	b := o.boxOf(to, of)
	if len(b.waiting) == 0 && b.underWay == nil {
		wake = append(wake, to)
	}
	b.waiting = append(b.waiting, event)
	o.weigh(b, weight(event), weight(event))
	lose := func(from *box) {
		if from.losses.Sum() == 0 && !slices.Contains(wake, from.key) {
			wake = append(wake, from.key)
		}
		o.dropOldest(from)
	}
	for b.bytes > o.each && len(b.waiting) > 0 {
		lose(b)
	}
	for o.bytes > o.all {
		fattest := o.fattest()
		if fattest == nil {
			break
		}
		lose(fattest)
	}
	return wake
}

// boxOf returns the box of a destination; of one that had its name before, nothing is left.
func (o *Outbox) boxOf(to types.NamespacedName, of types.UID) *box {
	b := o.boxes[to]
	if b != nil && b.of != of {
		o.forget(to)
		b = nil
	}
	if b == nil {
		whose := o.tenants[to.Namespace]
		if whose == nil {
			whose = &tenant{}
			o.tenants[to.Namespace] = whose
		}
		b = &box{key: to, of: of, tenant: whose}
		o.boxes[to] = b
		heap.Push(&whose.boxes, b)
	}
	return b
}

// fattest is the box in which most waits of the namespace that has the most, among those from which something can be dropped. It looks at no
// box but the first of each namespace: one may have thousands of destinations, and each event of an item is put into all of them.
func (o *Outbox) fattest() *box {
	var most *tenant
	for _, whose := range o.tenants {
		if whose.boxes[0].droppable > 0 && (most == nil || whose.bytes > most.bytes) {
			most = whose
		}
	}
	if most == nil {
		return nil
	}
	return most.boxes[0]
}

func (o *Outbox) dropOldest(b *box) {
	bytes := weight(b.waiting[0])
	b.waiting[0] = Event{} // what is left of the slice holds no text
	b.waiting = b.waiting[1:]
	b.losses.NoRoom++
	o.weigh(b, -bytes, -bytes)
}

// weigh notes that so many bytes more are in a box, and so many more wait in it.
func (o *Outbox) weigh(b *box, bytes, droppable int) {
	b.bytes += bytes
	b.tenant.bytes += bytes
	o.bytes += bytes
	b.droppable += droppable
	heap.Fix(&b.tenant.boxes, b.at)
}

// byWaiting is a heap of boxes (container/heap): the one in which most waits is the first.
type byWaiting []*box

func (h byWaiting) Len() int           { return len(h) }
func (h byWaiting) Less(i, j int) bool { return h[i].droppable > h[j].droppable }

func (h byWaiting) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].at, h[j].at = i, j
}

// Push is for container/heap.
func (h *byWaiting) Push(b any) {
	added := b.(*box) //nolint:forcetypeassert // only boxes are pushed
	added.at = len(*h)
	*h = append(*h, added)
}

// Pop is for container/heap.
func (h *byWaiting) Pop() any {
	last := (*h)[len(*h)-1]
	(*h)[len(*h)-1] = nil
	*h = (*h)[:len(*h)-1]
	return last
}

func weight(event Event) int { return len(event.ID) + len(event.Body) + overhead }

// Due returns when the next event of a destination is to be sent; the zero time for at once. Waits is false where none does.
func (o *Outbox) Due(to types.NamespacedName, now time.Time) (at time.Time, waits bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	b := o.boxes[to]
	if b == nil || len(b.waiting) == 0 {
		return time.Time{}, false
	}
	if wait := b.notBefore.Sub(now); wait <= 0 || wait > firstWait<<MaxCalls { // the clock was set back
		return time.Time{}, true
	}
	return b.notBefore, true
}

// Take returns the oldest event of a destination, which is nobody else's until one of Sent, Refused, Failed and PutBack is called.
func (o *Outbox) Take(to types.NamespacedName, of types.UID) (Event, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	b := o.boxes[to]
	if b == nil || b.of != of || b.underWay != nil || len(b.waiting) == 0 {
		return Event{}, false
	}
	taken := b.waiting[0]
	b.waiting[0] = Event{}
	b.waiting, b.underWay = b.waiting[1:], &taken
	o.weigh(b, 0, -weight(taken))
	return taken, true
}

// Sent notes that the event which was taken has arrived.
func (o *Outbox) Sent(to types.NamespacedName, of types.UID) {
	o.settle(to, of, func(*box, Event) (again bool) { return false })
}

// Refused notes that it never will, and returns whether that is the first loss of those that are not told yet.
func (o *Outbox) Refused(to types.NamespacedName, of types.UID) (first bool) {
	o.settle(to, of, func(b *box, _ Event) (again bool) {
		first = b.losses.Sum() == 0
		b.losses.Refused++
		return false
	})
	return first
}

// PutBack has it sent again, as if nothing had been tried.
func (o *Outbox) PutBack(to types.NamespacedName, of types.UID) {
	o.settle(to, of, func(*box, Event) (again bool) { return true })
}

// Failed notes that a request with it has failed: it is sent again in a while, or was tried often enough.
func (o *Outbox) Failed(to types.NamespacedName, of types.UID, now time.Time) {
	o.settle(to, of, func(b *box, event Event) (again bool) {
		b.notBefore = now.Add(firstWait << event.calls)
		b.underWay.calls++
		if b.underWay.calls < MaxCalls {
			return true
		}
		b.losses.Refused++
		return false
	})
}

// settle ends what Take began.
func (o *Outbox) settle(to types.NamespacedName, of types.UID, how func(*box, Event) (again bool)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	b := o.boxes[to]
	if b == nil || b.of != of || b.underWay == nil {
		return
	}
	if bytes := weight(*b.underWay); how(b, *b.underWay) {
		b.waiting = slices.Insert(b.waiting, 0, *b.underWay)
		o.weigh(b, 0, bytes)
	} else {
		o.weigh(b, -bytes, 0)
	}
	b.underWay = nil
}

// Losses returns what is to be told of what a destination has lost, once; next is when more of it is, zero for never.
func (o *Outbox) Losses(to types.NamespacedName, now time.Time) (lost Losses, next time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	b := o.boxes[to]
	if b == nil || b.losses.Sum() == 0 {
		return Losses{}, time.Time{}
	}
	if wait := b.toldAt.Add(TellEvery).Sub(now); wait > 0 && wait <= TellEvery {
		return Losses{}, now.Add(wait)
	}
	lost, b.losses, b.toldAt = b.losses, Losses{}, now
	return lost, time.Time{}
}

// End gives up all that waits for a destination, because nobody sends any more, and returns what is still to be told of what it has lost.
func (o *Outbox) End(to types.NamespacedName) (lost Losses) {
	o.mu.Lock()
	defer o.mu.Unlock()
	b := o.boxes[to]
	if b == nil {
		return Losses{}
	}
	lost = b.losses
	lost.Stopped = int64(len(b.waiting))
	o.forget(to)
	return lost
}

// Waiting names the destinations for which events wait, and those that have lost some which are not told yet.
func (o *Outbox) Waiting() []types.NamespacedName {
	o.mu.Lock()
	defer o.mu.Unlock()
	var keys []types.NamespacedName
	for key, b := range o.boxes {
		if len(b.waiting) > 0 || b.losses.Sum() > 0 {
			keys = append(keys, key)
		}
	}
	return keys
}

// Forget removes all that is kept for a destination: it is gone, or gets no events any more.
func (o *Outbox) Forget(to types.NamespacedName) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.forget(to)
}

func (o *Outbox) forget(to types.NamespacedName) {
	b := o.boxes[to]
	if b == nil {
		return
	}
	o.weigh(b, -b.bytes, -b.droppable)
	delete(o.boxes, to)
	if heap.Remove(&b.tenant.boxes, b.at); len(b.tenant.boxes) == 0 {
		delete(o.tenants, to.Namespace)
	}
}
