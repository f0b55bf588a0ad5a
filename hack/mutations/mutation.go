// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path"
	"slices"
)

// mutation is one change that breaks a promise, and the tests that are there to say so.
type mutation struct {
	// breaks says in words what is wrong with the code once it is changed.
	breaks string
	// file is what is changed, relative to the root: old, which is in it exactly once, becomes now.
	file, old, now string
	// in is the package of the tests, relative to the root, where that is not the package of the file; tests are those of which at least one
	// must fail.
	in    string
	tests []string

	area area
}

// area is what of the core a mutation is about.
type area string

const (
	claim      area = "claim"       // who may post: one of many, and only what is to be posted
	intent     area = "intent"      // what is written down before a call, and what follows from it after a crash
	settleTime area = "settle time" // for how long nobody touches what may be posted at this moment
	tickets    area = "tickets"     // places and rights to call: taken once, given back once
	tallies    area = "tallies"     // what is counted
	seeding    area = "seeding"     // everybody is in line before anybody is let through
	held       area = "held"        // results that the API server does not take
	webhooks   area = "webhooks"    // what a receiver is sent that cannot be asked, and batches
	memory     area = "memory"      // what a destination remembers of what was posted to it
	events     area = "events"      // what happens to items, sent to destinations that ask for it
	leases     area = "leases"      // which of several replicas works on a shard, and on which namespaces
	backups    area = "backups"     // what is moved to another cluster, and what of it is known there
)

// mutations are all that there are.
func mutations() []mutation {
	var all []mutation
	for _, part := range []struct {
		area area
		list []mutation
	}{
		{claim, claimMutations},
		{intent, intentMutations},
		{settleTime, settleTimeMutations},
		{tickets, ticketMutations},
		{tallies, tallyMutations},
		{seeding, seedingMutations},
		{held, heldMutations},
		{memory, memoryMutations},
		{webhooks, webhookMutations},
		{events, eventMutations},
		{leases, leaseMutations},
		{backups, backupMutations},
	} {
		for _, m := range slices.Clone(part.list) {
			m.area = part.area
			if m.in == "" {
				m.in = path.Dir(m.file)
			}
			all = append(all, m)
		}
	}
	return all
}
