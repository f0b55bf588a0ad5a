// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command mutations breaks the exactly-once core in one place at a time, and says which test fails for it. What the tests prove
// is shown by that, and stays proven: a mutation that no test notices is an error.
//
// The list is in list_*.go, one file for each area. A mutation replaces a piece of one file; the working tree is not touched (go test
// -overlay). The tests that are named for it are run once without any mutation before, and what fails there proves nothing.
//
// It knows text and test results. It must never need a change in the code that it breaks.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"syscall"
)

func main() {
	only := flag.String("run", "", "only mutations whose area, file or name match this regular expression")
	race := flag.Bool("race", false, "use the race detector, which takes several times as long")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	missed, err := run(ctx, *only, *race)
	stop()
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "mutations:", err)
		os.Exit(2)
	case missed > 0:
		os.Exit(1)
	}
}

// run tries the mutations that match, prints a line for each, and returns of how many it is not shown that a test fails.
func run(ctx context.Context, only string, race bool) (missed int, err error) {
	matches, err := regexp.Compile(only)
	if err != nil {
		return 0, err
	}
	tree, err := findTree()
	if err != nil {
		return 0, err
	}
	var chosen []mutation
	for _, m := range mutations() {
		if matches.MatchString(string(m.area) + ": " + m.file + ": " + m.breaks) {
			chosen = append(chosen, m)
		}
	}
	if len(chosen) == 0 {
		return 0, fmt.Errorf("no mutation matches %q", only)
	}
	known := map[string]map[string]bool{}
	for _, m := range chosen {
		if err := tree.check(m, known); err != nil {
			return 0, err
		}
	}
	scratch, err := os.MkdirTemp("", "mutations")
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	tests := tester{tree: tree, scratch: scratch, race: race}
	sound, err := tests.runUnmutated(ctx, chosen)
	if err != nil {
		return 0, err
	}
	for _, m := range chosen {
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		found, err := tests.try(ctx, m, sound)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", m.breaks, err)
		}
		fmt.Printf("%-12s %s: %s: %s\n", found.word(), m.area, m.breaks, found.why)
		if !found.caught {
			missed++
		}
	}
	fmt.Printf("%d mutations, %d of them caught\n", len(chosen), len(chosen)-missed)
	return missed, nil
}
