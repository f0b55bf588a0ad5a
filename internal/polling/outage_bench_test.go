// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package polling_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/feed-operator/feed-operator/internal/polling"
)

// manySuspects is a network with so many places of each namespace out of reach. Where one namespace is that, it is no outage.
func manySuspects(namespaces, sites int) *network {
	n := newNetwork()
	n.answers("another", 100_000, 100_005)
	for i := range namespaces {
		n.dies(fmt.Sprint("tenant", i), 0, sites, time.Minute)
	}
	return n
}

// R3.13: what it takes to note that a place is out of reach is the same however many are: all that are fetched wait for that.
func TestMorePlacesOutOfReachAreNoMoreWork(t *testing.T) { //nolint:paralleltest // what is allocated is counted for the whole process
	for _, sites := range []int{4, 1000} {
		n := manySuspects(1, sites)
		if n.Down() {
			t.Fatal("one tenant has brought about an outage")
		}
		read := n.now.Add(-time.Minute)
		if got := testing.AllocsPerRun(10, func() { n.Unreached(site("tenant0", 1), read, n.now) }); got > 4 {
			t.Errorf("with %d places, %.0f allocations", sites, got)
		}
	}
}

func BenchmarkUnreached(b *testing.B) {
	for name, n := range map[string]*network{
		"10 suspects, no outage": manySuspects(1, 10), "1000 suspects, no outage": manySuspects(1, 1000),
		"10 suspects, an outage": manySuspects(2, 5), "10000 suspects, an outage": manySuspects(10, 1000),
	} {
		b.Run(name, func(b *testing.B) {
			places := []polling.Place{site("tenant0", 1), site("tenant0", 1_000_000)} // one that is known, and one too many
			for i := range b.N {
				n.Unreached(places[i%2], n.now.Add(-time.Minute), n.now)
			}
		})
	}
}
