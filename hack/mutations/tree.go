// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// tree is the working tree, by its root.
type tree string

// findTree finds the tree that the current folder is in.
func findTree() (tree, error) {
	folder, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(folder, "go.mod")); err == nil {
			return tree(folder), nil
		}
		parent := filepath.Dir(folder)
		if parent == folder {
			return "", errors.New("there is no go.mod in the current folder or above it")
		}
		folder = parent
	}
}

// path is that of a file which is named relative to the root.
func (t tree) path(file string) string { return filepath.Join(string(t), filepath.FromSlash(file)) }

// mutated is the text of the file of a mutation with that in it.
func (t tree) mutated(m mutation) (string, error) {
	source, err := os.ReadFile(t.path(m.file))
	if err != nil {
		return "", err
	}
	switch found := strings.Count(string(source), m.old); {
	case found != 1:
		return "", fmt.Errorf("%q: %s has this %d times, and must have it once:\n%s", m.breaks, m.file, found, m.old)
	case m.old == m.now:
		return "", fmt.Errorf("%q changes nothing", m.breaks)
	}
	return strings.Replace(string(source), m.old, m.now, 1), nil
}

// check reports what of a mutation is not true of the tree any more. The tests of a package are read once, and then known.
func (t tree) check(m mutation, known map[string]map[string]bool) error {
	if _, err := t.mutated(m); err != nil {
		return err
	}
	if len(m.tests) == 0 {
		return fmt.Errorf("%q names no test", m.breaks)
	}
	if known[m.in] == nil {
		there, err := t.testsOf(m.in)
		if err != nil {
			return err
		}
		known[m.in] = there
	}
	for _, test := range m.tests {
		if !known[m.in][test] {
			return fmt.Errorf("%q: there is no %s in %s", m.breaks, test, m.in)
		}
	}
	return nil
}

// testsOf are the tests of a package.
func (t tree) testsOf(in string) (map[string]bool, error) {
	files, err := filepath.Glob(filepath.Join(t.path(in), "*_test.go"))
	if err != nil {
		return nil, err
	}
	tests := map[string]bool{}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(source)) {
			if declared, is := strings.CutPrefix(line, "func Test"); is {
				name, _, _ := strings.Cut(declared, "(")
				tests["Test"+name] = true
			}
		}
	}
	return tests, nil
}
