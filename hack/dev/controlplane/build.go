// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// heartbeat is how often a long build says that it is still at it.
const heartbeat = 30 * time.Second

var packages = map[string]string{
	etcd:              "go.etcd.io/etcd/server/v3",
	apiServer:         "k8s.io/kubernetes/cmd/kube-apiserver",
	controllerManager: "k8s.io/kubernetes/cmd/kube-controller-manager",
	kubectl:           "k8s.io/kubernetes/cmd/kubectl",
}

// build compiles what is missing. The Go build cache makes a second time quick.
func (i installation) build(ctx context.Context, partial string) error {
	missing := i.binaries.missing()
	if len(missing) == 0 {
		return nil
	}
	i.say("Building Kubernetes %s and etcd %s from their Go modules. This takes about 8 minutes the first time.",
		i.versions.Kubernetes, i.versions.Etcd)
	for number, program := range missing {
		start := time.Now()
		i.say("  [%d/%d] %s …", number+1, len(missing), program)
		file := filepath.Join(partial, program)
		if err := i.compile(ctx, program, file, start); err != nil {
			return err
		}
		if err := i.place(file, program, "built"); err != nil {
			return err
		}
		i.say("  [%d/%d] %s built in %s.", number+1, len(missing), program, elapsed(start))
	}
	return nil
}

func (i installation) compile(ctx context.Context, program, file string, start time.Time) error {
	var output bytes.Buffer
	// The flags decide whether the build cache is hit: -trimpath and CGO_ENABLED=0 make the result
	// the same on every machine.
	command := exec.CommandContext(ctx, "go", "build", "-trimpath", //nolint:gosec // the values come from our own go.mod
		"-ldflags", i.linkerFlags(program), "-o", file, packages[program])
	command.Dir = i.module
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	command.Stdout, command.Stderr = &output, &output
	// The compilers that go starts are in its group: they end with it.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGTERM) }
	command.WaitDelay = 10 * time.Second

	done := make(chan error, 1)
	go func() { done <- command.Run() }()
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for {
		select {
		case <-beat.C:
			i.say("        %s: %s so far", program, elapsed(start))
		case err := <-done:
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				return fmt.Errorf("build %s: %w\n%s", program, err, strings.TrimSpace(output.String()))
			}
			return nil
		}
	}
}

// linkerFlags makes the programs say their version: without it kube-apiserver refuses to start.
func (i installation) linkerFlags(program string) string {
	flags := "-s -w"
	if program == etcd {
		return flags
	}
	const variable = " -X k8s.io/component-base/version."
	major, minor, _ := strings.Cut(strings.TrimPrefix(i.versions.Kubernetes, "v"), ".")
	minor, _, _ = strings.Cut(minor, ".")
	return flags + variable + "gitVersion=" + i.versions.Kubernetes + variable + "gitMajor=" + major + variable + "gitMinor=" + minor
}
