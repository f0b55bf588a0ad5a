// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"fmt"
	"regexp"
	"strconv"

	"github.com/cespare/xxhash/v2"
)

// Most is how many shards there may be. Each has a Lease, which is renewed every two seconds.
const Most = 64

// Of is the shard of a namespace, where there are count of them: from 0 to count-1. It is the same in every process and every version: the
// 64-bit XXH64 of the name with the seed 0 (https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md), modulo count.
func Of(namespace string, count int) int {
	if count <= 1 {
		return 0
	}
	return int(xxhash.Sum64String(namespace) % uint64(count)) //nolint:gosec // count is from 2 to Most
}

// The one shard of an operator that has no others keeps the name that its Lease had before there were shards.
const onlyLease = "feed-operator-leader"

// LeaseName is the name of the Lease of a shard. It tells how many shards there are: replicas that were started with different numbers hold
// different Leases, and see each other's.
func LeaseName(index, count int) string {
	if count <= 1 {
		return onlyLease
	}
	return fmt.Sprintf("feed-operator-shard-%d-of-%d", index, count)
}

var shardLease = regexp.MustCompile(`^feed-operator-shard-(\d{1,3})-of-(\d{1,3})$`)

// ParseLeaseName reads what LeaseName has made.
func ParseLeaseName(name string) (index, count int, ok bool) {
	if name == onlyLease {
		return 0, 1, true
	}
	found := shardLease.FindStringSubmatch(name)
	if found == nil {
		return 0, 0, false
	}
	index, _ = strconv.Atoi(found[1])
	count, _ = strconv.Atoi(found[2])
	return index, count, count > 1 && index < count && LeaseName(index, count) == name
}

// MemberPrefix begins the names of the Leases by which replicas say that they are there. They hold no shard by that.
const MemberPrefix = "feed-operator-replica-"

// MemberName is the name of the Lease of a replica that was started with a number of shards.
func MemberName(replica string, count int) string {
	return fmt.Sprintf("%sof-%d-%016x", MemberPrefix, count, xxhash.Sum64String(replica))
}

var memberLease = regexp.MustCompile(`^` + MemberPrefix + `of-(\d{1,3})-[0-9a-f]{16}$`)

// parseMemberName reads of how many shards a replica knows.
func parseMemberName(name string) (count int, ok bool) {
	found := memberLease.FindStringSubmatch(name)
	if found == nil {
		return 0, false
	}
	count, _ = strconv.Atoi(found[1])
	return count, true
}
