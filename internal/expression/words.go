// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"errors"
	"strconv"
	"strings"

	"cel.dev/cel-go/cel"
)

// wrongLiterals are what CEL says about values that are written wrongly, and what that means.
var wrongLiterals = map[string]string{
	"invalid matches argument":   "this is not a regular expression (RE2), or one that is too long",
	"invalid timestamp argument": "this is not a time, such as 2026-04-01T09:00:00+09:00",
	"invalid duration argument":  "this is not a duration, such as 36h",
}

// inWords returns what the compiler has found, with the place in the expression.
func inWords(issues *cel.Issues) error {
	const most, longest = 3, 300
	var said []string
	for i, issue := range issues.Errors() {
		if i == most {
			said = append(said, "and more")
			break
		}
		message, _, _ := strings.Cut(strings.ReplaceAll(issue.Message, " (in container '')", ""), " expecting {")
		if plain, known := wrongLiterals[message]; known {
			message = plain
		}
		if strings.Contains(message, "recursion") {
			message = "the expression is nested too deeply, or a chain of calls in it is too long (recursion)"
		}
		if runes := []rune(message); len(runes) > longest {
			message = string(runes[:longest]) + "…"
		}
		if line := issue.Location.Line(); line > 0 {
			message = "line " + strconv.Itoa(line) + ", column " + strconv.Itoa(issue.Location.Column()+1) + ": " + message
		}
		said = append(said, message)
	}
	return errors.New(strings.Join(said, "; "))
}

// failures are what an evaluation can end with, by what CEL calls it.
var failures = []struct{ part, reason string }{
	{"cost limit exceeded", "it takes too long"},
	{"interrupted", "it takes too long"},
	{"memory limit exceeded", "it makes too large a value"},
	{"no such overload", "values of different kinds are compared"},
	{"regexp", "a pattern is not a regular expression"},
	{"regex program size", "a pattern is too long"},
	{"out of ", "an index is out of range"},
	{"by zero", "division by zero"},
	{"overflow", "a number or a time becomes too large"},
	{"no such key", "there is no such key"},
	{"time zone", "unknown time zone"},
}

// Reason returns why an evaluation has failed, in words that repeat nothing of the values.
func Reason(err error) string {
	message := ""
	if err != nil {
		message = err.Error()
	}
	for _, known := range failures {
		if strings.Contains(message, known.part) {
			return known.reason
		}
	}
	return "a value has the wrong format"
}
