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
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/expression"
	"github.com/feed-operator/feed-operator/internal/feed"
)

// Set is the filters of a source, compiled. It is safe for concurrent use. One without filters, and
// a nil one, keep everything.
type Set struct {
	drop, keep []compiled
	// weight is how much is kept of it: see expression.Weight.
	weight int
}

// lightWeight is the most that a light set weighs.
const lightWeight = 300

// compiled is one filter that is ready to be asked.
type compiled struct {
	name    string
	program cel.Program
	weight  int
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
		set.weight += one.weight
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
	checked, err := expression.Compile(env, filter.Expression)
	if err != nil {
		return compiled{}, err
	}
	if got := checked.OutputType(); !got.IsExactType(cel.BoolType) {
		return compiled{}, fmt.Errorf("the expression must evaluate to bool, not %s", cel.FormatCELType(got))
	}
	program, err := expression.Program(env, checked, sizes, maxCost)
	if errors.Is(err, expression.ErrCostly) {
		return compiled{}, fmt.Errorf("%w: loops in loops, long texts that are put together, long patterns in the content, and patterns "+
			"that are not written out are costly; make it simpler, or several filters of it", err)
	}
	if err != nil {
		return compiled{}, err
	}
	dated := false
	for _, reference := range checked.NativeRep().ReferenceMap() {
		dated = dated || reference.Name == published
	}
	return compiled{name: filter.Name, program: program, weight: expression.Weight(filter.Expression, checked), dated: dated}, nil
}

// Light reports whether a set takes so little memory that it can be kept for each of many sources; one that is not takes up to some megabytes, and is
// better compiled again when there is an entry to ask it about, which takes about a second at worst.
func (s *Set) Light() bool { return s == nil || s.weight <= lightWeight }

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

// because returns why an evaluation has failed, in words that repeat nothing of the entry.
func (c compiled) because(err error, values *values) string {
	message := ""
	if err != nil {
		message = err.Error()
	}
	if c.dated && values.entry.Published.IsZero() && strings.Contains(message, "no such overload") {
		return "the entry has no date (published is null); handle such entries explicitly: published != null && …, or published == null || …"
	}
	return expression.Reason(err)
}
