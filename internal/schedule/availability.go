// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"cmp"
	"time"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/believable"
	"github.com/feed-operator/feed-operator/internal/failure"
)

// State is whether a resource may be called.
type State string

// The states of a resource. The empty State is StateReady.
const (
	// StateReady: it may be called.
	StateReady State = "Ready"
	// StateCoolingDown: it has refused calls for their rate. It may be called when Until has passed.
	StateCoolingDown State = "CoolingDown"
	// StateQuotaSpent: its budget is spent. It may be called when Until has passed.
	StateQuotaSpent State = "QuotaSpent"
	// StateCircuitOpen: its circuit is open, after too many failures in a row. When Until has passed, one
	// call at a time is let through as a probe.
	StateCircuitOpen State = "CircuitOpen"
	// StateDown: it must not be called until somebody changes something (credentials, suspend).
	StateDown State = "Down"
)

// failuresToOpen is how many failures in a row open the circuit (R3.9).
const failuresToOpen = 5

// longestWait bounds what another side may ask for: a monthly budget is the longest there is.
const longestWait = 31 * 24 * time.Hour

// growth is a waiting time that doubles from first up to limit.
type growth struct{ first, limit time.Duration }

var (
	rateLimitWait = growth{5 * time.Second, 300 * time.Second} // R3.3
	quotaWait     = growth{time.Hour, 24 * time.Hour}          // R3.9
	circuitWait   = growth{60 * time.Second, 30 * time.Minute} // R3.9
)

// after is the wait after the nth time in a row, counted from 1.
func (g growth) after(nth int) time.Duration {
	wait := g.first
	for ; nth > 1 && wait < g.limit; nth-- {
		wait *= 2
	}
	return min(wait, g.limit)
}

// Availability is whether a resource may be called, and after how many failures in a row. It is a value
// that can be written down and restored. The zero Availability is ready.
type Availability struct {
	State State
	// Until is when the resource may be called again, in the states that end by themselves.
	Until time.Time
	// Failures in a row that led here: of calls in StateReady and StateCircuitOpen, of refusals for the
	// same cause in StateCoolingDown and StateQuotaSpent. Failures of other kinds in between add to it.
	Failures int
	// Within is how far away Until can be; 0 is for as long as another side may ask for.
	Within time.Duration
}

// Remaining is how long the resource must still be left alone: 0 when it may be called, and in
// StateDown, which has no end of its own. A time that no rule can have set is not waited for.
func (a Availability) Remaining(now time.Time) time.Duration {
	switch a.State {
	case StateCoolingDown, StateQuotaSpent, StateCircuitOpen:
		if believable.Coming(a.Until, now, cmp.Or(a.Within, longestWait)) {
			return max(a.Until.Sub(now), 0)
		}
	case StateReady, StateDown:
	}
	return 0
}

// Failed is the availability after a call has failed.
//
// A refusal for the pace (RateLimit) begins a cool-down, a spent quota a long one; a RetryAfter of
// the other side wins over the computed time. Failures of the network and of the other side open
// the circuit when there are five in a row; refused credentials (Auth) end in StateDown. A refused
// request (Validation) says nothing about the resource, nor does an answer for which the operator had no room.
//
// Nothing is called during a cool-down, so what fails then is a call that began before: it can make
// the cool-down longer by its RetryAfter, but does not count, or a burst of calls that fail
// together would look like a long row of failures. A RateLimit is an answer: the count of
// failures that open the circuit starts anew with it.
func (a Availability) Failed(now time.Time, err *failure.Error) Availability {
	if err == nil || a.State == StateDown || err.Type == failure.TypeNoRoom {
		return a
	}
	switch err.Category {
	case v1alpha1.CategoryAuth:
		return Availability{State: StateDown}
	case v1alpha1.CategoryRateLimit:
		if err.Quota {
			return a.cooledDown(now, StateQuotaSpent, quotaWait, err.RetryAfter)
		}
		return a.cooledDown(now, StateCoolingDown, rateLimitWait, err.RetryAfter)
	case v1alpha1.CategoryNetwork, v1alpha1.CategoryAPI, v1alpha1.CategoryUnknown:
		return a.counted(now, err.RetryAfter)
	case v1alpha1.CategoryValidation:
	}
	return a
}

// cooledDown is the availability after a refusal that asks for a pause.
func (a Availability) cooledDown(now time.Time, state State, wait growth, retryAfter time.Duration) Availability {
	if a.Remaining(now) > 0 && (a.State == state || state == StateCoolingDown) {
		return a.lengthened(now, retryAfter)
	}
	failures := 1
	if a.State == state {
		failures = increment(a.Failures)
	}
	pause := wait.after(failures)
	if retryAfter > 0 {
		pause = min(retryAfter, longestWait)
	}
	next := Availability{State: state, Until: now.Add(pause), Failures: failures}
	if a.Remaining(now) > pause { // a spent quota that is met while the circuit is open
		next.Until = a.Until
	}
	return next
}

// counted is the availability after a failure that counts for the circuit.
func (a Availability) counted(now time.Time, retryAfter time.Duration) Availability {
	if a.Remaining(now) > 0 {
		return a.lengthened(now, retryAfter)
	}
	next := a
	next.Failures = increment(a.Failures)
	switch {
	case next.Failures < failuresToOpen:
		if a.State == "" {
			next.State = StateReady
		}
		if retryAfter > 0 {
			next.State, next.Until = StateCoolingDown, now
		}
		return next.lengthened(now, retryAfter)
	case a.State != StateCircuitOpen:
		next.Failures = failuresToOpen // what came before must not make the first opening longer
	}
	next.State = StateCircuitOpen
	next.Until = now.Add(circuitWait.after(next.Failures - failuresToOpen + 1))
	return next.lengthened(now, retryAfter)
}

// lengthened moves Until later, never earlier, to what the other side asked for.
func (a Availability) lengthened(now time.Time, retryAfter time.Duration) Availability {
	if until := now.Add(min(retryAfter, longestWait)); retryAfter > 0 && until.After(a.Until) {
		a.Until = until
	}
	return a
}

// Broken is the availability of what was found out to be broken in another way than by its calls:
// its circuit is open.
func Broken(now time.Time) Availability {
	return Availability{State: StateCircuitOpen, Until: now.Add(circuitWait.first), Failures: failuresToOpen, Within: circuitWait.limit}
}

// Succeeded is the availability after a call has succeeded: ready, and nothing counted. A success
// during a cool-down is of a call that began before, and does not end it; StateDown ends only by
// what it waits for.
func (a Availability) Succeeded(now time.Time) Availability {
	if a.State == StateDown || a.Remaining(now) > 0 {
		return a
	}
	return Availability{State: StateReady}
}

// increment counts on from whatever was stored, which a person may have edited.
func increment(failures int) int {
	const enough = 1 << 20
	return min(max(failures, 0), enough) + 1
}
