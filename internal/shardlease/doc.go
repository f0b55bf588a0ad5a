// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package shardlease has the operator of each shard run in one of several replicas: who holds the Lease of a shard works on it.
//
// The Leases themselves are client-go's leader election, one for each shard. What is added to it is who may run for which: see Lock, and
// package shard for the arithmetic.
//
// A shard is given up in two ways. Freely, when another replica has too few, or this one stops: then its operator is stopped first,
// finishes what is under way and writes down what it knows; only after that the Lease is given back, and all that was in memory of its
// namespaces is gone with that operator. Or the Lease is lost, because the process was frozen or could not reach the API server in time: then
// another replica may be at work already, and nobody can say what of the memory is still true. So the process ends at once, with all of
// its shards: such a thing seldom happens to one Lease alone.
//
// It must never know what is done in a shard.
package shardlease
