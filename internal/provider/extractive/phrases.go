// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package extractive

import (
	"regexp"
	"strings"

	"github.com/feed-operator/feed-operator/internal/phrases"
)

// vocabulary is all that sentences are searched for. It is complete when the package is initialized, and only read then.
var vocabulary phrases.Vocabulary

// beginning is an expression for the beginning of a text, which is tried only where one of some pieces is there, in small letters.
type beginning struct {
	expression *regexp.Regexp
	pieces     []string
}

func (b beginning) of(text, lower string) bool {
	for _, piece := range b.pieces {
		if strings.HasPrefix(lower, piece) {
			return b.expression.MatchString(text)
		}
	}
	return false
}
