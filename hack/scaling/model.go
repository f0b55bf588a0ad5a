// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
	"time"
)

// Load is how much there is to be done.
type Load struct {
	// Feeds are how many are polled, each as often as Interval says.
	Feeds    float64
	Interval time.Duration
	// Items are how many new entries all feeds have in 30 days.
	Items float64
	// KeptFor is for how long a processed item is kept, and KeepLast how many of each source however old they are (spec.retention).
	KeptFor  time.Duration
	KeepLast float64
	// Listed is how many entries a feed lists, and Age how long the operator has run: its memory of a feed grows by its entries.
	Listed float64
	Age    time.Duration
	// Latency is how long a server takes to answer a poll.
	Latency time.Duration
	// Shards and Replicas are as many as there are.
	Shards, Replicas float64
}

// Costs are what one of each takes, as measured. Where from is said in docs/scaling.md.
type Costs struct {
	// In etcd, in bytes: docs/operations.md, "Room in the cluster".
	ItemBytes, SourceBytes, MemoryBytes, SeenBytes, SeenLatelyBytes, SeenLately float64
	// Compaction is for how long all versions of an object stay.
	Compaction time.Duration
	// FreePages is by how much etcd's file is larger than what is in it.
	FreePages float64
	// Writes of an item with a post to one destination, and of a poll with news beside its items.
	ItemWrites, PollWrites float64
	// SignOfLife is how often the status of a source is written of which the feed does not change.
	SignOfLife time.Duration
	// In the memory of a replica, in bytes.
	CachedItem, CachedSource, AtRest float64
	// HeapFactor is what the garbage collector needs beside that.
	HeapFactor float64
	// PollTime is how long a poll of an unchanged feed uses a core, and ItemTime an item.
	PollTime, ItemTime time.Duration
	// PollPlaces are how many feeds of all namespaces a shard polls at the same time (--poll-workers, four times).
	PollPlaces float64
}

// Limits are what there is of each.
type Limits struct {
	// Etcd is its largest advisable quota, in bytes.
	Etcd float64
	// Writes the API server takes in a second.
	Writes float64
	// Watch is what may go to all replicas from it, in bytes a second.
	Watch float64
	// Memory of a replica, in bytes, and its Cores.
	Memory, Cores float64
}

var (
	measured = Costs{
		ItemBytes: 5100, SourceBytes: 2300, MemoryBytes: 1200, SeenBytes: 21, SeenLatelyBytes: 21, SeenLately: 2000,
		Compaction: 5 * time.Minute, FreePages: 1.3, ItemWrites: 4, PollWrites: 2, SignOfLife: time.Hour,
		CachedItem: 1220, CachedSource: 12_000, AtRest: 70e6, HeapFactor: 1.5,
		PollTime: 330 * time.Microsecond, ItemTime: 3 * time.Millisecond, PollPlaces: 128,
	}
	usual = Limits{Etcd: 8 << 30, Writes: 1000, Watch: 100e6, Memory: 16 << 30, Cores: 4}
)

// Need is how much is needed of one thing.
type Need struct {
	What string
	// Sum is how it is worked out, with its numbers.
	Sum string
	// Value and Limit are in the same unit.
	Value, Limit float64
	Unit         unit
}

// Part is how much of its limit is needed; above 1 it is too much.
func (n Need) Part() float64 { return n.Value / n.Limit }

