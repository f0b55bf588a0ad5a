// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package child runs processes that do not outlive this one: each is stopped in order when its
// owner says so, and where the operating system can be asked to (Linux), it is killed with us
// when we are killed.
//
// It knows nothing of what the processes do.
package child

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Process is a running program whose output goes to a file.
type Process struct {
	name    string
	logFile string
	command *exec.Cmd
	done    chan struct{}
	// failure is why it ended; written before done is closed.
	failure error
}

// forks runs functions on one thread that lives as long as this program. Linux ties "kill me when
// my parent dies" to the thread that started the process, and Go ends threads when it likes.
var forks = sync.OnceValue(func() chan<- func() {
	work := make(chan func())
	go func() {
		runtime.LockOSThread()
		for fork := range work {
			fork()
		}
	}()
	return work
})

// Start runs a program with its output in logFile, which is emptied first. The name is for people.
func Start(name, path string, args []string, logFile string) (*Process, error) {
	if err := os.MkdirAll(filepath.Dir(logFile), 0o750); err != nil { //nolint:gosec // the developer says where
		return nil, fmt.Errorf("make the folder of the log of %s: %w", name, err)
	}
	output, err := os.OpenFile(logFile, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600) //nolint:gosec // as above
	if err != nil {
		return nil, fmt.Errorf("open the log of %s: %w", name, err)
	}
	// The child has its own descriptor of the log once it is started.
	defer output.Close() //nolint:errcheck // nothing was written through this one

	command := exec.Command(path, args...) //nolint:gosec,noctx // whoever calls chooses it, and ends it by Stop
	command.Stdout, command.Stderr = output, output
	// A process group of its own keeps Ctrl-C in a terminal from reaching it before its turn.
	command.SysProcAttr = attributes()

	started := make(chan error)
	forks() <- func() { started <- command.Start() }
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}

	p := &Process{name: name, logFile: logFile, command: command, done: make(chan struct{})}
	go func() {
		ended := command.Wait()
		if ended == nil {
			ended = errors.New("exit status 0")
		}
		p.failure = fmt.Errorf("%s has ended (%w)%s", name, ended, p.finalCounters())
		close(p.done)
	}()
	return p, nil
}

// PID is the number by which the operating system knows the process.
func (p *Process) PID() int { return p.command.Process.Pid }

// Done is closed when the process has ended, for whatever reason.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err returns how the process ended, with the last lines of its log; nil while it runs.
func (p *Process) Err() error {
	select {
	case <-p.done:
		return p.failure
	default:
		return nil
	}
}

// Stop asks the process to end and waits. After the grace period, or at once when ctx ends, it
// is killed. When Stop returns, the process is gone.
func (p *Process) Stop(ctx context.Context, grace time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()

	// The error says that it has ended already, which is what is wanted.
	_ = p.command.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-ctx.Done():
		_ = p.command.Process.Kill()
		<-p.done
	}
}

// Tail returns up to so many of the last lines of the log.
func (p *Process) Tail(lines int) string {
	const window = 64 << 10
	file, err := os.Open(p.logFile)
	if err != nil {
		return ""
	}
	defer file.Close() //nolint:errcheck // read only
	size, err := file.Seek(0, 2)
	if err != nil {
		return ""
	}
	text := make([]byte, min(size, window))
	read, _ := file.ReadAt(text, size-int64(len(text)))
	all := strings.Split(strings.TrimRight(string(text[:read]), "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

func (p *Process) finalCounters() string {
	tail := p.Tail(12)
	if tail == "" {
		return "; its log " + p.logFile + " is empty"
	}
	return "; the end of " + p.logFile + ":\n" + indent(tail)
}

func indent(text string) string { return "    " + strings.ReplaceAll(text, "\n", "\n    ") }
