// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package shard says to which part of the work a namespace belongs, and which replica does which part: by the Leases that replicas hold, and
// evenly.
//
// A namespace as a whole belongs to one shard. So all that is ordered, paced, counted and bounded for a namespace is known to the one
// replica that holds its shard, and shards need not talk to each other.
//
// It is pure: it is told what Leases there are and when they were looked at. It must never know the API server, nor what is done in a
// namespace.
package shard
