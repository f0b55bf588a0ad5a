// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/feed-operator/feed-operator/hack/dev/child"
)

// managerGrace is how long the operator may take to end by itself.
const managerGrace = 30 * time.Second

// managerProcess is the operator's own program, as it is deployed.
type managerProcess struct {
	*child.Process
	program string
}

// startManager starts the program on one namespace.
func startManager(p *plane, o options, namespace string, flags ...string) (*managerProcess, error) {
	process, err := child.Start("the operator", o.manager, append([]string{
		"--kubeconfig=" + p.cluster.Kubeconfig(), "--namespace=" + namespace, "--allow-cidr=" + loopback.String(), "--allow-http",
		"--feeds-bind-address=127.0.0.1:0", "--metrics-bind-address=127.0.0.1:0", "--health-probe-bind-address=127.0.0.1:0",
	}, flags...), filepath.Join(p.dir, "manager.log"))
	if err != nil {
		return nil, err
	}
	return &managerProcess{Process: process, program: filepath.Base(o.manager)}, nil
}

// stop ends it in order, and waits.
func (m *managerProcess) stop(ctx context.Context) { m.Stop(context.WithoutCancel(ctx), managerGrace) }

// memory reads how much it holds.
func (m *managerProcess) memory() (memory, error) {
	read, err := memoryOfChild(m.program)
	return read, m.explain(err)
}

// cpu reads how long it has used a core.
func (m *managerProcess) cpu() (time.Duration, error) {
	used, err := cpuOfChild(m.program)
	return used, m.explain(err)
}

// explain adds to an error what the operator said last.
func (m *managerProcess) explain(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w; the operator said:\n%s", err, m.Tail(12))
}
