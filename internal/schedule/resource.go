// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/feed-operator/feed-operator/internal/quota"
)

// Kind is a kind of resource.
type Kind string

// The kinds of resources.
const (
	KindProvider    Kind = "provider"
	KindDestination Kind = "destination"
	KindHost        Kind = "host"
	KindNetwork     Kind = "network"
	KindWork        Kind = "work"
	KindWrites      Kind = "writes"
	KindChange      Kind = "change"
)

// Resource is something that is asked for: an AIProvider or a FeedDestination by namespace/name,
// a host by its name, the network that hosts are reached by, a place among those who work at the same time,
// what is written to the API server, or a change of one of these.
type Resource struct {
	Kind Kind
	Name string
}

// Builtin is the built-in summarizer: it has no limit but the number of workers.
var Builtin = Resource{Kind: KindProvider}

// Provider is an AIProvider.
func Provider(key types.NamespacedName) Resource {
	return Resource{Kind: KindProvider, Name: key.String()}
}

// Destination is a FeedDestination.
func Destination(key types.NamespacedName) Resource {
	return Resource{Kind: KindDestination, Name: key.String()}
}

// Host is where feeds and pages are.
func Host(name string) Resource { return Resource{Kind: KindHost, Name: name} }

// ChangeOf is a change of a resource, which is never granted. Who cannot use the resource as it is waits for that, in no line of the resource itself, and is
// woken by WakeAll.
func ChangeOf(of Resource) Resource { return Resource{Kind: KindChange, Name: of.String()} }

// String returns the resource for logs and messages.
func (r Resource) String() string { return string(r.Kind) + " " + r.Name }

// patience is how long a cool-down may last for the resource to be waited for, instead of being
// passed over (R3.6).
const patience = 60 * time.Second

// standing is how a resource can serve a request at this moment.
type standing int

const (
	free standing = iota // now
	busy                 // soon: worth waiting for
	down                 // nobody knows, or late: the next of the chain is asked
)

// resource is what is known about a Resource. The zero limit and availability allow everything.
type resource struct {
	id           Resource
	explicit     bool // by Configure
	known        bool // by Configure or by the default of its kind
	limit        Limit
	availability Availability

	pace   pace
	budget quota.Budget
	inUse  int            // tickets and reservations
	probe  *Ticket        // the one call that an open circuit lets through
	line   line           // who waits, where it is not shared
	shared *part          // nil where it is not shared
	pauses map[*part]bool // the tenants that were refused, or answered after that

	touched bool   // it is among those to be settled
	news    uint64 // the last WakeAll, counted over all resources

	timer clock.Timer
	due   time.Time // when the timer is to fire, zero when it is not set
}

func (r *resource) standing(now time.Time, owner Owner) standing {
	availability := r.availabilityFor(owner, now)
	if !r.known || availability.State == StateDown {
		return down
	}
	if remaining := availability.Remaining(now); remaining > 0 {
		if availability.State == StateCircuitOpen || remaining >= patience {
			return down
		}
		return busy
	}
	switch {
	case r.probing():
		return down
	case r.budget.Spent(now):
		if r.budget.Ends().Sub(now) >= patience {
			return down
		}
		return busy
	case !r.room(owner), !r.budget.Allows(now), r.pace.wait(now) > 0:
		return busy
	}
	return free
}

// probing reports whether the circuit is open, and the one call that may find out more is under way.
func (r *resource) probing() bool { return r.availability.State == StateCircuitOpen && r.probe != nil }

// full reports whether all slots are taken.
func (r *resource) full() bool { return r.limit.Concurrent > 0 && r.inUse >= r.limit.Slots() }

// changes is when time alone will change how the resource stands for anybody, zero when it will not.
func (r *resource) changes(now time.Time) time.Time {
	at, pause := r.changesForAll(now), r.pauseEnds(now)
	if at.IsZero() || !pause.IsZero() && pause.Before(at) {
		return pause
	}
	return at
}

