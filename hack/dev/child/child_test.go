// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package child

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func shell(t *testing.T, script string) *Process {
	t.Helper()
	p, err := Start("the script", "/bin/sh", []string{"-c", script}, filepath.Join(t.TempDir(), "log", "script.log"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Stop(context.Background(), 0) })
	return p
}

// says waits until the log holds a text: how a test knows that the script has come so far.
func says(t *testing.T, p *Process, text string) {
	t.Helper()
	for !strings.Contains(p.Tail(100), text) {
		select {
		case <-t.Context().Done():
			t.Fatal("the test ended before the script said " + text)
		case <-p.Done():
			if !strings.Contains(p.Tail(100), text) {
				t.Fatal(p.Err())
			}
		default:
		}
	}
}

func TestAProcessThatEndsSaysHowAndShowsItsLastLines(t *testing.T) {
	t.Parallel()
	p := shell(t, "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13; do echo line $i; done; exit 3")
	<-p.Done()
	message := p.Err().Error()
	for _, want := range []string{"the script has ended", "exit status 3", "line 13", "line 2\n"} {
		if !strings.Contains(message, want) {
			t.Errorf("%q is not in: %s", want, message)
		}
	}
	if strings.Contains(message, "line 1\n") {
		t.Errorf("more than twelve lines: %s", message)
	}
}

func TestARunningProcessHasNoError(t *testing.T) {
	t.Parallel()
	if err := shell(t, "while :; do sleep 1; done").Err(); err != nil {
		t.Error(err)
	}
}

func TestStopLetsAProcessFinish(t *testing.T) {
	t.Parallel()
	p := shell(t, "trap 'echo tidied up; exit 0' TERM; echo ready; while :; do sleep 0.05; done")
	says(t, p, "ready")
	p.Stop(t.Context(), time.Minute)
	if got := p.Tail(1); got != "tidied up" {
		t.Errorf("the last line is %q", got)
	}
}

func TestStopKillsWhatDoesNotEnd(t *testing.T) {
	t.Parallel()
	p := shell(t, "trap '' TERM; echo ready; while :; do sleep 0.05; done")
	says(t, p, "ready")
	impatient, cancel := context.WithCancel(t.Context())
	cancel()
	p.Stop(impatient, time.Hour)
	if p.Err() == nil {
		t.Error("it still runs")
	}
}

func TestAMissingProgramIsNamed(t *testing.T) {
	t.Parallel()
	_, err := Start("etcd", filepath.Join(t.TempDir(), "nothing"), nil, filepath.Join(t.TempDir(), "log"))
	if err == nil || !strings.Contains(err.Error(), "start etcd") {
		t.Errorf("got %v", err)
	}
}
