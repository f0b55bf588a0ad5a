// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Each threat that the threat model speaks of is proven by a test that there is.
func TestEachThreatHasATest(t *testing.T) {
	t.Parallel()
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	there := map[string]bool{}
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != ".." && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "bin"):
			return filepath.SkipDir
		case strings.HasSuffix(path, "_test.go"):
			for _, match := range declared.FindAllStringSubmatch(read(t, path), -1) {
				there[match[1]] = true
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
			if name = strings.TrimSpace(name); !there[name] {
				t.Errorf("who tries to %s: there is no test %q", threat[0], name)
			}
		}
	}
	if least := 30; len(threats) < least {
		t.Errorf("only %d threats were found", len(threats))
	}
}
