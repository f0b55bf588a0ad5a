// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package pdftext

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// badly is the command line of a process that does what a document tells it, as if that had taken it over.
const badly = "read-pdf-badly"

// obey does what a document says.
func obey(data []byte, _ time.Duration) answer {
	said := func(text string) answer { return answer{wasRead, Document{Text: text, Pages: 1}} }
	order, argument, _ := strings.Cut(string(data), " ")
	switch order {
	case "crash":
		panic("as told")
	case "hang":
		select {}
	case "lie":
		return answer{outcome: 99}
	case "exaggerate":
		return said(strings.Repeat("a", maxText+1))
	case "stammer":
		return said("a\xff\xfeb")
	case "hoard":
		var held [][]byte
		for range 64 {
			held = append(held, make([]byte, 16<<20))
		}
		return said(strconv.Itoa(len(held)))
	case "pid":
		return said(strconv.Itoa(os.Getpid()))
	case "environment":
		return said(strings.Join(os.Environ(), "\n"))
	case "open":
		_, err := os.Open(argument)
		return said(errorText(err))
	case "write":
		return said(errorText(os.WriteFile(argument, []byte("x"), 0o600)))
	case "dial":
		_, err := new(net.Dialer).DialContext(context.Background(), "tcp", argument)
		return said(errorText(err))
	}
	return said("read")
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// idler is a process that is idle when the test says so.
type idler struct {
	*process
	idle chan time.Time
}

// run has a process started when there is a document to read, and ended with the test.
func run(t *testing.T, command func() (*exec.Cmd, error), b bounds) idler {
	t.Helper()
	p := idler{newProcess(command, b), make(chan time.Time)}
	p.after = func(time.Duration) <-chan time.Time { return p.idle }
	go p.run()
	t.Cleanup(func() { p.idle <- time.Time{} })
	return p
}

// bad is a process that reads documents badly.
func bad(t *testing.T, b bounds) idler {
	t.Helper()
	return run(t, func() (*exec.Cmd, error) {
		command, err := itself()
		command.Args[1] = badly
		return command, err
	}, b)
}

func mustRead(t *testing.T, p idler, data string) string {
	t.Helper()
	got, err := p.read(t.Context(), []byte(data))
	if err != nil {
		t.Fatalf("%s: %v", data, err)
	}
	return got.Text
}

// R1.6: what a document does to the process is a failure of that document. Those that wait, and those that come, are read.
func TestADocumentThatEndsTheProcessFailsAlone(t *testing.T) {
	t.Parallel()
	for order, want := range map[string]error{"crash": ErrCrashed, "lie": ErrCrashed, "exaggerate": ErrCrashed, "hoard": ErrCrashed} {
		t.Run(order, func(t *testing.T) {
			t.Parallel()
			if order == "hoard" && (runtime.GOOS != "linux" || raceDetector) {
				t.Skip("the memory of the whole process is bounded on Linux, and not with the race detector")
			}
			p := bad(t, usual)
			first := mustRead(t, p, "pid")
			var waiting sync.WaitGroup
			for range 4 {
				waiting.Go(func() {
					if _, err := p.read(t.Context(), []byte(order)); !errors.Is(err, want) {
						t.Errorf("got %v, want %v", err, want)
					}
				})
				waiting.Go(func() {
					if got, err := p.read(t.Context(), []byte("a document")); err != nil || got.Text != "read" {
						t.Errorf("another one: %q, %v", got.Text, err)
					}
				})
			}
			waiting.Wait()
			if next := mustRead(t, p, "pid"); next == first {
				t.Error("the process is still there")
			}
		})
	}
}

// R1.6: a document has its time, and who waits has theirs.
func TestADocumentThatNeverEnds(t *testing.T) {
	t.Parallel()
	short := usual
	short.document = time.Millisecond
	if _, err := bad(t, short).read(t.Context(), []byte("hang")); !errors.Is(err, ErrTooLarge) {
		t.Errorf("got %v, want %v", err, ErrTooLarge)
	}
	p := bad(t, usual)
	hanging, giveUp := context.WithCancel(t.Context())
	var waiting sync.WaitGroup
	waiting.Go(func() {
		if _, err := p.read(hanging, []byte("hang")); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want %v", err, context.Canceled)
		}
	})
	waiting.Go(func() {
		if _, err := p.read(hanging, []byte("hang")); !errors.Is(err, context.Canceled) { // in line behind it
			t.Errorf("got %v, want %v", err, context.Canceled)
		}
	})
	giveUp()
	waiting.Wait()
	if got := mustRead(t, p, "a document"); got != "read" {
		t.Errorf("the next one is %q", got)
	}
}

