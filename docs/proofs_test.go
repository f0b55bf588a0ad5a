// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// Each threat that the threat model speaks of is proven by a test that there is.
func TestEachThreatHasATest(t *testing.T) {
	t.Parallel()
	areProven(t, rows(t, "threat-model.md", "tries to", "what stops it", "proof"), 30)
}

// R5.2, R5.3, R5.4, R5.5: whatever can be watched is proven by a test that there is.
func TestWhateverCanBeWatchedHasATest(t *testing.T) {
	t.Parallel()
	areProven(t, rows(t, "development.md", "what can be watched", "proof"), 30)
}

// areProven checks that the last cell of each row names tests that there are.
func areProven(t *testing.T, rows [][]string, least int) {
	t.Helper()
	there := allTests(t)
	for _, row := range rows {
		if len(row) != len(rows[0]) {
			t.Errorf("a row has %d cells: %q", len(row), row)
			continue
		}
		for name := range strings.SplitSeq(row[len(row)-1], ",") {
			if name = strings.TrimSpace(name); !there[name] || !strings.HasPrefix(name, "Test") && !strings.HasPrefix(name, "Fuzz") {
				t.Errorf("%s: there is no test %q", row[0], name)
			}
		}
	}
	if len(rows) < least {
		t.Errorf("only %d rows were found", len(rows))
	}
}

// allTests are the functions that are declared in files of tests.
func allTests(t *testing.T) map[string]bool {
	t.Helper()
	there := map[string]bool{}
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != ".." && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "bin"):
			return filepath.SkipDir
		case strings.HasSuffix(path, "_test.go"):
			for line := range strings.Lines(read(t, path)) {
				if declared, is := strings.CutPrefix(line, "func "); is {
					name, _, _ := strings.Cut(declared, "(")
					there[name] = true
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return there
}
