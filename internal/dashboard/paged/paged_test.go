// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package paged_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/feed-operator/feed-operator/internal/dashboard/paged"
)

// R5.4: whoever turns all pages of a list sees all of it in its order, each row once, and no page has more rows than are shown; whatever number somebody
// asks for is a page.
func TestAllPagesTogetherAreTheList(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		list := make([]int, rapid.IntRange(0, 4*paged.Rows+1).Draw(t, "rows"))
		for i := range list {
			list[i] = i
		}
		seen, before := 0, 0
		for number := 1; number != 0; {
			page := paged.Of(list, number)
			if page.Number != number || page.Before != before || page.All != len(list) || len(page.Rows) > paged.Rows {
				t.Fatalf("page %d is %+v", number, page)
			}
			if len(page.Rows) > 0 && (page.First != seen+1 || page.Last != seen+len(page.Rows)) {
				t.Fatalf("after %d rows: from %d to %d", seen, page.First, page.Last)
			}
			for _, row := range page.Rows {
				if row != seen {
					t.Fatalf("row %d comes where %d should", row, seen)
				}
				seen++
			}
			before, number = number, page.Next
		}
		if seen != len(list) {
			t.Fatalf("%d rows of %d", seen, len(list))
		}
		asked := rapid.IntRange(-3, 9).Draw(t, "asked")
		if page := paged.Of(list, asked); page.Number < 1 || page.Number > page.Pages || len(list) > 0 && len(page.Rows) == 0 {
			t.Fatalf("page %d is %+v", asked, page)
		}
	})
}

// R5.4: lists take turns, in their order; and are as they were after that.
func TestListsTakeTurns(t *testing.T) {
	t.Parallel()
	lists := [][]int{nil, {1, 4, 6, 7}, {2}, {3, 5}}
	if got := paged.InTurn(lists); !slices.Equal(got, []int{1, 2, 3, 4, 5, 6, 7}) || len(lists[1]) != 4 || len(lists[3]) != 2 {
		t.Errorf("%v of %v", got, lists)
	}
	if got := paged.InTurn[int](nil); len(got) > 0 {
		t.Errorf("%v of nothing", got)
	}
}
