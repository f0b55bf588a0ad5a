// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"slices"
	"time"
)

// Lease is what was read of a Lease of the operator.
type Lease struct {
	Name string
	// Holder is the replica that holds it; empty where it was given back.
	Holder string
	// Version differs between any two states of a Lease: as long as it stays, nobody has renewed the Lease.
	Version string
	// Duration is how long the Lease is good after it was renewed.
	Duration time.Duration
}

// seenLease is a Lease, since when it is as it is, and since when its holder has been seen to hold it.
type seenLease struct {
	Lease
	since, holds time.Time
}

// held reports whether somebody holds the Lease at a time.
func (s seenLease) held(now time.Time) bool {
	return s.Holder != "" && now.Before(s.since.Add(s.Duration))
}

// freeSince is since when a Lease has been free that is not held.
func (s seenLease) freeSince() time.Time {
	if s.Holder == "" {
		return s.since
	}
	return s.since.Add(s.Duration)
}

// Board is what one replica has seen of all Leases of the operator. Whether a Lease has run out it judges by how long it has itself seen
// it unchanged, on its own clock, and by no time that another machine has written. So clocks that differ do no harm; they must only run at
// about the same speed.
//
// It is for one goroutine.
type Board struct {
	me    string
	count int

	leases map[string]seenLease
	first  time.Time
	// contested is when a Lease of another number of shards was last seen held.
	contested time.Time
}

// NewBoard has seen nothing. It is of a replica that was started with a number of shards.
func NewBoard(me string, count int) *Board { return &Board{me: me, count: count} }

// Look takes in all Leases that there are now.
func (b *Board) Look(leases []Lease, now time.Time) {
	if b.first.IsZero() {
		b.first = now
	}
	seen := make(map[string]seenLease, len(leases))
	for _, lease := range leases {
		before, known := b.leases[lease.Name]
		if known && before.Version == lease.Version {
			seen[lease.Name] = before
			continue
		}
		holds := now
		if known && before.Holder == lease.Holder {
			holds = before.holds
		}
		seen[lease.Name] = seenLease{lease, now, holds}
	}
	for name, before := range b.leases { // what somebody has deleted is held until it would have run out: its holder makes it anew when it renews it
		if _, there := seen[name]; there || !before.held(now) {
			continue
		}
		if _, _, is := ParseLeaseName(name); is {
			before.Version = ""
			seen[name] = before
		}
	}
	b.leases = seen
	if b.View(now).Rival != "" {
		b.contested = now
	}
}

// View is what a replica knows when it decides.
type View struct {
	// Holders are the replicas that hold the shards; empty for a shard that nobody holds.
	Holders []string
	// Versions are those of the Leases of the shards; empty where there is no Lease yet.
	Versions []string
	// FreeFor is how long each shard has been held by nobody while it could have been taken; 0 for one that is held.
	FreeFor []time.Duration
	// Members are the replicas that were started with the same number of shards and are alive, in order.
	Members []string
	// Joined is since when each of the other members has been seen.
	Joined map[string]time.Time
	// Unproven are those of them that have not renewed their Lease yet: they may have crashed as soon as they had begun.
	Unproven []string
	// Rival is the name of a Lease that is held of another number of shards, and of the smallest that there is; empty for none.
	Rival string
	// FewerShards is set if that number is smaller.
	FewerShards bool
}

// View is how the replica sees things.
func (b *Board) View(now time.Time) View {
	me, count := b.me, b.count
	v := View{
		Holders: make([]string, count), Versions: make([]string, count), FreeFor: make([]time.Duration, count),
		Members: []string{me}, Joined: map[string]time.Time{},
	}
	for i := range count {
		lease, known := b.leases[LeaseName(i, count)]
		switch {
		case !known:
			v.FreeFor[i] = now.Sub(b.first)
		case lease.held(now):
			v.Holders[i], v.Versions[i] = lease.Holder, lease.Version
		default:
			v.Versions[i], v.FreeFor[i] = lease.Version, now.Sub(lease.freeSince())
		}
	}
	if !b.contested.IsZero() {
		for i := range v.FreeFor {
			v.FreeFor[i] = min(v.FreeFor[i], now.Sub(b.contested))
		}
	}
	rival := 0
	for name, lease := range b.leases {
		if !lease.held(now) {
			continue
		}
		if _, of, is := ParseLeaseName(name); is && of != count && (rival == 0 || of < rival || of == rival && name < v.Rival) {
			v.Rival, rival = name, of
		}
		if of, is := parseMemberName(name); is && of == count && lease.Holder != me {
			v.Members, v.Joined[lease.Holder] = append(v.Members, lease.Holder), lease.holds
			if lease.since.Equal(lease.holds) {
				v.Unproven = append(v.Unproven, lease.Holder)
			}
		}
	}
	v.FewerShards = v.Rival != "" && rival < count
	slices.Sort(v.Members)
	return v
}

// RivalIn finds a Lease of another number of shards in what was read a moment ago; empty for none. One that has a holder counts as held, unless
// this replica has seen for long enough that nobody renews it: its holder may have renewed it just before.
func (b *Board) RivalIn(leases []Lease, now time.Time) string {
	for _, lease := range leases {
		_, of, is := ParseLeaseName(lease.Name)
		if !is || of == b.count || lease.Holder == "" {
			continue
		}
		if before, known := b.leases[lease.Name]; known && before.Version == lease.Version && !before.held(now) {
			continue
		}
		return lease.Name
	}
	return ""
}

// forgottenAfter is for how long a Lease has run out that its holder will not come back to.
const forgottenAfter = time.Minute

// Forgotten are the Leases that have run out long ago, of replicas that were not stopped but killed: those by which they were members, and those of
// other numbers of shards. Nobody needs them, and who starts would first have to see that they have run out.
func (b *Board) Forgotten(now time.Time) (names []string) {
	for name, lease := range b.leases {
		if lease.held(now) || now.Sub(lease.freeSince()) < forgottenAfter {
			continue
		}
		_, member := parseMemberName(name)
		_, of, shard := ParseLeaseName(name)
		if member || shard && of != b.count {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Holder is who was last seen to hold a Lease.
func (b *Board) Holder(lease string) string { return b.leases[lease].Holder }

// Knows reports whether a Lease is as it was when it was last looked at.
func (b *Board) Knows(lease Lease) bool {
	known, is := b.leases[lease.Name]
	return is && known.Version == lease.Version
}
