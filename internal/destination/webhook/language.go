// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/ext"

	"github.com/feed-operator/feed-operator/internal/destination"
	"github.com/feed-operator/feed-operator/internal/expression"
)

const (
	// maxCost is what it may cost to make one body.
	maxCost = 3_000_000
	// maxExpression is the bound of v1alpha1.WebhookDestination.Body, in characters.
	maxExpression = 8192
)

// Bounds of what an expression sees, in characters.
const (
	maxLine       = 1_000
	maxText       = 10_000
	maxNotice     = maxText + 4*maxLine // the summary of a notice holds all the rest of it
	maxName       = 300
	maxGUID       = 2_048
	maxCategories = 32
	maxURL        = 36_864 // of a link of 4,096 characters, each of which has to be encoded
)

// variables are what an expression speaks of. CEL keeps the word namespace for itself.
var variables = []struct {
	name string
	kind *cel.Type
	most uint64
}{
	{"kind", cel.StringType, maxName},
	{"title", cel.StringType, maxLine},
	{"summary", cel.StringType, maxNotice},
	{"url", cel.StringType, maxURL},
	{"author", cel.StringType, maxName},
	{"categories", cel.ListType(cel.StringType), maxCategories},
	{"published", cel.TimestampType, 1},
	{"language", cel.StringType, maxName},
	{"guid", cel.StringType, maxGUID},
	{"feed", cel.StringType, maxName},
	{"source", cel.StringType, maxName},
	{"ns", cel.StringType, maxName},
	{"item", cel.StringType, maxName},
	{"provider", cel.StringType, maxName},
	{"model", cel.StringType, maxName},
	{"key", cel.StringType, maxName},
	{"entry", cel.StringType, maxLine},
	{"error", cel.StringType, maxText},
	{"facts", cel.StringType, maxLine},
	{"advice", cel.StringType, maxLine},
}

// The work of a function and what it makes longer, for each character.
const (
	plainCost, plainGrowth   = 10, 2
	cutCost                  = 10
	escapeCost, escapeGrowth = 10, 5
)

// functions are those of texts that CEL has not. Those that escape have a text shown as it is by who reads a markup; with a number,
// they cut it so that it is escaped in at most so many characters.
func functions() []cel.EnvOption {
	escapes := map[string]func(string) string{"escapeSlack": slack, "escapeMarkdown": markdown, "escapeHTML": hypertext}
	options := make([]cel.EnvOption, 0, 2+2*len(escapes))
	options = append(options,
		expression.TextFunction("plain", plainCost, plainGrowth, plain),
		expression.ShorteningFunction("cut", cutCost, 1, func(text string, most int) string { return destination.CutPlain(text, most, size) }))
	for name, of := range escapes {
		options = append(options, expression.TextFunction(name, escapeCost, escapeGrowth, of),
			expression.ShorteningFunction(name, escapeCost, escapeGrowth, func(text string, most int) string {
				return of(destination.CutPlain(text, most, func(kept string) int { return size(of(kept)) }))
			}))
	}
	return options
}

// language is CEL with the variables of an item and a notification.
var language = sync.OnceValues(func() (*cel.Env, error) {
	options := append(functions(), ext.Strings(), cel.OptionalTypes())
	for _, known := range variables {
		options = append(options, cel.Variable(known.name, known.kind))
	}
	return expression.NewEnv(maxExpression, options...)
})

// sizes are how large the variables can be.
var sizes = sync.OnceValue(func() expression.Sizes {
	all := expression.Sizes{"categories.@items": maxName}
	for _, known := range variables {
		all[known.name] = known.most
	}
	return all
})
