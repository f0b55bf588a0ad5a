// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Versions of what the control plane is made of, such as v1.37.1.
type Versions struct {
	Kubernetes string
	Etcd       string
}

// ReadVersions takes the versions from the go.mod of the module that pins them, so that they
// stand in one place only.
func ReadVersions(module string) (Versions, error) {
	file, err := os.Open(filepath.Join(module, "go.mod"))
	if err != nil {
		return Versions{}, fmt.Errorf("read the versions of the control plane: %w", err)
	}
	defer file.Close() //nolint:errcheck // read only

	var versions Versions
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		// "k8s.io/kubernetes v1.37.1 // indirect", alone or after "require".
		fields := strings.Fields(strings.TrimPrefix(strings.TrimSpace(lines.Text()), "require "))
		if len(fields) < 2 || !strings.HasPrefix(fields[1], "v") {
			continue
		}
		switch fields[0] {
		case "k8s.io/kubernetes":
			versions.Kubernetes = fields[1]
		case "go.etcd.io/etcd/server/v3":
			versions.Etcd = fields[1]
		}
	}
	if err := lines.Err(); err != nil {
		return Versions{}, fmt.Errorf("read the versions of the control plane: %w", err)
	}
	if versions.Kubernetes == "" || versions.Etcd == "" {
		return Versions{}, fmt.Errorf("%s requires no k8s.io/kubernetes or no go.etcd.io/etcd/server/v3", file.Name())
	}
	return versions, nil
}
