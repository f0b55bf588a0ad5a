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
	threats := rows(t, "threat-model.md", "tries to", "what stops it", "proof")
	for _, threat := range threats {
		if len(threat) != 3 {
			t.Errorf("a row has %d cells: %q", len(threat), threat)
			continue
		}
		for name := range strings.SplitSeq(threat[2], ",") {
			if name = strings.TrimSpace(name); !there[name] || !strings.HasPrefix(name, "Test") && !strings.HasPrefix(name, "Fuzz") {
				t.Errorf("who tries to %s: there is no test %q", threat[0], name)
			}
		}
	}
	if least := 30; len(threats) < least {
		t.Errorf("only %d threats were found", len(threats))
	}
}
