// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package polling_test

import (
	"fmt"
	"testing"

	"github.com/feed-operator/feed-operator/internal/polling"
)

// R1.4: an outage of the network is told from feeds that are down.
func TestTheNetworkIsDownWhenHostsThatWereWellAreOutOfReachOneAfterTheOther(t *testing.T) {
	t.Parallel()
	unreached := func(n int, well bool) func(*polling.Outage) {
		return func(o *polling.Outage) {
			for i := range n {
				o.Unreached(fmt.Sprint("host", i), well)
			}
		}
	}
	reached := func(o *polling.Outage) { o.Reached() }
	for name, test := range map[string]struct {
		events []func(*polling.Outage)
		want   bool
	}{
		"nothing has happened":                      {nil, false},
		"four hosts are out of reach":               {[]func(*polling.Outage){unreached(4, true)}, false},
		"five hosts are out of reach":               {[]func(*polling.Outage){unreached(5, true)}, true},
		"one host is out of reach, again and again": {[]func(*polling.Outage){unreached(1, true), unreached(1, true), unreached(1, true), unreached(1, true), unreached(1, true)}, false},
		"hosts that were down before":               {[]func(*polling.Outage){unreached(100, false)}, false},
		"a host has answered in between":            {[]func(*polling.Outage){unreached(4, true), reached, unreached(4, true)}, false},
		"a host has answered afterwards":            {[]func(*polling.Outage){unreached(5, true), reached}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var outage polling.Outage
			for _, event := range test.events {
				event(&outage)
			}
			if outage.Down() != test.want {
				t.Errorf("down: %t, want %t", outage.Down(), test.want)
			}
		})
	}
}

// R1.4: an outage begins once and ends once, so that it is told of once.
func TestAnOutageBeginsAndEndsOnce(t *testing.T) {
	t.Parallel()
	var outage polling.Outage
	began, ended := 0, 0
	for i := range 20 {
		if outage.Unreached(fmt.Sprint(i), true) {
			began++
		}
	}
	for range 3 {
		if outage.Reached() {
			ended++
		}
	}
	if began != 1 || ended != 1 {
		t.Errorf("began %d times, ended %d times", began, ended)
	}
}
