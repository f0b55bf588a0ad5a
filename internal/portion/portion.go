// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package portion says how much of a test is run: with `make test` a part that shows the same, with `make test-real` the whole.
package portion

import (
	"flag"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Of returns how much a test takes of what costs time by its mere number, such as items. The whole is what the requirements speak of.
func Of(whole, part int) int {
	if IsWhole() {
		return whole
	}
	return part
}

// IsWhole reports whether tests are run in their whole size.
func IsWhole() bool { return os.Getenv("TEST_PORTION") == "whole" }

// Whole leaves a test to `make test-real`, and says why.
func Whole(t *testing.T, why string) {
	t.Helper()
	if !IsWhole() {
		t.Skip("only with `make test-real`: " + why)
	}
}

// Leave leaves a test, with all its parts, to `make test-real` if it is on a list: names of tests, one a line, with comments after #.
func Leave(t *testing.T, list string) {
	t.Helper()
	if name, _, _ := strings.Cut(t.Name(), "/"); Leaves(list, name) {
		Whole(t, "it is on the list of what is left to it")
	}
}

// Leaves reports whether a test is on such a list.
func Leaves(list, test string) bool {
	for line := range strings.Lines(list) {
		if strings.TrimSpace(line) == test {
			return true
		}
	}
	return false
}

// Draws has each property of a package be tried with n draws of rapid instead of a hundred; with `make test-real`, with all. It is for an init: the
// command line is read later, and wins.
func Draws(n int) {
	if IsWhole() {
		return
	}
	if err := flag.Set("rapid.checks", strconv.Itoa(n)); err != nil {
		panic(err)
	}
}

// Some returns n variants of a test, always the same; with `make test-real`, all.
func Some[V any](of map[string]V, n int) map[string]V {
	if n = Of(len(of), n); n >= len(of) {
		return of
	}
	names, some := slices.Sorted(maps.Keys(of)), map[string]V{}
	for i := range n {
		name := names[i*len(names)/n]
		some[name] = of[name]
	}
	return some
}

// SomeOf is Some for what has no names.
func SomeOf[V any](of []V, n int) (some []V) {
	if n = Of(len(of), n); n >= len(of) {
		return of
	}
	for i := range n {
		some = append(some, of[i*len(of)/n])
	}
	return some
}

// Across returns with which of the others one of the rows of a matrix is tried: each of the others with some row, and each row with some of the others;
// with `make test-real`, each with each.
func Across[R, V any](row string, rows map[string]R, others map[string]V) map[string]V {
	if IsWhole() {
		return others
	}
	at, some := slices.Index(slices.Sorted(maps.Keys(rows)), row), map[string]V{}
	for i, name := range slices.Sorted(maps.Keys(others)) {
		if i%len(rows) == at%len(others) {
			some[name] = others[name]
		}
	}
	return some
}
