// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"strings"
)

// verdicts are what `go test -json` says of the tests of one package.
type verdicts struct {
	passed, failed map[string]bool
	// running are the tests that had begun and neither passed nor failed when all ended: by a panic, or because time was up.
	running map[string]bool
	// notBuilt is what the compiler says; empty where it has nothing to say.
	notBuilt string
	// said is what is said of the package as a whole.
	said  string
	ended bool
}

// event is a line of `go test -json` (go doc test2json).
type event struct{ Action, Test, Output string }

// judge reads what `go test -json` has written.
func judge(output []byte) *verdicts {
	found := &verdicts{passed: map[string]bool{}, failed: map[string]bool{}, running: map[string]bool{}}
	var complaints, said strings.Builder
	built := true
	for line := range bytes.Lines(output) {
		var e event
		if json.Unmarshal(line, &e) != nil {
			continue // somebody has printed past the tests
		}
		if e.Test == "" {
			switch e.Action {
			case "build-output":
				complaints.WriteString(e.Output)
			case "output":
				said.WriteString(e.Output)
			case "build-fail":
				built = false
			case "pass", "fail":
				found.ended = true
			}
			continue
		}
		if !strings.Contains(e.Test, "/") { // what becomes of its parts is what becomes of a test
			found.note(e)
		}
	}
	found.said = strings.TrimSpace(said.String())
	if !built {
		found.notBuilt = strings.TrimSpace(complaints.String())
	}
	return found
}

func (v *verdicts) note(e event) {
	switch e.Action {
	case "run", "cont":
		v.running[e.Test] = true
	case "pause":
		delete(v.running, e.Test)
	case "pass", "skip":
		delete(v.running, e.Test)
		v.passed[e.Test] = e.Action == "pass"
	case "fail":
		delete(v.running, e.Test)
		v.failed[e.Test] = true
	}
}

// begun reports whether any test was begun.
func (v *verdicts) begun() bool { return len(v.passed)+len(v.failed)+len(v.running) > 0 }

// silent reports whether nothing was said about the package.
func (v *verdicts) silent() bool { return !v.ended && v.notBuilt == "" }

// finding is what has become of a mutation.
type finding struct {
	caught, notBuilt bool
	// why names the test, or says what went wrong.
	why string
}

// of says what has become of a mutation that these tests are there for.
func (v *verdicts) of(tests []string) finding {
	if v.notBuilt != "" {
		return finding{notBuilt: true, why: v.notBuilt}
	}
	var by, not []string
	for _, test := range tests {
		switch passed, ended := v.passed[test]; {
		case v.failed[test]:
			by = append(by, test)
		case v.running[test]:
			by = append(by, test+" (which did not end)")
		case passed:
			not = append(not, test+" passed")
		case ended:
			not = append(not, test+" was skipped")
		default:
			not = append(not, test+" did not run to its end")
		}
	}
	return finding{caught: len(by) > 0, why: strings.Join(append(by, not...), ", ")}
}

// word says it in a word or two.
func (f finding) word() string {
	switch {
	case f.caught:
		return "caught by"
	case f.notBuilt:
		return "NOT COMPILED"
	}
	return "NOT CAUGHT"
}
