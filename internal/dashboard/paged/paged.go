// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package paged shows a list page by page, however long it is.
//
// It knows nothing of what is in the list.
package paged

import "slices"

// Rows is how many a page of a list shows.
const Rows = 50

// Page is one page of a list.
type Page[T any] struct {
	Rows          []T
	All           int
	Number, Pages int // from 1 on
	First, Last   int // the numbers of its rows, from 1 on
	Before, Next  int // the pages beside it, 0 for none
}

// Of returns the page of a number; the nearest that there is where there is none of that number. It shares its rows with the list.
func Of[T any](list []T, number int) Page[T] {
	page := Page[T]{All: len(list), Pages: max(1, (len(list)+Rows-1)/Rows)}
	page.Number = min(max(number, 1), page.Pages)
	from := (page.Number - 1) * Rows
	page.Rows = list[from:min(from+Rows, len(list))]
	page.First, page.Last = from+1, from+len(page.Rows)
	if page.Number > 1 {
		page.Before = page.Number - 1
	}
	if page.Number < page.Pages {
		page.Next = page.Number + 1
	}
	return page
}

// InTurn takes the first of each list, then the second of each, and so on: a long list hides nothing of the others.
func InTurn[T any](lists [][]T) (all []T) {
	lists = slices.Clone(lists)
	for turn := 0; len(lists) > 0; turn++ {
		lists = slices.DeleteFunc(lists, func(of []T) bool { return turn >= len(of) })
		for _, of := range lists {
			all = append(all, of[turn])
		}
	}
	return all
}
