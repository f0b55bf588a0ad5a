// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// process is a running manager.
type process struct {
	said *journal
	// gone is closed when the process has ended, with err as its exit. One that is kept is gone when it was told to end.
	gone chan struct{}
	err  error

	mu      sync.Mutex
	command *exec.Cmd
	told    bool // a signal was sent
	kept    bool
	ends    []error // of one that is kept, each time that it ended by itself
}

// start runs the manager as a process of its own, for one namespace.
func start(t *testing.T, namespace string, flags ...string) *process {
	t.Helper()
	return startWith(t, server.Kubeconfig, namespace, flags...)
}

// startWith runs a manager that reaches the API server by a kubeconfig. It ends with the test.
func startWith(t *testing.T, kubeconfig []byte, namespace string, flags ...string) *process {
	t.Helper()
	return startCommand(t, kubeconfig, false, namespace, flags...)
}

// keepWith is startWith for one that is started again when it ends by itself, as the kubelet does it: on a machine that has no time for it, it may lose its Lease.
func keepWith(t *testing.T, kubeconfig []byte, namespace string, flags ...string) *process {
	t.Helper()
	return startCommand(t, kubeconfig, true, namespace, flags...)
}

func startCommand(t *testing.T, kubeconfig []byte, kept bool, namespace string, flags ...string) *process {
	t.Helper()
	p, err := launchKept(kubeconfigFile(t, kubeconfig), kept, namespace, flags...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		select {
		case <-p.gone:
			if t.Failed() && !p.told {
				t.Logf("manager %d has ended by itself: %v", p.pid(), p.err)
			}
		default:
		}
		p.kill()
		for _, err := range p.ends {
			t.Logf("manager %d was started again after one that ended by itself: %v", p.pid(), err)
		}
		if t.Failed() {
			t.Logf("manager %d said:\n%s", p.pid(), p.said)
		}
	})
	return p
}

// kubeconfigFile writes a kubeconfig to a file that is there until the test ends.
func kubeconfigFile(t *testing.T, kubeconfig []byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, kubeconfig, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// mostRestarts is how often a process that is kept is started again: one that ends more often has another reason than a busy machine.
const mostRestarts = 5

// launch starts a manager that reaches the API server by the kubeconfig in a file. Kill it.
func launch(kubeconfigFile, namespace string, flags ...string) (*process, error) {
	return launchKept(kubeconfigFile, false, namespace, flags...)
}

func launchKept(kubeconfigFile string, kept bool, namespace string, flags ...string) (*process, error) {
	flags = append([]string{
		"--kubeconfig=" + kubeconfigFile, "--namespace=" + namespace, "--allow-cidr=127.0.0.0/8",
		"--metrics-bind-address=0", "--health-probe-bind-address=0", "--feeds-bind-address=0", "--dashboard-bind-address=0",
		"--workers=8", "--poll-workers=2",
	}, flags...)
	p := &process{said: &journal{changed: make(chan struct{})}, gone: make(chan struct{}), kept: kept}
	if err := p.begin(flags); err != nil {
		return nil, err
	}
	go func() {
		defer close(p.gone)
		for {
			if p.err = p.command.Wait(); !p.again(flags) {
				return
			}
		}
	}()
	return p, nil
}

// begin starts the program.
func (p *process) begin(flags []string) error {
	p.command = exec.CommandContext(context.Background(), binary, flags...)
	p.command.Env = append(os.Environ(), "GOMAXPROCS=2") // many run at the same time
	p.command.Stdout, p.command.Stderr = p.said, p.said
	return p.command.Start()
}

// again starts one that is kept again, if it has ended by itself with an error that it says; not one that has panicked or was killed.
func (p *process) again(flags []string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.kept || p.told || p.command.ProcessState.ExitCode() != 1 || len(p.ends) == mostRestarts {
		return false
	}
	p.ends = append(p.ends, p.err)
	p.said.anew()
	return p.begin(flags) == nil
}

// restarts is how often it was started again.
func (p *process) restarts() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.ends)
}

func (p *process) pid() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.command.Process.Pid
}

// send sends a signal. It is not started again then.
func (p *process) send(signal syscall.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.told = true
	return p.command.Process.Signal(signal)
}

// kill ends the process, also one that is frozen or has ended, and waits for it to be gone.
func (p *process) kill() {
	_ = p.send(syscall.SIGKILL)
	<-p.gone
}

// signal sends a signal.
func (p *process) signal(t *testing.T, signal syscall.Signal) {
	t.Helper()
	if err := p.send(signal); err != nil {
		t.Fatal(err)
	}
}

// wait returns when the process is gone, with its exit.
func (p *process) wait(t *testing.T) error {
	t.Helper()
	select {
	case <-p.gone:
	case <-time.After(patience):
		t.Fatalf("manager %d is still there after %s", p.pid(), patience)
	}
	return p.err
}

// end sends a signal and waits for the process to be gone.
func (p *process) end(t *testing.T, signal syscall.Signal) {
	t.Helper()
	p.signal(t, signal)
	if err := p.wait(t); signal == syscall.SIGTERM && err != nil {
		t.Errorf("a manager that was told to stop ended with %v", err)
	}
}

// journal is what a process says.
type journal struct {
	mu      sync.Mutex
	text    bytes.Buffer
	begins  int           // where in it the present one begins of those that were started
	changed chan struct{} // closed and replaced when something is added
}

func (j *journal) Write(said []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	close(j.changed)
	j.changed = make(chan struct{})
	return j.text.Write(said)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

// anew is called before the process is started again.
func (j *journal) anew() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.begins = j.text.Len()
}

// await returns when the words are there, said by the present one of those that were started.
func (j *journal) await(t *testing.T, words string) {
	t.Helper()
	late := time.After(patience)
	for {
		j.mu.Lock()
		said, changed := j.text.String()[j.begins:], j.changed
		j.mu.Unlock()
		if strings.Contains(said, words) {
			return
		}
		select {
		case <-changed:
		case <-late:
			t.Fatalf("waited %s in vain for the manager to say %q", patience, words)
		}
	}
}
