// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"strings"
	"sync"
	"unicode/utf8"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/cost"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/ext"
	"golang.org/x/text/unicode/norm"
	"golang.org/x/text/width"
)

const (
	// maxCost is what the evaluation of one expression may cost at most. A million takes a tenth of a
	// second, or a few where an expression is made to hurt.
	maxCost = 5_000_000
	// maxExpression is the bound of v1alpha1.EntryFilter, in characters.
	maxExpression = 4096
	// maxPattern bounds a regular expression, in instructions of its program: about the number of
	// its characters, each of what is repeated counted.
	maxPattern = 2000
	// foldOverload is the name of the function fold for texts.
	foldOverload = "string_fold"
	// foldGrowth is how much longer a text can become by it.
	foldGrowth = 3
)

// language is CEL with the variables of an entry, the functions for texts that Kubernetes has too, and
// fold. There is no way to ask for the time.
var language = sync.OnceValues(func() (*cel.Env, error) {
	env, err := cel.NewEnv(
		cel.Variable(title, cel.StringType),
		cel.Variable(url, cel.StringType),
		cel.Variable(author, cel.StringType),
		cel.Variable(categories, cel.ListType(cel.StringType)),
		cel.Variable(content, cel.StringType),
		cel.Variable(published, cel.TimestampType),
		ext.Strings(),
		cel.Function("fold", cel.MemberOverload(foldOverload, []*cel.Type{cel.StringType}, cel.StringType,
			cel.UnaryBinding(func(text ref.Val) ref.Val { return types.String(fold(string(text.(types.String)))) }))),
		cel.CostModel(cost.MemberOverload(foldOverload,
			cost.EvalCost(cost.Sum(cost.Const(cost.CallCost), cost.Length(cost.Target()))),
			cost.ResultSize(cost.AtMost(cost.Scale(cost.Target(), foldGrowth))))),
		cel.DefaultUTCTimeZone(true),
		cel.ParserExpressionSizeLimit(maxExpression),
		cel.RegexProgramSizeLimit(maxPattern),
		cel.ASTValidators(cel.ValidateRegexLiterals(), cel.ValidateTimestampLiterals(), cel.ValidateDurationLiterals(),
			cel.ValidateHomogeneousAggregateLiterals()),
	)
	if err != nil {
		return nil, err
	}
	// The first name that is not known makes the list that others are proposed from, and nothing guards
	// that list from the expressions that are compiled meanwhile. It is made here, before there are any.
	_, _ = env.Compile("unknown")
	return env, nil
})

// fold makes texts the same that differ in case or width only: ＩＣＴ and ict, ｶﾞｲﾄﾞ and ガイド.
func fold(text string) string {
	return strings.ToLower(norm.NFC.String(width.Fold.String(text)))
}

// sizes are how large the variables can be, and what a regular expression costs. CEL takes a pattern
// to cost what its characters do, but (\w{1,100}){9} is short and slow.
type sizes struct{}

// EstimateSize implements cost.Estimator.
func (sizes) EstimateSize(node cost.AstNode) *cost.SizeEstimate {
	most, known := map[string]uint64{
		title: maxTitle, url: maxURL, author: maxAuthor, content: maxContent,
		categories: maxCategories, categories + ".@items": maxCategory,
	}[strings.Join(node.Path(), ".")]
	if !known {
		return nil
	}
	estimate := cost.RangedSizeEstimate(0, most)
	return &estimate
}

// EstimateCallCost implements cost.Estimator.
func (s sizes) EstimateCallCost(function, _ string, target *cost.AstNode, args []cost.AstNode) *cost.CallEstimate {
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
func (sizes) CallCost(function, _ string, args []ref.Val, _ ref.Val) *uint64 {
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
