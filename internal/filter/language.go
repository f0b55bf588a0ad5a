// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"strings"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/ext"
	"golang.org/x/text/unicode/norm"
	"golang.org/x/text/width"

	"github.com/feed-operator/feed-operator/internal/expression"
)

const (
	// maxCost is what the evaluation of one expression may cost at most.
	maxCost = 5_000_000
	// maxExpression is the bound of v1alpha1.EntryFilter, in characters.
	maxExpression = 4096
	// foldGrowth is how much longer a text can become by fold.
	foldGrowth = 3
)

// language is CEL with the variables of an entry, the functions for texts that Kubernetes has too, and
// fold.
var language = sync.OnceValues(func() (*cel.Env, error) {
	return expression.NewEnv(maxExpression,
		cel.Variable(title, cel.StringType),
		cel.Variable(url, cel.StringType),
		cel.Variable(author, cel.StringType),
		cel.Variable(categories, cel.ListType(cel.StringType)),
		cel.Variable(content, cel.StringType),
		cel.Variable(published, cel.TimestampType),
		ext.Strings(),
		expression.TextFunction("fold", 1, foldGrowth, fold),
		cel.ASTValidators(cel.ValidateHomogeneousAggregateLiterals()),
	)
})

// fold makes texts the same that differ in case or width only: ＩＣＴ and ict, ｶﾞｲﾄﾞ and ガイド.
func fold(text string) string {
	return strings.ToLower(norm.NFC.String(width.Fold.String(text)))
}

// sizes are how large the variables can be.
var sizes = expression.Sizes{
	title: maxTitle, url: maxURL, author: maxAuthor, content: maxContent,
	categories: maxCategories, categories + ".@items": maxCategory,
}
