// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package polling_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/feed-operator/feed-operator/internal/polling"
)

// network is an Outage with a clock, in words.
type network struct {
	polling.Outage
	now time.Time
}

func newNetwork() *network {
	return &network{now: time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)}
}

func site(namespace string, i int) polling.Place {
	return polling.Place{Namespace: namespace, Site: fmt.Sprintf("site%d.example", i)}
}

// dies has sites of a namespace be out of reach, of which the feeds were read a while before.
func (n *network) dies(namespace string, from, to int, before time.Duration) (began int) {
	for i := from; i < to; i++ {
		if n.Unreached(site(namespace, i), n.now.Add(-before), n.now) {
			began++
		}
		n.now = n.now.Add(time.Second)
	}
	return began
}

// answers has sites of a namespace answer.
func (n *network) answers(namespace string, from, to int) (ended int) {
	for i := from; i < to; i++ {
		if n.Reached(site(namespace, i), n.now) != nil {
			ended++
		}
		n.now = n.now.Add(time.Second)
	}
	return ended
}

// R1.4: an outage that nobody is in any more, because its sources were removed, does not hide what is wrong with a new one;
// one that is met again and again lasts as long as it lasts.
func TestAnOutageThatNobodyMeetsIsOver(t *testing.T) {
	t.Parallel()
	n := newNetwork()
	n.answers("a", 0, 3)
	n.dies("a", 0, 3, time.Hour)
	for range 100 {
		n.now = n.now.Add(time.Hour)
		n.Unreached(site("a", 1), time.Time{}, n.now)
	}
	if !n.Suspected(site("a", 0)) || !n.Suspected(site("a", 1)) {
		t.Fatal("an outage has ended though nothing has answered")
	}
	n.now = n.now.Add(3 * time.Hour)
	if n.Unreached(site("a", 77), time.Time{}, n.now); n.Down() {
		t.Error("a new feed whose host does not exist waits for the network")
	}
}

// R1.4, R3.13: an outage of the network is told from feeds that are down, and from those of one tenant.
func TestWhenTheNetworkIsDown(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		happens func(*network)
		want    bool
	}{
		"nothing has happened":                {func(*network) {}, false},
		"four of many sites are out of reach": {func(n *network) { n.answers("a", 0, 9); n.dies("a", 0, 4, time.Hour) }, false},
		"five sites are out of reach":         {func(n *network) { n.answers("a", 0, 9); n.dies("a", 0, 5, time.Hour) }, true},
		"all three feeds of a laptop":         {func(n *network) { n.answers("a", 0, 3); n.dies("a", 0, 3, time.Hour) }, true},
		"two of three feeds":                  {func(n *network) { n.answers("a", 0, 3); n.dies("a", 0, 2, time.Hour) }, false},
		"all of two feeds":                    {func(n *network) { n.answers("a", 0, 2); n.dies("a", 0, 2, time.Hour) }, false},
		"after a start, and days of sleep":    {func(n *network) { n.dies("a", 0, 3, 5*24*time.Hour) }, true},
		"feeds that were not read for long":   {func(n *network) { n.dies("a", 0, 50, 8*24*time.Hour) }, false},
		"feeds that failed before": {func(n *network) {
			for i := range 50 {
				n.Unreached(site("a", i), time.Time{}, n.now)
			}
		}, false},
		"one site again and again": {func(n *network) {
			for range 50 {
				n.dies("a", 0, 1, time.Hour)
			}
		}, false},
		"an answer in between": {func(n *network) {
			n.answers("a", 0, 9)
			n.dies("a", 0, 4, time.Hour)
			n.answers("a", 8, 9)
			n.dies("a", 0, 4, time.Hour)
		}, false},
		"an answer to somebody else in between": {func(n *network) {
			n.answers("a", 0, 9)
			n.dies("a", 0, 4, time.Hour)
			n.answers("b", 0, 1)
			n.dies("a", 4, 8, time.Hour)
		}, false},
		"an answer afterwards": {func(n *network) { n.dies("a", 0, 5, time.Hour); n.answers("b", 0, 1) }, false},
		"all private sites of one tenant of fifty": {func(n *network) {
			for i := range 50 {
				n.answers(fmt.Sprint("tenant", i), 100*i, 100*i+5)
			}
			n.dies("tenant7", 700, 705, time.Hour)
		}, false},
		"the sites of several tenants": {func(n *network) {
			for i := range 50 {
				n.answers(fmt.Sprint("tenant", i), 100*i, 100*i+5)
			}
			n.dies("tenant7", 700, 703, time.Hour)
			n.dies("tenant9", 900, 902, time.Hour)
		}, true},
		"one site that several tenants read": {func(n *network) {
			for i := range 50 {
				n.answers(fmt.Sprint("tenant", i), 0, 5)
			}
			for i := range 50 {
				n.dies(fmt.Sprint("tenant", i), 0, 1, time.Hour)
			}
		}, false},
		"a network that is there for a moment, and gone again": {func(n *network) {
			n.answers("a", 0, 9)
			n.answers("b", 20, 29)
			n.dies("a", 0, 9, time.Hour)
			n.dies("b", 20, 29, time.Hour)
			n.answers("a", 0, 1)
			n.dies("a", 0, 9, time.Hour)
			n.dies("b", 20, 29, time.Hour)
		}, true},
		"one tenant, while the others have had no answer for hours": {func(n *network) {
			n.answers("b", 0, 5)
			n.answers("a", 10, 15)
			n.now = n.now.Add(2 * time.Hour)
			n.dies("a", 10, 15, 2*time.Hour)
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNetwork()
			test.happens(n)
			if n.Down() != test.want {
				t.Errorf("down: %t, want %t", n.Down(), test.want)
			}
		})
	}
}

