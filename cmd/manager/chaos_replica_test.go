// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// keptReplica is a replica of the operator that is begun again when it ends by itself, as the kubelet does it.
type keptReplica struct {
	name       string
	town       *town
	kubeconfig string
	flags      []string
	kept       sync.WaitGroup

	mu      sync.Mutex
	wanted  bool
	changed chan struct{} // closed and replaced when wanted changes
	over    bool
	running *process // nil: it has ended
	all     []*process
}

// keepReplica keeps a replica from begin on until the test ends.
func keepReplica(t *testing.T, n *town, name, kubeconfig string, flags ...string) *keptReplica {
	t.Helper()
	r := &keptReplica{name: name, town: n, kubeconfig: kubeconfig, flags: flags, changed: make(chan struct{})}
	r.kept.Go(r.keep)
	t.Cleanup(func() {
		r.mu.Lock()
		r.over = true
		if r.running != nil {
			_ = r.running.command.Process.Kill()
		}
		r.mu.Unlock()
		r.want(false)
		r.kept.Wait()
	})
	return r
}

// keep starts the replica as often as it is wanted and not there.
func (r *keptReplica) keep() {
	const backoff = 500 * time.Millisecond
	for {
		r.mu.Lock()
		wanted, over, changed := r.wanted, r.over, r.changed
		r.mu.Unlock()
		switch {
		case over:
			return
		case !wanted:
			<-changed
			continue
		}
		if !r.run() {
			return
		}
		select {
		case <-time.After(backoff):
		case <-changed:
		}
	}
}

// run starts the replica, and returns when it has ended; false: there is no more to be done.
func (r *keptReplica) run() bool {
	r.mu.Lock()
	if r.over {
		r.mu.Unlock()
		return false
	}
	running, err := launch(r.kubeconfig, r.town.namespace, r.flags...)
	if err != nil {
		r.mu.Unlock()
		r.town.fail("start replica %s: %v", r.name, err)
		return false
	}
	r.running, r.all = running, append(r.all, running)
	r.mu.Unlock()
	<-running.gone
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running = nil
	r.town.chronicle.hiccup()
	r.town.chronicle.leave()
	if running.err != nil || r.town.apiDisturbed.Load() {
		r.town.chronicle.lose()
	}
	how := "as it was told to"
	if r.wanted && !r.over {
		how = fmt.Sprintf("by itself, %v: %s", running.err, lastLine(running.said.String()))
	}
	r.town.chronicle.note("", "replica %s (process %d) has ended, %s", r.name, running.command.Process.Pid, how)
	return true
}

// begin has the replica run from now on.
func (r *keptReplica) begin() { r.want(true) }

// end has the replica end by a signal, and not come back until it is begun again.
func (r *keptReplica) end(signal syscall.Signal) {
	r.want(false)
	r.town.chronicle.hiccup()
	r.signal(signal)
	if r.town.apiDisturbed.Load() {
		r.town.chronicle.lose()
	}
}

// freeze stops the replica where it is.
func (r *keptReplica) freeze() string {
	r.town.chronicle.hiccup()
	r.town.chronicle.leave()
	return r.signal(syscall.SIGSTOP)
}

// thaw lets it go on.
func (r *keptReplica) thaw() string { return r.signal(syscall.SIGCONT) }

func (r *keptReplica) signal(signal syscall.Signal) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.running == nil || r.running.command.Process.Signal(signal) != nil {
		return "it is not there"
	}
	return fmt.Sprintf("process %d", r.running.command.Process.Pid)
}

func (r *keptReplica) want(wanted bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wanted = wanted
	close(r.changed)
	r.changed = make(chan struct{})
}

// ended reports whether the replica is not there.
func (r *keptReplica) ended() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.running == nil
}

// processes are all that there ever were.
func (r *keptReplica) processes() []*process {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]*process(nil), r.all...)
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndex(text, "\n")+1:]
}
