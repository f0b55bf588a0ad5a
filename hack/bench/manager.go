// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
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
	// profiles is where it serves its profiles, and folder where they are put; both are empty where none is asked for.
	profiles, folder string
}

// startManager starts the program on one namespace.
func startManager(ctx context.Context, p *plane, o options, namespace string, flags ...string) (*managerProcess, error) {
	m := &managerProcess{program: filepath.Base(o.manager), folder: o.profile}
	if m.folder != "" {
		var err error
		if m.profiles, err = freeAddress(ctx); err != nil {
			return nil, err
		}
		flags = append(flags, "--pprof-bind-address="+m.profiles)
	}
	process, err := child.Start("the operator", o.manager, append([]string{
		"--kubeconfig=" + p.cluster.Kubeconfig(), "--namespace=" + namespace, "--allow-cidr=" + loopback.String(), "--allow-http",
		"--feeds-bind-address=127.0.0.1:0", "--metrics-bind-address=127.0.0.1:0", "--health-probe-bind-address=127.0.0.1:0",
	}, flags...), filepath.Join(p.dir, "manager.log"))
	if err != nil {
		return nil, err
	}
	m.Process = process
	return m, nil
}

// freeAddress is an address of this machine where nobody listens.
func freeAddress(ctx context.Context) (string, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}

// stop ends it in order, and waits.
func (m *managerProcess) stop(ctx context.Context) { m.Stop(context.WithoutCancel(ctx), managerGrace) }

// readerMemory reads how much the process holds that it has started to read PDF documents.
func (m *managerProcess) readerMemory() (memory, error) {
	read, err := memoryOfReader(m.program, m.PID())
	return read, m.explain(err)
}

// memory reads how much it holds.
func (m *managerProcess) memory() (memory, error) {
	read, err := memoryOf(m.PID())
	return read, m.explain(err)
}

// cpu reads how long it has used a core.
func (m *managerProcess) cpu() (time.Duration, error) {
	used, err := cpuOf(m.PID())
	return used, m.explain(err)
}

// explain adds to an error what the operator said last.
func (m *managerProcess) explain(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w; the operator said:\n%s", err, m.Tail(12))
}

// profile begins a profile of the process, if that was asked for, over a window. The returned function waits for its end.
func (m *managerProcess) profile(ctx context.Context, name string, window time.Duration) (end func(), err error) {
	if m.folder == "" {
		return func() {}, nil
	}
	if err := os.MkdirAll(m.folder, 0o750); err != nil { //nolint:gosec // the flag of who measures
		return nil, err
	}
	file, err := os.Create(filepath.Join(m.folder, name+".cpu.pprof")) //nolint:gosec // the flag of who measures
	if err != nil {
		return nil, err
	}
	url := fmt.Sprintf("http://%s/debug/pprof/profile?seconds=%d", m.profiles, int(window.Seconds()))
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil) //nolint:gosec // the operator that this has started
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	done := make(chan error, 1)
	go func() {
		response, err := (&http.Client{}).Do(request) //nolint:gosec // the same
		if err == nil {
			_, err = io.Copy(file, response.Body)
			err = errors.Join(err, response.Body.Close())
		}
		done <- errors.Join(err, file.Close())
	}()
	return func() {
		if err := <-done; err != nil {
			progress("The profile %s is not whole: %v", file.Name(), err)
		}
	}, nil
}