func (r *resource) changesForAll(now time.Time) time.Time {
	switch {
	case !r.known, r.availability.State == StateDown:
		return time.Time{}
	case r.availability.Remaining(now) > 0:
		return r.availability.Until
	case r.probing():
		return time.Time{}
	case r.budget.Spent(now):
		return r.budget.Ends()
	case r.full():
		return time.Time{}
	case !r.budget.Allows(now):
		if _, needed := r.budget.Further(now); needed {
			return time.Time{} // once they are written down
		}
		return r.budget.Ends()
	}
	if wait := r.pace.wait(now); wait > 0 {
		return now.Add(wait)
	}
	return time.Time{}
}

// forgettable reports whether nothing is lost when the resource is made anew the next time it is named.
func (r *resource) forgettable(now time.Time) bool {
	if r.explicit || r.inUse > 0 || r.waiters() > 0 || len(r.pauses) > 0 || r.availability.State == StateDown {
		return false
	}
	if !r.known { // its availability may have been restored before it is configured
		return r.budget.Empty() && (r.availability == Availability{} || r.availability == Availability{State: StateReady})
	}
	return r.availability.Remaining(now) == 0 && r.pace.wait(now) == 0
}

// acquire takes a slot and a token of a resource that is free, for a request.
func (r *resource) acquire(s *Schedule, q *request, now time.Time) *Ticket {
	owner := q.rank.Owner
	ticket := &Ticket{schedule: s, resource: r, owner: owner, key: q.waiter.key, token: r.pace.spend(now), promised: r.budget.Begin()}
	r.inUse++
	if r.shared != nil {
		s.given++
		ticket.part = r.lowest(owner)
		for p := ticket.part; p != nil; p = p.above {
			p.inUse++
			p.served = s.given
		}
		ticket.part.reorder()
	}
	if r.availability.State == StateCircuitOpen {
		r.probe = ticket
	}
	return ticket
}

// putBack returns the slot of a ticket, once, and its token unless that was spent.
func (r *resource) putBack(ticket *Ticket, spent bool) {
	if ticket.closed {
		return
	}
	ticket.closed = true
	r.inUse--
	if ticket.part != nil {
		for p := ticket.part; p != nil; p = p.above {
			p.inUse--
		}
		ticket.part.reorder()
		r.tidy(ticket.part)
	}
	r.budget.End(ticket.promised)
	if r.probe == ticket {
		r.probe = nil
	}
	if !spent {
		r.pace.putBack(ticket.token)
	}
}

// honours reports whether a reservation made earlier may still be used.
func (r *resource) honours(ticket *Ticket, now time.Time) bool {
	availability := r.availabilityFor(ticket.owner, now)
	return !ticket.closed && r.known && availability.State != StateDown && availability.Remaining(now) == 0 &&
		(r.availability.State != StateCircuitOpen || r.probe == ticket)
}

func (r *resource) setLimit(limit Limit) {
	switch {
	case r.shared != nil:
		limit.Sharing = r.limit.Sharing
	case limit.Sharing != Unshared:
		r.shared = &part{}
	}
	r.limit = limit
	r.pace.change(limit.interval())
	r.budget.SetLimit(limit.TokensPerDay)
}

// waiting is until when the resource must be waited for, and why, for a person to read.
func (r *resource) waiting(now time.Time) (until time.Time, known bool, why string) {
	because := func(text string) string { return fmt.Sprintf("%s %s", r.id, text) }
	until = r.changes(now)
	known = !until.IsZero()
	switch {
	case !r.known:
		return until, known, because("is not configured")
	case r.availability.State == StateDown:
		return until, known, because("is not available")
	case r.availability.Remaining(now) > 0:
		switch r.availability.State {
		case StateCircuitOpen:
			return until, known, because(fmt.Sprintf("has failed %d times in a row", r.availability.Failures))
		case StateQuotaSpent:
			return until, known, because("has spent its quota")
		case StateCoolingDown, StateReady, StateDown:
		}
		return until, known, because("is cooling down")
	case r.probing():
		return until, known, because("is being probed after failures")
	case r.budget.Spent(now):
		return until, known, because("has used up its tokens of the day")
	case r.full():
		return until, known, because(fmt.Sprintf("has %d calls under way, as many as it may", r.inUse))
	case !r.budget.Allows(now):
		return until, known, because("waits until tokens are reserved")
	case known:
		return until, known, because("has had its calls for now (" + r.limit.String() + ")")
	}
	return now, true, because("is free")
}
