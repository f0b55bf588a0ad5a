// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"strings"
	"unicode/utf8"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/cost"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
)

// Sizes are how large the variables can be, and what a regular expression costs. CEL takes a pattern
// to cost what its characters do, but (\w{1,100}){9} is short and slow. The sizes of the items of a list are those of its name and
// ".@items".
type Sizes map[string]uint64

// EstimateSize implements cost.Estimator.
func (s Sizes) EstimateSize(node cost.AstNode) *cost.SizeEstimate {
	most, known := s[strings.Join(node.Path(), ".")]
	if !known {
		return nil
	}
	estimate := cost.RangedSizeEstimate(0, most)
	return &estimate
}

// EstimateCallCost implements cost.Estimator.
func (s Sizes) EstimateCallCost(function, _ string, target *cost.AstNode, args []cost.AstNode) *cost.CallEstimate {
	if function != overloads.Matches {
		return nil
	}
	if target != nil {
		args = append([]cost.AstNode{*target}, args...)
	}
	if len(args) != 2 {
		return nil
	}
	text, pattern := cost.EstimateSize(s, args[0]).Max, cost.EstimateSize(s, args[1]).Max
	most := cost.Estimate{Max: patternCost(text, maxPattern) + perCharacter*min(pattern, tooMuch)}
	if written, ok := literal(args[1]); ok {
		most.Max = patternCost(text, instructions(written))
	}
	return cost.NewCallEstimate(most, nil)
}

// literal is the text that an argument is written as.
func literal(argument cost.AstNode) (string, bool) {
	if argument.Expr().Kind() != ast.LiteralKind {
		return "", false
	}
	text, ok := argument.Expr().AsLiteral().(types.String)
	return string(text), ok
}

// CallCost implements cost.ActualCostEstimator.
func (Sizes) CallCost(function, _ string, args []ref.Val, _ ref.Val) *uint64 {
	if function != overloads.Matches || len(args) != 2 {
		return nil
	}
	text, isText := args[0].(types.String)
	pattern, isPattern := args[1].(types.String)
	if !isText || !isPattern {
		return nil
	}
	return new(patternCost(uint64(utf8.RuneCountInString(string(text))), instructions(string(pattern)))) //nolint:gosec // a count
}

const (
	// perCost is how many instructions of a pattern are tried for the cost of one, each at one
	// character: each takes up to 50 nanoseconds.
	perCost = 4
	// perCharacter is what it costs to read a character of a pattern that is not written out.
	perCharacter = 25
	// tooMuch stands for lengths that are not known.
	tooMuch = 1 << 40
)

// patternCost is what it takes at worst to look for a pattern in a text.
func patternCost(characters, instructions uint64) uint64 {
	return 1 + min(characters, tooMuch)*instructions/perCost
}

// instructions is how many instructions the program of a pattern has.
func instructions(pattern string) uint64 {
	count, err := types.RegexProgramSize(pattern)
	if err != nil {
		return maxPattern // and refused
	}
	return uint64(count) //nolint:gosec // a count
}

// patterns is how many instructions the patterns have together that are written out in an expression.
func patterns(parsed *cel.Ast) uint64 {
	var sum uint64
	ast.PostOrderVisit(parsed.NativeRep().Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.CallKind || e.AsCall().FunctionName() != overloads.Matches || sum > maxPattern {
			return
		}
		arguments := e.AsCall().Args()
		if len(arguments) == 0 || arguments[len(arguments)-1].Kind() != ast.LiteralKind {
			return
		}
		if written, is := arguments[len(arguments)-1].AsLiteral().(types.String); is {
			sum += instructions(string(written))
		}
	}))
	return sum
}
