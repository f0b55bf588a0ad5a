// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// impatience has tests on an API server wait less long for what never comes, as it does where something is broken. They run so without
// a mutation too, which shows that it is enough.
var impatience = mutation{
	breaks: "the patience of tests",
	file:   "internal/apitest/apitest.go",
	old:    "const patience = 2 * time.Minute",
	now:    "const patience = 25 * time.Second",
}

// longest is how long the tests of one run may take. Those that hang are said to, and have ended by themselves long before.
const longest = 10 * time.Minute

// tester runs tests of a tree.
type tester struct {
	tree    tree
	scratch string // a folder for what takes the place of files
	race    bool
}

// test runs tests of a package with some mutations.
func (t tester) test(ctx context.Context, in string, names []string, with ...mutation) (*verdicts, error) {
	if !t.race { // with that, all takes its time
		with = append(with, impatience)
	}
	overlay, err := t.overlay(with)
	if err != nil {
		return nil, err
	}
	arguments := []string{
		"test", "-json", "-vet=off", "-count=1", "-ldflags=-s -w", "-overlay", overlay, fmt.Sprintf("-race=%t", t.race),
		"-timeout", longest.String(), "-run", "^(" + strings.Join(names, "|") + ")$", "./" + in,
	}
	bounded, cancel := context.WithTimeout(ctx, 2*longest) // to build it takes time too
	defer cancel()
	//nolint:gosec // the arguments are those of the list
	command := exec.CommandContext(bounded, "go", arguments...)
	command.Dir = string(t.tree)
	// What a property test finds is not made smaller, and not written into the tree.
	command.Env = append(os.Environ(), "RAPID_NOFAILFILE=true", "RAPID_SHRINKTIME=1ms")
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) } // so that the tests stop their API server
	command.WaitDelay = time.Minute
	var complaints bytes.Buffer
	command.Stderr = &complaints
	output, err := command.Output()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	found := judge(output)
	if err != nil && found.silent() {
		return nil, fmt.Errorf("go test: %w: %s", err, complaints.String())
	}
	return found, nil
}

// overlay writes down for go test what takes the place of files, and returns where.
func (t tester) overlay(with []mutation) (string, error) {
	replaced := map[string]string{}
	for i, m := range with {
		text, err := t.tree.mutated(m)
		if err != nil {
			return "", err
		}
		instead := filepath.Join(t.scratch, fmt.Sprintf("%d-%s", i, filepath.Base(m.file)))
		if err := os.WriteFile(instead, []byte(text), 0o600); err != nil {
			return "", err
		}
		replaced[t.tree.path(m.file)] = instead
	}
	text, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		return "", err
	}
	name := filepath.Join(t.scratch, "overlay.json")
	return name, os.WriteFile(name, text, 0o600)
}

// runUnmutated runs all tests of some mutations without these, and returns those that pass, by package. It says which do not.
func (t tester) runUnmutated(ctx context.Context, of []mutation) (map[string][]string, error) {
	named := map[string][]string{}
	var packages []string
	for _, m := range of {
		if named[m.in] == nil {
			packages = append(packages, m.in)
		}
		named[m.in] = append(named[m.in], m.tests...)
	}
	sound := map[string][]string{}
	for _, in := range packages {
		slices.Sort(named[in])
		names := slices.Compact(named[in])
		found, err := t.test(ctx, in, names)
		if err != nil {
			return nil, err
		}
		if found.notBuilt != "" {
			return nil, fmt.Errorf("%s does not compile without a mutation:\n%s", in, found.notBuilt)
		}
		if !found.begun() {
			return nil, fmt.Errorf("no test of %s was begun:\n%s", in, found.said)
		}
		for _, name := range names {
			if found.passed[name] {
				sound[in] = append(sound[in], name)
				continue
			}
			fmt.Printf("RED          %s: %s does not pass without a mutation, and proves nothing\n", in, name)
		}
	}
	return sound, nil
}

// try runs the tests of a mutation, as far as they pass without it.
func (t tester) try(ctx context.Context, m mutation, sound map[string][]string) (finding, error) {
	names := slices.DeleteFunc(slices.Clone(m.tests), func(name string) bool { return !slices.Contains(sound[m.in], name) })
	if len(names) == 0 {
		return finding{why: "none of its tests passes without it"}, nil
	}
	found, err := t.test(ctx, m.in, names, m)
	if err != nil {
		return finding{}, err
	}
	return found.of(names), nil
}
