// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tooltest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// Root is the folder of the project's go.mod.
func Root() (string, error) {
	folder, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(folder, "go.mod")); err == nil {
			return folder, nil
		}
		parent := filepath.Dir(folder)
		if parent == folder {
			return "", fmt.Errorf("no go.mod above %s", folder)
		}
		folder = parent
	}
}

// ModuleRoot is Root for a test, which fails where there is none.
func ModuleRoot(t *testing.T) string {
	t.Helper()
	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	return root
}
