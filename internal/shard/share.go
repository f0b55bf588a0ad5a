// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// Shares are how many shards each replica should hold: as many as the others, or one more where that does not come out even. Those have one
// more that hold the most already, so that as few shards as possible change hands.
func (v View) Shares() map[string]int {
	holding := map[string]int{}
	for _, holder := range v.Holders {
		holding[holder]++
	}
	members := slices.SortedFunc(slices.Values(v.Members), func(a, b string) int {
		return cmp.Or(cmp.Compare(holding[b], holding[a]), cmp.Compare(a, b))
	})
	shares := make(map[string]int, len(members))
	for i, member := range members {
		shares[member] = len(v.Holders) / len(members)
		if i < len(v.Holders)%len(members) {
			shares[member]++
		}
	}
	return shares
}

// Unwanted is how long a shard is left to those who hold less than their share before one takes it who does not. It is what matters when replicas do
// not see the same: no shard waits longer for a replica that only seems to be there.
const Unwanted = 5 * time.Second

// MayTake reports whether a replica that holds so many shards may take another one. While a Lease of another number of shards is held,
// nobody may: its holder works on namespaces of all shards. A Lease that is its own it has taken without hearing of it, or could not give back.
func (v View) MayTake(me string, shard, holding int) bool {
	free := v.Holders[shard] == "" || v.Holders[shard] == me
	return v.Rival == "" && free && (holding < v.Shares()[me] || v.FreeFor[shard] >= Unwanted)
}

// OthersShort are the replicas beside one that hold less than their share.
func (v View) OthersShort(me string) (short []string) {
	shares, spread := v.Shares(), v.Spread()
	for _, member := range v.Members {
		if member != me && spread[member] < shares[member] {
			short = append(short, member)
		}
	}
	return short
}

// Surplus are the shards that a replica should give up, of those that it holds: the last ones above its share. Nothing is given up to one that
// may have crashed as soon as it had begun: one that does so again and again would have work stopped each time.
func (v View) Surplus(me string, held []int) []int {
	v.Members = slices.DeleteFunc(slices.Clone(v.Members), func(member string) bool { return slices.Contains(v.Unproven, member) })
	share := v.Shares()[me]
	if len(held) <= share {
		return nil
	}
	held = slices.Sorted(slices.Values(held))
	return held[share:]
}

// Spread is how many shards each holder holds.
func (v View) Spread() map[string]int {
	spread := map[string]int{}
	for _, holder := range v.Holders {
		spread[holder]++
	}
	maps.DeleteFunc(spread, func(holder string, _ int) bool { return holder == "" })
	return spread
}
