// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

var memoryMutations = []mutation{
	{
		breaks: "an item that may have posted an entry holds up nobody",
		file:   "internal/delivery/already.go",
		old:    "if err != nil || !other {",
		now:    `if err != nil || !other || holder.UID != "" {`,
		tests:  []string{"TestWhoHoldsAnEntry"},
	},
	{
		breaks: "an entry is held for two items at once",
		file:   "internal/postmemory/memory.go",
		old:    "if _, held := m.heldByOther(identity, item); held {",
		now:    "if _, held := m.heldByOther(identity, item); held && false {",
		in:     "internal/delivery",
		tests:  []string{"TestAnEntryIsHeldForOneItem"},
	},
	{
		breaks: "what was posted is not known before it is read from its item",
		file:   "internal/delivery/already.go",
		old:    "if outcome == nil || !outcome.Posted || p.memory == nil {",
		now:    "if outcome == nil || p.memory != nil {",
		tests:  []string{"TestWhatWasPostedJustNowIsKnown"},
	},
	{
		breaks: "an entry is free while nobody knows whether it was posted",
		file:   "internal/delivery/already.go",
		old:    "row == nil || !lifecycle.MustLookUp(row) {",
		now:    "row == nil || true {",
		tests:  []string{"TestWhatWasPostedJustNowIsKnown"},
	},
	{
		breaks: "a start does not see what may have been posted",
		file:   "internal/postmemory/store.go",
		old:    "case lifecycle.MustLookUp(row):",
		now:    "case lifecycle.MustLookUp(row) && false:",
		in:     "internal/delivery",
		tests:  []string{"TestWhoHoldsAnEntry"},
	},
	{
		breaks: "a start does not see what was posted, and is not written down",
		file:   "internal/postmemory/store.go",
		old:    "case row.State == v1alpha1.DeliveryDone && !known(item):",
		now:    "case row.State == v1alpha1.DeliveryDone && known(item):",
		in:     "internal/delivery",
		tests:  []string{"TestWhoHoldsAnEntry"},
	},
	{
		breaks: "what an item holds that is gone counts as decided",
		file:   "internal/postmemory/memory.go",
		old:    "if err != nil || held.Gone || lifecycle.MustLookUp(row) {",
		now:    "if err != nil || row != nil && lifecycle.MustLookUp(row) {",
		in:     "internal/delivery",
		tests:  []string{"TestWhatAnItemThatIsGoneMayHavePostedIsInDoubt"},
	},
	{
		breaks: "what nobody can know is free for others before that is written",
		file:   "internal/delivery/already.go",
		old:    "p.decided.Unverifiable && written",
		now:    "p.decided.Unverifiable",
		in:     "controllers",
		tests:  []string{"TestWhatNobodyCanKnowIsNotPostedBecauseItCouldNotBeWritten"},
	},
}
