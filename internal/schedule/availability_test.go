// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/failure"
)

var noon = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

func in(d time.Duration) time.Time { return noon.Add(d) }

func failed(category v1alpha1.Category) *failure.Error { return &failure.Error{Category: category} }

func retryAfter(category v1alpha1.Category, wait time.Duration) *failure.Error {
	return &failure.Error{Category: category, RetryAfter: wait}
}

func outOfQuota(wait time.Duration) *failure.Error {
	return &failure.Error{Category: v1alpha1.CategoryRateLimit, Quota: true, RetryAfter: wait}
}

// R3.3, R3.8, R3.9
func TestFailed(t *testing.T) {
	t.Parallel()
	const (
		network   = v1alpha1.CategoryNetwork
		api       = v1alpha1.CategoryAPI
		rateLimit = v1alpha1.CategoryRateLimit
		auth      = v1alpha1.CategoryAuth
		month     = 31 * 24 * time.Hour
	)
	ready := func(failures int) Availability { return Availability{State: StateReady, Failures: failures} }
	cooling := func(until time.Duration, failures int) Availability {
		return Availability{State: StateCoolingDown, Until: in(until), Failures: failures}
	}
	spent := func(until time.Duration, failures int) Availability {
		return Availability{State: StateQuotaSpent, Until: in(until), Failures: failures}
	}
	open := func(until time.Duration, failures int) Availability {
		return Availability{State: StateCircuitOpen, Until: in(until), Failures: failures}
	}
	down := Availability{State: StateDown}

	for name, test := range map[string]struct {
		before Availability
		err    *failure.Error
		want   Availability
	}{
		"no failure changes nothing":                               {ready(2), nil, ready(2)},
		"an answer that the operator had no room for says nothing": {ready(4), &failure.Error{Category: network, Type: failure.TypeNoRoom}, ready(4)},

		"the first rate limit cools down for 5 s":                {Availability{}, failed(rateLimit), cooling(5*time.Second, 1)},
		"the second in a row for 10 s":                           {cooling(0, 1), failed(rateLimit), cooling(10*time.Second, 2)},
		"the sixth for 160 s":                                    {cooling(-time.Second, 5), failed(rateLimit), cooling(160*time.Second, 6)},
		"the seventh for no more than 300 s":                     {cooling(-time.Second, 6), failed(rateLimit), cooling(300*time.Second, 7)},
		"a Retry-After wins when it is shorter":                  {cooling(0, 6), retryAfter(rateLimit, time.Second), cooling(time.Second, 7)},
		"a Retry-After wins when it is longer":                   {ready(0), retryAfter(rateLimit, time.Hour), cooling(time.Hour, 1)},
		"a Retry-After of years is cut at a month":               {ready(0), retryAfter(rateLimit, math.MaxInt64), cooling(month, 1)},
		"a negative Retry-After is none":                         {ready(0), retryAfter(rateLimit, -time.Hour), cooling(5*time.Second, 1)},
		"a rate limit is an answer, so failures start anew":      {ready(4), failed(rateLimit), cooling(5*time.Second, 1)},
		"a probe that meets a rate limit begins a cool-down":     {open(0, 7), failed(rateLimit), cooling(5*time.Second, 1)},
		"of calls that fail together only the first counts":      {cooling(4*time.Second, 1), failed(rateLimit), cooling(4*time.Second, 1)},
		"but a later one may ask for more":                       {cooling(4*time.Second, 1), retryAfter(rateLimit, time.Minute), cooling(time.Minute, 1)},
		"and not for less":                                       {cooling(4*time.Second, 1), retryAfter(rateLimit, time.Second), cooling(4*time.Second, 1)},
		"a rate limit does not shorten an open circuit":          {open(time.Minute, 5), failed(rateLimit), open(time.Minute, 5)},
		"nor a spent quota":                                      {spent(time.Hour, 1), failed(rateLimit), spent(time.Hour, 1)},
		"a count that was edited to nonsense is counted from 0":  {cooling(0, -7), failed(rateLimit), cooling(5*time.Second, 1)},
		"a count at the end of the integers does not overflow":   {cooling(0, math.MaxInt), failed(rateLimit), cooling(300*time.Second, 1<<20+1)},
		"the clock went back: it waits longer, and goes no less": {cooling(48*time.Hour, 1), failed(rateLimit), cooling(48*time.Hour, 1)},

		"the first spent quota cools down for 1 h":      {ready(0), outOfQuota(0), spent(time.Hour, 1)},
		"the second in a row for 2 h":                   {spent(0, 1), outOfQuota(0), spent(2*time.Hour, 2)},
		"the sixth for no more than 24 h":               {spent(0, 5), outOfQuota(0), spent(24*time.Hour, 6)},
		"or until the time the provider names":          {spent(0, 5), outOfQuota(20 * time.Minute), spent(20*time.Minute, 6)},
		"rate limits before do not count for the quota": {cooling(0, 6), outOfQuota(0), spent(time.Hour, 1)},
		"it takes over from a short cool-down":          {cooling(4*time.Second, 3), outOfQuota(0), spent(time.Hour, 1)},
		"it does not end an open circuit sooner":        {open(time.Minute, 5), outOfQuota(time.Second), spent(time.Minute, 1)},
		"calls that meet it together count once":        {spent(time.Hour, 1), outOfQuota(0), spent(time.Hour, 1)},

		"four failures in a row change nothing else":           {ready(3), failed(network), ready(4)},
		"the empty state is ready":                             {Availability{}, failed(api), ready(1)},
		"the fifth opens the circuit for 60 s":                 {ready(4), failed(api), open(time.Minute, 5)},
		"unknown failures count":                               {ready(4), failed(v1alpha1.CategoryUnknown), open(time.Minute, 5)},
		"a probe that fails doubles it":                        {open(0, 5), failed(network), open(2*time.Minute, 6)},
		"again":                                                {open(0, 6), failed(network), open(4*time.Minute, 7)},
		"up to 30 min":                                         {open(0, 9), failed(network), open(30*time.Minute, 10)},
		"also in the end":                                      {open(0, math.MaxInt), failed(network), open(30*time.Minute, 1<<20+1)},
		"who fails after it has opened does not count":         {open(time.Second, 5), failed(network), open(time.Second, 5)},
		"failures after a cool-down go on counting":            {cooling(0, 2), failed(api), cooling(0, 3)},
		"and open it, the first time for 60 s":                 {cooling(0, 9), failed(api), open(time.Minute, 5)},
		"a failure with a Retry-After is a cool-down as well":  {ready(1), retryAfter(api, 20*time.Second), cooling(20*time.Second, 2)},
		"a Retry-After can hold an open circuit longer":        {ready(4), retryAfter(api, 10*time.Minute), open(10*time.Minute, 5)},
		"but not shorter":                                      {ready(4), retryAfter(api, time.Second), open(time.Minute, 5)},
		"a refused request says nothing":                       {ready(4), failed(v1alpha1.CategoryValidation), ready(4)},
		"nor does it close a circuit":                          {open(0, 5), failed(v1alpha1.CategoryValidation), open(0, 5)},
		"a category that nobody knows says nothing":            {ready(4), failed("Other"), ready(4)},
		"refused credentials end it at once":                   {ready(0), failed(auth), down},
		"also during a cool-down":                              {cooling(time.Minute, 1), failed(auth), down},
		"what is down stays down, whatever else fails later":   {down, failed(rateLimit), down},
		"a circuit opened from a bad count does not overflow":  {ready(math.MaxInt), failed(api), open(time.Minute, 5)},
		"a bad count that is negative does not keep it closed": {ready(-100), failed(api), ready(1)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, test.before.Failed(noon, test.err)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// R3.9
func TestSucceeded(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ before, want Availability }{
		"a success clears the count":                 {Availability{State: StateReady, Failures: 4}, Availability{State: StateReady}},
		"a probe closes the circuit":                 {Availability{State: StateCircuitOpen, Until: noon, Failures: 9}, Availability{State: StateReady}},
		"a cool-down that has passed is over":        {Availability{State: StateCoolingDown, Until: noon, Failures: 2}, Availability{State: StateReady}},
		"a call that began before does not end it":   {Availability{State: StateCoolingDown, Until: in(1), Failures: 2}, Availability{State: StateCoolingDown, Until: in(1), Failures: 2}},
		"what is down waits for something else":      {Availability{State: StateDown}, Availability{State: StateDown}},
		"the zero availability is ready, and stays":  {Availability{}, Availability{State: StateReady}},
		"an open circuit without a time is probed":   {Availability{State: StateCircuitOpen}, Availability{State: StateReady}},
		"a state that nobody knows counts for ready": {Availability{State: "Other", Until: in(1)}, Availability{State: StateReady}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, test.before.Succeeded(noon)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// Whatever happens, nobody is left alone for longer than was asked or computed, a success after
// the wait always heals, and a wait that has begun never becomes shorter.
func TestAvailabilityNeverGetsStuck(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		now := noon
		var a Availability
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.Int64Range(0, int64(2*time.Hour)).Draw(t, "passes")))
			before := a
			a = a.Failed(now, &failure.Error{
				Category: rapid.SampledFrom([]v1alpha1.Category{
					v1alpha1.CategoryNetwork, v1alpha1.CategoryAPI, v1alpha1.CategoryRateLimit, v1alpha1.CategoryValidation,
				}).Draw(t, "category"),
				Quota:      rapid.Bool().Draw(t, "quota"),
				RetryAfter: time.Duration(rapid.Int64Range(-1, int64(40*24*time.Hour)).Draw(t, "retry after")),
			})
			if a.Remaining(now) > longestWait {
				t.Fatalf("waits %s", a.Remaining(now))
			}
			if a.Remaining(now) < before.Remaining(now) {
				t.Fatalf("%+v became shorter: %+v", before, a)
			}
		}
		if healed := a.Succeeded(now.Add(a.Remaining(now))); healed != (Availability{State: StateReady}) {
			t.Fatalf("not healed: %+v", healed)
		}
	})
}

// R3.14, R3.9: a time that no rule can have set, of a clock that was a year ahead for a moment, is not waited for; and
// what happens then counts as ever.
func TestAPauseUntilNextYearIsNone(t *testing.T) {
	t.Parallel()
	const year = 365 * 24 * time.Hour
	for _, state := range []State{StateCoolingDown, StateQuotaSpent, StateCircuitOpen} {
		wrong := Availability{State: state, Until: in(year), Failures: 6}
		if got := wrong.Remaining(noon); got != 0 {
			t.Errorf("%s: waits %s", state, got)
		}
		if healed := wrong.Succeeded(noon); healed != (Availability{State: StateReady}) {
			t.Errorf("%s: a success leaves %+v", state, healed)
		}
		after := wrong.Failed(noon, retryAfter(v1alpha1.CategoryRateLimit, time.Minute))
		if got := after.Remaining(noon); got != time.Minute {
			t.Errorf("%s: asked to be left alone for a minute, and is for %s", state, got)
		}
		if got := (Availability{State: state, Until: in(longestWait)}).Remaining(noon); got != longestWait {
			t.Errorf("%s: the longest wait that there is lasts %s", state, got)
		}
	}
}
