// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

var memoryMutations = []mutation{
	{
		breaks: "an item that may have posted an entry holds up nobody",
		file:   "internal/delivery/already.go", tests: []string{"TestWhoHoldsAnEntry"},
		old: "if err != nil || !other {",
		now: `if err != nil || !other || holder.UID != "" {`,
	},
	{
		breaks: "an entry is held for two items at once",
		file:   "internal/postmemory/memory.go", in: "internal/delivery", tests: []string{"TestAnEntryIsHeldForOneItem"},
		old: "if _, held := m.heldByOther(identity, item); held {", now: "if _, held := m.heldByOther(identity, item); held && false {",
	},
	{
		breaks: "what was posted is not known before it is read from its item",
		file:   "internal/delivery/already.go", tests: []string{"TestWhatWasPostedJustNowIsKnown"},
		old: "if outcome == nil || !outcome.Posted || p.memory == nil {", now: "if outcome == nil || p.memory != nil {",
	},
	{
		breaks: "an entry is free while nobody knows whether it was posted",
		file:   "internal/delivery/already.go", tests: []string{"TestWhatWasPostedJustNowIsKnown"},
		old: "row == nil || !lifecycle.MustLookUp(row) {", now: "row == nil || true {",
	},
	{
		breaks: "a start does not see what may have been posted",
		file:   "internal/postmemory/store.go", in: "internal/delivery", tests: []string{"TestWhoHoldsAnEntry"},
		old: "case lifecycle.MustLookUp(row):", now: "case lifecycle.MustLookUp(row) && false:",
	},
	{
		breaks: "a start does not see what was posted, and is not written down",
		file:   "internal/postmemory/store.go", in: "internal/delivery", tests: []string{"TestWhoHoldsAnEntry"},
		old: "case row.State == v1alpha1.DeliveryDone && !known(source, item):",
		now: "case row.State == v1alpha1.DeliveryDone && known(source, item):",
	},
	{
		breaks: "what an item holds that is gone counts as decided",
		file:   "internal/postmemory/memory.go", in: "internal/delivery", tests: []string{"TestWhatAnItemThatIsGoneMayHavePostedIsInDoubt"},
		old: "if err != nil || held.Gone || lifecycle.MustLookUp(row) {", now: "if err != nil || row != nil && lifecycle.MustLookUp(row) {",
	},
	{
		breaks: "what nobody can know is free for others before that is written",
		file:   "internal/delivery/already.go", in: "controllers", tests: []string{"TestWhatNobodyCanKnowIsNotPostedBecauseItCouldNotBeWritten"},
		old: "p.decided.Unverifiable && written", now: "p.decided.Unverifiable",
	},
	{
		breaks: "who takes over reads one item after the other",
		file:   "internal/postmemory/store.go", tests: []string{"TestItemsAreReadSeveralAtATime"},
		old: "group.SetLimit(readsAtOnce)", now: "group.SetLimit(1)",
	},
	{
		breaks: "what is read of one namespace holds up the others",
		file:   "internal/postmemory/store.go", tests: []string{"TestItemsAreReadSeveralAtATime"},
		old: "reads.Take(ctx, namespace, ", now: "reads.Take(ctx, \"\", ",
	},
	{
		breaks: "what is read for all destinations at once is not bounded",
		file:   "internal/postmemory/store.go", tests: []string{"TestItemsAreReadSeveralAtATime"},
		old: "share.New(readsOfAll, readsAtOnce)", now: "share.New(readsOfAll*readsOfAll, readsAtOnce)",
	},
	{
		breaks: "items of which most are unknown are read one by one",
		file:   "internal/postmemory/store.go", tests: []string{"TestItemsAreReadSeveralAtATime"},
		old: "if of.listed() {", now: "if of.listed() && false {",
	},
}
