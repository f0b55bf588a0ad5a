// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package pdftext

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// bounds are the times that are given to a process.
type bounds struct {
	// start is how long it may take until it is ready: to compile PDFium takes three seconds of a core.
	start time.Duration
	// document is how long one document may take. The process itself stops earlier, and returns what it has.
	document time.Duration
	// idle is how long it stays without a document.
	idle time.Duration
}

var usual = bounds{start: 2 * time.Minute, document: readingTime + 15*time.Second, idle: 5 * time.Minute}

// process is the process that reads documents, as its parent knows it: there is one at most, and it has one
// document at a time. One goroutine does everything that concerns it, and is there from the beginning.
type process struct {
	turns   chan *turn
	command func() (*exec.Cmd, error)
	bounds  bounds
	after   func(time.Duration) <-chan time.Time
	running *child // nil while there is none
}

// turn is that of one who has a document to be read.
type turn struct {
	ctx    context.Context
	cancel context.CancelFunc
	data   chan []byte
	result chan result
}

type result struct {
	document Document
	err      error
}

func newProcess(command func() (*exec.Cmd, error), b bounds) *process {
	return &process{turns: make(chan *turn), command: command, bounds: b, after: time.After}
}

// itself is this program, as the process that reads documents. It gets nothing of the environment, in which there
// may be credentials.
func itself() (*exec.Cmd, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	started := exec.Command(program, command) //nolint:noctx,gosec // it outlives the one who needs it first; the program is this one
	started.Env = []string{"GOMAXPROCS=2", "GOTRACEBACK=none"}
	started.Dir = "/"
	return started, nil
}

// read waits for its turn, and has a document read.
func (p *process) read(ctx context.Context, data []byte) (Document, error) {
	var own *turn
	select {
	case own = <-p.turns:
	case <-ctx.Done():
		return Document{}, ctx.Err()
	}
	own.data <- data
	select {
	case got := <-own.result:
		return got.document, got.err
	case <-ctx.Done():
		own.cancel()
		<-own.result // the document is not needed any more when this returns
		return Document{}, ctx.Err()
	}
}

// run gives out turns, one at a time.
func (p *process) run() {
	for {
		ctx, cancel := context.WithCancel(context.Background())
		next := &turn{ctx: ctx, cancel: cancel, data: make(chan []byte, 1), result: make(chan result, 1)}
		select {
		case p.turns <- next:
			document, err := p.serve(ctx, <-next.data)
			next.result <- result{document, err}
		case <-p.after(p.bounds.idle):
			p.end()
		}
		cancel()
	}
}

// serve has a document read by the process that is there, or by a new one.
func (p *process) serve(ctx context.Context, data []byte) (Document, error) {
	if err := p.start(ctx); err != nil {
		return Document{}, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	ctx, cancel := context.WithTimeout(ctx, p.bounds.document)
	defer cancel()
	got, err := p.running.exchange(ctx, data)
	if err != nil {
		p.end()
		if errors.Is(err, context.DeadlineExceeded) {
			return Document{}, ErrTooLarge
		}
		return Document{}, ErrCrashed
	}
	meaning, known := outcomes[got.outcome]
	if !known {
		p.end()
		return Document{}, ErrCrashed
	}
	return got.Document, meaning
}

// start sees to it that there is a process, and that it answers: it may have been ended while it was idle.
func (p *process) start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, p.bounds.start)
	defer cancel()
	if p.running != nil {
		if got, err := p.running.exchange(ctx, nil); err == nil && got.outcome == ready {
			return nil
		}
		p.end()
	}
	command, err := p.command()
	if err != nil {
		return err
	}
	if p.running, err = startChild(command); err != nil {
		return err
	}
	if got, err := p.running.exchange(ctx, nil); err != nil || got.outcome != ready {
		p.end()
		return errors.Join(errors.New("the process that reads them did not start"), err)
	}
	return nil
}

// end ends the process, if there is one.
func (p *process) end() {
	if p.running != nil {
		p.running.end()
		p.running = nil
	}
}

// child is a process that was started.
type child struct {
	command *exec.Cmd
	in      io.WriteCloser
	out     io.ReadCloser
}

func startChild(command *exec.Cmd) (*child, error) {
	in, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	return &child{command, in, out}, nil
}

// exchange sends a document and waits for the answer. When the context ends, so does the process, and the error is
// that of the context.
func (c *child) exchange(ctx context.Context, data []byte) (answer, error) {
	stop := context.AfterFunc(ctx, func() { _ = c.command.Process.Kill() })
	defer stop()
	err := writeDocument(c.in, data)
	if err != nil {
		return answer{}, errors.Join(ctx.Err(), err)
	}
	got, err := readAnswer(c.out)
	if err != nil {
		return answer{}, errors.Join(ctx.Err(), err)
	}
	return got, nil
}

// end ends the process at once. There is nothing in it that anybody needs.
func (c *child) end() {
	_ = c.command.Process.Kill()
	_ = c.command.Wait() // closes the pipes
}
