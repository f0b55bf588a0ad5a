// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tooltest gives tests the programs of others that make builds into bin/tools, such as helm, and runs them; and the operator's own. It knows
// where the root of the repository is.
package tooltest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Path is where a program or folder of tools is: where the environment variable of its name says, as HELM does of helm, or what make has built last. It
// is empty where there is none.
func Path(t *testing.T, name string) string {
	t.Helper()
	if named := os.Getenv(strings.ToUpper(strings.ReplaceAll(name, "-", "_"))); named != "" {
		return named
	}
	var newest string
	var built int64
	found, err := filepath.Glob(filepath.Join(ModuleRoot(t), "bin", "tools", name+"-[0-9]*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range found {
		if info, err := os.Stat(path); err == nil && info.ModTime().UnixNano() > built && filepath.Ext(path) != ".partial" {
			newest, built = path, info.ModTime().UnixNano()
		}
	}
	return newest
}

// Need is Path for a test that makes no sense without: it is skipped where there is none. `make test` always builds it.
func Need(t *testing.T, name string) string {
	t.Helper()
	path := Path(t, name)
	if path == "" {
		t.Skipf("there is no %s: run the tests by `make test`, or `make test-tools` once before", name)
	}
	return path
}

// Run runs a program that make has built, and returns what it has printed. It fails the test where that ends with an error.
func Run(t *testing.T, name string, arguments ...string) string {
	t.Helper()
	out, err := Try(t, name, "", arguments...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Try runs a program that make has built, with a text as its input, and returns what it has printed. An error has what it complained of.
func Try(t *testing.T, name, input string, arguments ...string) (string, error) {
	t.Helper()
	command := exec.CommandContext(t.Context(), Need(t, name), arguments...) //nolint:gosec // a tool that make has built
	var out, complaints bytes.Buffer
	command.Stdin, command.Stdout, command.Stderr = strings.NewReader(input), &out, &complaints
	// Nothing of the person who runs the tests: neither their registries, nor their clusters.
	home := t.TempDir()
	command.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_CACHE_HOME="+home, "XDG_DATA_HOME="+home, "KUBECONFIG=", "DOCKER_CONFIG="+home,
		"GOGC=400") // they end in a moment, and take memory rather than time
	if err := command.Run(); err != nil {
		return out.String(), fmt.Errorf("%s %s: %w: %s", name, strings.Join(arguments, " "), err, complaints.String())
	}
	return out.String(), nil
}
