// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package filter decides which entries of a feed a source wants, by the expressions in its spec.
//
// It knows entries, and CEL, the language that Kubernetes has for rules. It must never know a clock, a
// network or the API server: what becomes of an entry follows from the entry and the expressions
// alone, so that it is the same whenever, and wherever, it is asked.
package filter

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/feed"
)

// Set is the filters of a source, compiled. It is safe for concurrent use. One without filters, and
// a nil one, keep everything.
type Set struct {
	drop, keep []compiled
}

// compiled is one filter that is ready to be asked.
type compiled struct {
	name    string
	program cel.Program
	// dated is set where the expression speaks of published.
	dated bool
}

// Verdict is what the filters say about an entry.
type Verdict struct {
	// Keep is set where the entry is wanted.
	Keep bool
	// Why is why not, for a person; empty where it is.
	Why string
	// Failures are the filters that could not say anything about the entry, and so have dropped
	// nothing.
	Failures []Failure
}

// Failure is a filter that could not be evaluated for an entry. It holds nothing of the entry.
type Failure struct {
	// Filter is the name of the filter.
	Filter string
	// Reason is why, for a person.
	Reason string
}

// Compile makes a Set of the filters of a source. The error names every filter that cannot work, and
// says why and where, for a person.
func Compile(filters []v1alpha1.EntryFilter) (*Set, error) {
	set := &Set{}
	if len(filters) == 0 {
		return set, nil
	}
	env, err := language()
	if err != nil {
		return nil, err
	}
	var problems []error
	for i, filter := range filters {
		one, err := compile(env, filter)
		switch {
		case err != nil:
			problems = append(problems, fmt.Errorf("spec.filters[%d] (%s): %w", i, filter.Name, err))
		case filter.Action == v1alpha1.FilterDrop:
			set.drop = append(set.drop, one)
		case filter.Action == v1alpha1.FilterKeep:
			set.keep = append(set.keep, one)
		default:
			problems = append(problems, fmt.Errorf("spec.filters[%d] (%s): the action %q is neither Keep nor Drop", i, filter.Name, filter.Action))
		}
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	return set, nil
}

// compile makes one filter ready.
func compile(env *cel.Env, filter v1alpha1.EntryFilter) (compiled, error) {
	checked, issues := env.Compile(filter.Expression)
	if issues.Err() != nil {
		return compiled{}, inWords(issues)
	}
	if got := checked.OutputType(); !got.IsExactType(cel.BoolType) {
		return compiled{}, fmt.Errorf("the expression must evaluate to bool, not %s", cel.FormatCELType(got))
	}
	estimate, err := env.EstimateCost(checked, sizes{})
	if err != nil {
		return compiled{}, err
	}
	if estimate.Max > maxCost {
		return compiled{}, errors.New("the expression can take too long: loops in loops, long texts that are put together, " +
			"long patterns in the content, and patterns that are not written out are costly; make it simpler, or several filters of it")
	}
	program, err := env.Program(checked,
		cel.EvalOptions(cel.OptOptimize), cel.CostTracking(sizes{}), cel.CostLimit(maxCost), cel.InterruptCheckFrequency(100))
	if err != nil {
		return compiled{}, err
	}
	dated := false
	for _, reference := range checked.NativeRep().ReferenceMap() {
		dated = dated || reference.Name == published
	}
	return compiled{name: filter.Name, program: program, dated: dated}, nil
}

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

// Empty reports whether there is no filter.
func (s *Set) Empty() bool { return s == nil || len(s.drop)+len(s.keep) == 0 }

// Judge reports whether an entry is wanted: none of the filters that drop matches it, and of those that
// keep, if there are any, one does. Their order means nothing. A filter that fails drops nothing.
//
// A filter that is still at work when the context ends has failed.
func (s *Set) Judge(ctx context.Context, entry feed.Entry) Verdict {
	verdict := Verdict{Keep: true}
	if s.Empty() {
		return verdict
	}
	values := &values{entry: entry}
	for _, filter := range s.drop {
		if matches, ok := filter.ask(ctx, values, &verdict); ok && matches {
			verdict.Keep, verdict.Why = false, "dropped by the filter "+filter.name
			return verdict
		}
	}
	if len(s.keep) == 0 {
		return verdict
	}
	wanted := false
	for _, filter := range s.keep {
		matches, ok := filter.ask(ctx, values, &verdict)
		if ok && matches {
			return verdict
		}
		wanted = wanted || !ok
	}
	if wanted {
		return verdict
	}
	verdict.Keep, verdict.Why = false, "not kept by the filter "+s.keep[0].name
	if len(s.keep) > 1 {
		verdict.Why = "kept by none of the filters " + names(s.keep)
	}
	return verdict
}

func names(filters []compiled) string {
	all := make([]string, 0, len(filters))
	for _, filter := range filters {
		all = append(all, filter.name)
	}
	return strings.Join(all, ", ")
}

// ask reports whether the filter matches; not ok: it could not be found out, and the verdict says so.
func (c compiled) ask(ctx context.Context, values *values, verdict *Verdict) (matches, ok bool) {
	result, _, err := c.program.ContextEval(ctx, values)
	if answer, isBool := result.(types.Bool); err == nil && isBool {
		return bool(answer), true
	}
	verdict.Failures = append(verdict.Failures, Failure{Filter: c.name, Reason: c.because(err, values)})
	return false, false
}

// failures are what an evaluation can end with, by what CEL calls it.
var failures = []struct{ part, reason string }{
	{"cost limit exceeded", "it takes too long"},
	{"interrupted", "it takes too long"},
	{"no such overload", "values of different kinds are compared"},
	{"regexp", "a pattern is not a regular expression"},
	{"regex program size", "a pattern is too long"},
	{"out of ", "an index is out of range"},
	{"by zero", "division by zero"},
	{"overflow", "a number or a time becomes too large"},
	{"no such key", "there is no such key"},
	{"time zone", "unknown time zone"},
}

// because returns why an evaluation has failed, in words that repeat nothing of the entry.
func (c compiled) because(err error, values *values) string {
	message := ""
	if err != nil {
		message = err.Error()
	}
	if c.dated && values.entry.Published.IsZero() && strings.Contains(message, "no such overload") {
		return "the entry has no date (published is null); handle such entries explicitly: published != null && …, or published == null || …"
	}
	for _, known := range failures {
		if strings.Contains(message, known.part) {
			return known.reason
		}
	}
	return "a value has the wrong format"
}
