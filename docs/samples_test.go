// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/feed-operator/feed-operator/internal/apitest"
)

// R6.1: `kubectl apply -f config/samples` works on a cluster that has the CRDs, and says nothing but
// what it has made. It runs before the parallel tests, because the samples name their namespace.
func TestSamplesAreApplied(t *testing.T) {
	root := apitest.ModuleRoot(t)
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, server.Kubeconfig, 0o600); err != nil {
		t.Fatal(err)
	}
	kubectl := func(arguments ...string) string {
		t.Helper()
		out, err := exec.CommandContext(context.WithoutCancel(t.Context()), filepath.Join(server.Assets, "kubectl"), append([]string{"--kubeconfig=" + file}, arguments...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	samples := filepath.Join(root, "config", "samples")
	said := kubectl("apply", "--validate=strict", "-f", samples)
	t.Cleanup(func() { kubectl("delete", "--ignore-not-found", "-f", samples) })
	made := 0
	for line := range strings.Lines(said) {
		made++
		if !strings.HasSuffix(line, " created\n") {
			t.Errorf("kubectl says: %s", line)
		}
	}
	if made != 15 {
		t.Errorf("%d objects were made:\n%s", made, said)
	}
	// Applying them again leaves the Secrets as a person has filled them.
	kubectl("patch", "secret", "mastodon", "--type=merge", "--patch", `{"stringData":{"accessToken":"theirs"}}`)
	kubectl("apply", "-f", samples)
	if kept := kubectl("get", "secret", "mastodon", "-o", "jsonpath={.data.accessToken}"); kept != "dGhlaXJz" {
		t.Errorf("the token is %q", kept)
	}
}
