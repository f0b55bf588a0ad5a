// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package portion

import (
	"fmt"
	"maps"
	"slices"
	"testing"
)

func named(prefix string, n int) map[string]int {
	names := map[string]int{}
	for i := range n {
		names[fmt.Sprint(prefix, i)] = i
	}
	return names
}

// A part of a matrix has each row and each column, and few cells more; the whole has all. Not parallel: it sets the environment.
func TestAPartOfAMatrixHasEachRowAndEachColumn(t *testing.T) {
	for _, size := range [][2]int{{1, 1}, {4, 6}, {6, 4}, {7, 7}, {1, 5}, {5, 1}} {
		rows, columns := named("row", size[0]), named("column", size[1])
		tried := func() (cells int, seen map[string]int) {
			seen = map[string]int{}
			for row := range rows {
				for column := range Across(row, rows, columns) {
					cells++
					seen[row]++
					seen[column]++
				}
			}
			return cells, seen
		}
		t.Setenv("TEST_PORTION", "")
		if cells, seen := tried(); cells != max(size[0], size[1]) || len(seen) != size[0]+size[1] {
			t.Errorf("%v: a part has %d cells, %v", size, cells, seen)
		}
		t.Setenv("TEST_PORTION", "whole")
		if cells, _ := tried(); cells != size[0]*size[1] {
			t.Errorf("%v: the whole has %d cells", size, cells)
		}
	}
}

// Of many variants the same few are tried each time, and all of the whole.
func TestSomeVariantsAreAlwaysTheSame(t *testing.T) {
	t.Setenv("TEST_PORTION", "")
	of := named("variant", 9)
	if got := slices.Sorted(maps.Keys(Some(of, 3))); !slices.Equal(got, []string{"variant0", "variant3", "variant6"}) {
		t.Errorf("a part is %v", got)
	}
	if got := SomeOf([]int{1, 2, 3, 4}, 2); !slices.Equal(got, []int{1, 3}) {
		t.Errorf("a part is %v", got)
	}
	if got := len(Some(of, 20)); got != 9 {
		t.Errorf("there are %d of 9", got)
	}
	if Of(1000, 100) != 100 {
		t.Error("a part is not what it is said to be")
	}
	t.Setenv("TEST_PORTION", "whole")
	if len(Some(of, 3)) != 9 || len(SomeOf([]int{1, 2}, 1)) != 2 || Of(1000, 100) != 1000 {
		t.Error("the whole is not all")
	}
}

// What is on a list is left, with its parts, and nothing else. Not parallel: it sets the environment.
func TestWhatIsOnAListIsLeftToTheWhole(t *testing.T) {
	const list = "# for its time\nTestOne\n\nTestTwo \n"
	for name, want := range map[string]bool{"TestOne": true, "TestTwo": true, "TestTw": false, "TestTwoOfThem": false} {
		if got := Leaves(list, name); got != want {
			t.Errorf("%q is left: %t", name, got)
		}
	}
	for portion, want := range map[string]bool{"": true, "whole": false} {
		t.Setenv("TEST_PORTION", portion)
		skipped := false
		t.Run("a part of it", func(t *testing.T) {
			defer func() { skipped = t.Skipped() }()
			Leave(t, list+t.Name()[:len("TestWhatIsOnAListIsLeftToTheWhole")])
		})
		if skipped != want {
			t.Errorf("with portion %q it was skipped: %t", portion, skipped)
		}
	}
}
