// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tooltest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Manager is where the operator's program is, for tests that run it as a process: where MANAGER says, as `make test` builds it once for all packages; else
// it is built into the folder.
func Manager(folder string) (string, error) {
	if built := os.Getenv("MANAGER"); built != "" {
		_, err := os.Stat(built) //nolint:gosec // as make says; and looked at, so that the results of tests are kept only while it is the same
		return built, err
	}
	root, err := Root()
	if err != nil {
		return "", err
	}
	program := filepath.Join(folder, "manager")
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", program, "./cmd/manager") //nolint:gosec,noctx // our own program, for all tests of this one
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the manager: %w\n%s", err, out)
	}
	return program, nil
}
