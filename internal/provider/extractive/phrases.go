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

// longestPiece is how many characters a piece has at most.
const longestPiece = 16

// of reports whether a text begins like that. Of the text in small letters, as much is needed as a piece may have.
func (b beginning) of(text, lower string) bool {
	if lower == "" {
		return false
	}
	for _, piece := range b.pieces {
		if lower[0] == piece[0] && strings.HasPrefix(lower, piece) {
			return b.expression.MatchString(text)
		}
	}
	return false
}