// R1.4: an outage begins once and ends once, so that it is told of once. What is out of reach meanwhile is a part of
// it, whatever it was before; nothing else is.
func TestAnOutageBeginsAndEndsOnce(t *testing.T) {
	t.Parallel()
	n := newNetwork()
	n.answers("a", 0, 9)
	began := n.dies("a", 0, 20, time.Hour)
	n.Unreached(site("b", 100), time.Time{}, n.now)
	if !n.Suspected(site("a", 3)) || !n.Suspected(site("b", 100)) || n.Suspected(site("b", 3)) || n.Suspected(site("a", 100)) {
		t.Errorf("suspects %v", n.Suspects())
	}
	ended := n.answers("c", 0, 3)
	if began != 1 || ended != 1 || len(n.Suspects()) != 0 {
		t.Errorf("began %d times, ended %d times, left %v", began, ended, n.Suspects())
	}
}

// R1.4: a thousand feeds at one provider that fails for an hour, and ten elsewhere, polled every quarter of an hour: each
// of them takes part in one outage at most.
func TestSitesOfAnOutageThatWasNoneDoNotCountAgain(t *testing.T) {
	t.Parallel()
	n := newNetwork()
	n.answers("a", 0, 1010)
	began := 0
	for range 4 {
		for i := range 1000 {
			if n.Unreached(site("a", i), n.now.Add(-time.Hour), n.now) {
				began++
			}
			n.now = n.now.Add(900 * time.Millisecond)
			if i%100 == 99 {
				n.answers("a", 1000+i/100, 1001+i/100)
			}
		}
	}
	if began != 10 {
		t.Errorf("%d outages, want one in each round of the ten, and none after that", began)
	}
	n.answers("a", 0, 1000) // now they are back, and count
	if n.dies("a", 0, 10, time.Minute) != 1 {
		t.Error("no outage of sites that have answered again")
	}
}

// R3.13: what is kept of anybody is bounded, and goes when they go.
func TestAnOutageKeepsLittle(t *testing.T) {
	t.Parallel()
	n := newNetwork()
	n.answers("a", 0, 5)
	n.dies("a", 0, 5000, time.Minute)
	if kept := len(n.Suspects()); kept != 1000 {
		t.Errorf("%d suspects of one namespace", kept)
	}
	n.dies("b", 0, 10, time.Minute)
	if !slices.Contains(n.Suspects(), site("b", 9)) {
		t.Error("there is no room for those of another namespace")
	}
}
