// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package child

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// The test binary starts itself as the owner of a child, kills the owner outright, and looks for the child.
func TestAChildDiesWithItsKilledOwner(t *testing.T) {
	if log := os.Getenv("CHILD_TEST_OWNER_LOG"); log != "" {
		if _, err := Start("the child", "/bin/sh", []string{"-c", "echo $$; while :; do sleep 0.05; done"}, log); err != nil {
			t.Fatal(err)
		}
		select {}
	}
	t.Parallel()
	log := filepath.Join(t.TempDir(), "child.log")
	owner := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestAChildDiesWithItsKilledOwner$")
	owner.Env = append(os.Environ(), "CHILD_TEST_OWNER_LOG="+log)
	if err := owner.Start(); err != nil {
		t.Fatal(err)
	}
	pid := 0
	for pid == 0 && t.Context().Err() == nil {
		text, _ := os.ReadFile(log)
		pid, _ = strconv.Atoi(strings.TrimSpace(string(text)))
	}
	if err := owner.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = owner.Wait()
	for alive(pid) {
		if t.Context().Err() != nil {
			t.Fatal("the child lives on")
		}
	}
}

// alive reports whether a process exists and is no zombie that only waits to be collected.
func alive(pid int) bool {
	status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(status), ") ")
	return !strings.HasPrefix(rest, "Z")
}