// Needs are what a load takes. Each is in proportion to the number of feeds, if each feed has as many entries, but for what a replica takes at rest.
func Needs(l Load, c Costs, m Limits) []Need {
	const month = 30 * 24 * time.Hour
	perSecond := l.Items / month.Seconds()
	perFeed := l.Items / l.Feeds
	kept := max(l.Items*l.KeptFor.Hours()/month.Hours(), l.Feeds*min(l.KeepLast, perFeed*l.Age.Hours()/month.Hours()))
	seen := l.Listed + perFeed*l.Age.Hours()/month.Hours()
	memory := c.MemoryBytes + c.SeenBytes*seen + c.SeenLatelyBytes*min(seen, c.SeenLately)
	polls := l.Feeds / l.Interval.Seconds()
	alive := l.Feeds / c.SignOfLife.Seconds()
	leases := (l.Shards/2 + l.Replicas/4)
	written := perSecond*(c.ItemWrites*c.ItemBytes+c.SourceBytes+memory) + alive*c.SourceBytes
	etcd := (kept*c.ItemBytes + l.Feeds*(c.SourceBytes+memory) + written*c.Compaction.Seconds()) * c.FreePages
	writes := perSecond*(c.ItemWrites+c.PollWrites) + alive + leases
	watched := l.Replicas * (perSecond*(c.ItemWrites*c.ItemBytes+c.SourceBytes) + alive*c.SourceBytes)
	cache := (kept*c.CachedItem+l.Feeds*c.CachedSource)*c.HeapFactor + c.AtRest
	atOnce := polls * l.Latency.Seconds()
	cores := polls*c.PollTime.Seconds() + perSecond*c.ItemTime.Seconds()
	return []Need{
		{
			"room in etcd", fmt.Sprintf("(%s items × %s + %s sources × (%s + %s of what was seen) + %s/s of versions × %s) × %g",
				count.of(kept), bytes.of(c.ItemBytes), count.of(l.Feeds), bytes.of(c.SourceBytes), bytes.of(memory), bytes.of(written), short(c.Compaction), c.FreePages),
			etcd, m.Etcd, bytes,
		},
		{
			"writes a second", fmt.Sprintf("%s items/s × (%g + %g) + %s sources / %s + %s for leases",
				count.of(perSecond), c.ItemWrites, c.PollWrites, count.of(l.Feeds), short(c.SignOfLife), count.of(leases)), writes, m.Writes, count,
		},
		{
			"sent by watches, a second", fmt.Sprintf("%g replicas × (%s items/s × (%g × %s + %s) + %s/s × %s)",
				l.Replicas, count.of(perSecond), c.ItemWrites, bytes.of(c.ItemBytes), bytes.of(c.SourceBytes), count.of(alive), bytes.of(c.SourceBytes)),
			watched, m.Watch, bytes,
		},
		{
			"memory of each replica", fmt.Sprintf("(%s items × %s + %s sources × %s) × %g + %s",
				count.of(kept), bytes.of(c.CachedItem), count.of(l.Feeds), bytes.of(c.CachedSource), c.HeapFactor, bytes.of(c.AtRest)), cache, m.Memory, bytes,
		},
		{
			"polls under way at once", fmt.Sprintf("%s sources / %s × %s; %g shards × %g places",
				count.of(l.Feeds), short(l.Interval), l.Latency, l.Shards, c.PollPlaces), atOnce, l.Shards * c.PollPlaces, count,
		},
		{
			"cores of all replicas", fmt.Sprintf("%s polls/s × %s + %s items/s × %s", count.of(polls), c.PollTime, count.of(perSecond), c.ItemTime),
			cores, m.Cores * min(l.Replicas, l.Shards), count,
		},
	}
}

// First is what limits first.
func First(needs []Need) Need {
	first := needs[0]
	for _, need := range needs {
		if need.Part() > first.Part() {
			first = need
		}
	}
	return first
}

// short writes a duration without what is 0 of it.
func short(d time.Duration) string {
	return strings.TrimSuffix(strings.TrimSuffix(d.String(), "0s"), "0m")
}

// unit says how a number is written.
type unit string

const (
	bytes unit = "B"
	count unit = ""
)

// of writes a number with three digits at most.
func (u unit) of(value float64) string {
	sizes := []struct {
		at   float64
		name string
	}{{1e12, " T"}, {1e9, " G"}, {1e6, " M"}, {1e3, " k"}}
	for _, size := range sizes {
		if value >= size.at {
			return digits(value/size.at) + size.name + string(u)
		}
	}
	if u == bytes {
		return digits(value) + " B"
	}
	return digits(value)
}

func digits(value float64) string {
	switch {
	case value >= 100 || value == float64(int(value)):
		return fmt.Sprintf("%.0f", value)
	case value >= 10:
		return fmt.Sprintf("%.1f", value)
	default:
		return fmt.Sprintf("%.2f", value)
	}
}
