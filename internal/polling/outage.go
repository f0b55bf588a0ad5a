// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package polling

// outageHosts is how many hosts in a row must be out of reach until that is the network's fault and
// not theirs.
const outageHosts = 5

// Outage tells a network that is down from feeds that are down. Some feed is always down; but when
// hosts that were well until now are out of reach one after the other, and none answers in between,
// it is the network, and no fault of any feed. The zero Outage is of a network that is up.
type Outage struct {
	unreached map[string]bool
	down      bool
}

// Down says that the network is down.
func (o *Outage) Down() bool { return o.down }

// Hosts is how many hosts were out of reach since one answered last, as far as they count.
func (o *Outage) Hosts() int { return len(o.unreached) }

// Unreached notes a host from which no answer came. One that was out of reach before says nothing
// about the network. It returns whether the outage has begun with it.
func (o *Outage) Unreached(host string, wellBefore bool) (began bool) {
	if o.down || !wellBefore {
		return false
	}
	if o.unreached == nil {
		o.unreached = map[string]bool{}
	}
	o.unreached[host] = true
	o.down = len(o.unreached) >= outageHosts
	return o.down
}

// Reached notes that a host has answered, whatever it said. It returns whether the outage has ended
// with it.
func (o *Outage) Reached() (ended bool) {
	ended = o.down
	*o = Outage{}
	return ended
}