// R1.6: nothing that a process says is believed.
func TestTextsAreMadeValid(t *testing.T) {
	t.Parallel()
	if got := mustRead(t, bad(t, usual), "stammer"); got != "ab" {
		t.Errorf("got %q", got)
	}
}

// A process that was ended while it had nothing to do, such as for want of memory, is no failure of a document.
func TestAProcessThatWasEndedIsReplaced(t *testing.T) {
	t.Parallel()
	p := bad(t, usual)
	pid, err := strconv.Atoi(mustRead(t, p, "pid"))
	if err != nil {
		t.Fatal(err)
	}
	running, err := os.FindProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := running.Kill(); err != nil {
		t.Fatal(err)
	}
	if got := mustRead(t, p, "pid"); got == strconv.Itoa(pid) {
		t.Error("it is still there")
	}
}

func TestAnIdleProcessEnds(t *testing.T) {
	t.Parallel()
	p := bad(t, usual)
	first := mustRead(t, p, "pid")
	p.idle <- time.Time{}
	if next := mustRead(t, p, "pid"); next == first {
		t.Error("the process is still there")
	}
}

// That no process can be started is a failure of no document.
func TestAProcessThatDoesNotStart(t *testing.T) {
	t.Parallel()
	var broken atomic.Bool
	broken.Store(true)
	p := run(t, func() (*exec.Cmd, error) {
		command, err := itself()
		command.Args[1] = badly
		if broken.Load() {
			command.Args[1] = "-no-such-flag"
		}
		return command, err
	}, usual)
	if _, err := p.read(t.Context(), []byte("a document")); !errors.Is(err, ErrUnavailable) {
		t.Errorf("got %v, want %v", err, ErrUnavailable)
	}
	broken.Store(false)
	if got := mustRead(t, p, "a document"); got != "read" {
		t.Errorf("later it is %q", got)
	}
}

// The process ends when its parent has, also while it reads, and not when the terminal stops both: then the parent goes on for a
// while, and what it has begun is finished.
func TestTheProcessEndsWithItsParent(t *testing.T) {
	t.Parallel()
	command, err := itself()
	if err != nil {
		t.Fatal(err)
	}
	command.Args[1] = badly
	running, err := startChild(command)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := running.exchange(t.Context(), nil); err != nil || got.outcome != ready {
		t.Fatalf("got %v, %v", got.outcome, err)
	}
	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		if err := running.command.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := running.exchange(t.Context(), []byte("a document")); err != nil || got.Text != "read" {
		t.Fatalf("after the signals: %q, %v", got.Text, err)
	}
	if err := writeDocument(running.in, []byte("hang")); err != nil {
		t.Fatal(err)
	}
	if err := running.in.Close(); err != nil { // as when the parent is killed
		t.Fatal(err)
	}
	if err := running.command.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
}

// R1.6: a document that takes the process over finds nothing there, and gets nowhere. Not parallel: it sets the environment.
func TestTheProcessHasNothing(t *testing.T) {
	t.Setenv("FEED_OPERATOR_TEST_SECRET", "hunter2")
	p := bad(t, usual)
	for variable := range strings.SplitSeq(mustRead(t, p, "environment"), "\n") {
		if name, _, _ := strings.Cut(variable, "="); name != "GOMAXPROCS" && name != "GOTRACEBACK" {
			t.Errorf("it knows %s", variable)
		}
	}
	if runtime.GOOS != "linux" {
		t.Skip("the rest is so on Linux, where the operator runs")
	}
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, order := range []string{"open " + program, "write " + filepath.Join(t.TempDir(), "file"), "dial " + listener.Addr().String()} {
		if got := mustRead(t, p, order); !strings.Contains(got, "too many open files") {
			t.Errorf("%s: %q", order, got)
		}
	}
}

// A program that cannot be the process must not be started as one: it would do whatever it does.
func TestAProgramThatDoesNotBeginWithMain(t *testing.T) {
	hosted = false
	defer func() { hosted = true }()
	if _, err := Read(t.Context(), []byte("%PDF-1.7")); !errors.Is(err, ErrUnavailable) {
		t.Errorf("got %v, want %v", err, ErrUnavailable)
	}
}
