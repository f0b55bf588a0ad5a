// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package expression holds what the expressions in specs have in common, filters and the bodies of webhooks: CEL, the language that
// Kubernetes has for rules, with bounds on what one may cost, and words for what is wrong with one.
//
// It knows nothing of what the variables stand for. It must never know a clock, a network or the API server.
package expression

import (
	"errors"
	"fmt"
	"math"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/cost"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
)

// maxPattern bounds the regular expressions that are written out in an expression, together, and each of the others, in instructions of their
// programs: about the number of their characters, each of what is repeated counted. Those programs are kept for as long as the expression is, and
// an instruction takes some 100 bytes.
const maxPattern = 2000

var errPatterns = fmt.Errorf("the regular expressions in it are too long together: they may have about %d characters, "+
	"each of what is repeated counted", maxPattern)

const (
	// maxDepth bounds how deep an expression is nested, and how long its chains are: the types of lists in lists take the compiler
	// the fourth power of it, 0.3 seconds with 60 and half a minute with 200.
	maxDepth = 64
	// maxMemory is how large a value may be, in items of lists and maps at all depths, and tens of characters. Values in values double
	// with each step at hardly any cost, until they are compared or written out.
	maxMemory = 1_000_000
)

// ErrCostly says that an expression can cost more than it may.
var ErrCostly = errors.New("the expression can take too long")

// NewEnv makes a language of expressions of at most so many characters, in which times are in UTC and patterns bounded. There is no
// way to ask for the time.
func NewEnv(longest int, options ...cel.EnvOption) (*cel.Env, error) {
	env, err := cel.NewEnv(append([]cel.EnvOption{
		cel.DefaultUTCTimeZone(true),
		cel.ParserExpressionSizeLimit(longest),
		cel.ParserRecursionLimit(maxDepth),
		cel.RegexProgramSizeLimit(maxPattern),
		cel.ASTValidators(cel.ValidateRegexLiterals(), cel.ValidateTimestampLiterals(), cel.ValidateDurationLiterals()),
	}, options...)...)
	if err != nil {
		return nil, err
	}
	// The first name that is not known makes the list that others are proposed from, and nothing guards
	// that list from the expressions that are compiled meanwhile. It is made here, before there are any.
	_, _ = env.Compile("unknown")
	return env, nil
}

// TextFunction is a function of a text that gives a text: text.name(). It costs perCharacter for each of the text's, and gives at
// most growth characters for each.
func TextFunction(name string, perCharacter, growth float64, of func(text string) string) cel.EnvOption {
	return textFunction(name, "string_"+name, perCharacter, cost.Scale(cost.Target(), growth),
		func(text string, _ []ref.Val) string { return of(text) })
}

// ShorteningFunction is one that gives at most so many characters as its argument says: text.name(most). It is given no more than
// fit an int32, and no less than 0.
func ShorteningFunction(name string, perCharacter, growth float64, of func(text string, most int) string) cel.EnvOption {
	size := cost.Min(cost.Scale(cost.Target(), growth), cost.IntArg(0, math.MaxUint64))
	return textFunction(name, "string_"+name+"_int", perCharacter, size, func(text string, arguments []ref.Val) string {
		most, _ := arguments[0].(types.Int)
		return of(text, int(min(max(most, 0), math.MaxInt32)))
	}, cel.IntType)
}

func textFunction(name, overload string, perCharacter float64, size cost.QuantityExpr,
	of func(text string, arguments []ref.Val) string, arguments ...*cel.Type) cel.EnvOption {
	declared := cel.Function(name, cel.MemberOverload(overload, append([]*cel.Type{cel.StringType}, arguments...), cel.StringType,
		cel.FunctionBinding(func(values ...ref.Val) ref.Val {
			text, isText := values[0].(types.String)
			if !isText {
				return types.MaybeNoSuchOverloadErr(values[0])
			}
			return types.String(of(string(text), values[1:]))
		})))
	model := cel.CostModel(cost.MemberOverload(overload,
		cost.EvalCost(cost.Sum(cost.Const(cost.CallCost), cost.Scale(cost.Target(), perCharacter))),
		cost.ResultSize(cost.AtMost(size))))
	return func(env *cel.Env) (*cel.Env, error) {
		env, err := declared(env)
		if err != nil {
			return nil, err
		}
		return model(env)
	}
}

// Compile checks an expression. The error says what is wrong and where, for a person.
func Compile(env *cel.Env, source string) (*cel.Ast, error) {
	parsed, issues := env.Parse(source)
	if issues.Err() != nil {
		return nil, inWords(issues)
	}
	if patterns(parsed) > maxPattern { // before each of them is compiled to be checked
		return nil, errPatterns
	}
	checked, issues := env.Check(parsed)
	if issues.Err() != nil {
		return nil, inWords(issues)
	}
	return checked, nil
}

// Weight is how much of a checked expression is kept while it is ready: in characters and, of its regular expressions, instructions. Each takes some
// 100 bytes at most.
func Weight(source string, checked *cel.Ast) int {
	return len(source) + int(patterns(checked)) //nolint:gosec // bounded
}

// Program makes an expression ready that can cost at most so much, with variables of at most these sizes; else the error is
// ErrCostly. A million takes a tenth of a second, or a few where an expression is made to hurt.
func Program(env *cel.Env, checked *cel.Ast, sizes Sizes, maxCost uint64) (cel.Program, error) {
	estimate, err := env.EstimateCost(checked, sizes)
	if err != nil {
		return nil, err
	}
	if estimate.Max > maxCost {
		return nil, ErrCostly
	}
	return env.Program(checked, cel.EvalOptions(cel.OptOptimize), cel.CostTracking(sizes), cel.CostLimit(maxCost),
		cel.MemoryLimit(maxMemory), cel.InterruptCheckFrequency(100))
}
