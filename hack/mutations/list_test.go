// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import "testing"

// Whoever changes a line that a mutation is about carries the mutation along: else it would say nothing any more.
func TestTheListIsTrueOfTheTree(t *testing.T) {
	t.Parallel()
	tree, err := findTree()
	if err != nil {
		t.Fatal(err)
	}
	names, known := map[string]bool{}, map[string]map[string]bool{}
	for _, m := range mutations() {
		if err := tree.check(m, known); err != nil {
			t.Error(err)
		}
		if m.breaks == "" || names[m.breaks] {
			t.Errorf("%s: two mutations have the name %q, or it is none", m.file, m.breaks)
		}
		names[m.breaks] = true
	}
	if _, err := tree.mutated(impatience); err != nil {
		t.Error(err)
	}
}

func TestTheListIsWide(t *testing.T) {
	t.Parallel()
	const atLeast = 40
	of := map[area]int{}
	for _, m := range mutations() {
		of[m.area]++
	}
	for _, must := range []area{claim, intent, settleTime, tickets, tallies, seeding} {
		if of[must] == 0 {
			t.Errorf("no mutation is about %ss", must)
		}
	}
	if all := len(mutations()); all < atLeast {
		t.Errorf("there are %d mutations, and must be %d", all, atLeast)
	}
}
