// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"os/exec"
	"strings"
	"testing"
)

// Anybody can use the types without the operator and its libraries.
func TestTheTypesBringNoClientAlong(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	const own = "github.com/feed-operator/feed-operator/"
	for dependency := range strings.Lines(string(out)) {
		dependency = strings.TrimSpace(dependency)
		foreign := strings.HasPrefix(dependency, own) && dependency != own+"api/v1alpha1"
		for _, library := range []string{"k8s.io/client-go", "k8s.io/api/", "k8s.io/apiextensions-apiserver", "sigs.k8s.io/controller-runtime"} {
			foreign = foreign || strings.HasPrefix(dependency+"/", strings.TrimSuffix(library, "/")+"/")
		}
		if foreign {
			t.Errorf("the package depends on %s", dependency)
		}
	}
}
