// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package extractive

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// phrases are looked for one after the other, in small letters. That is many times as fast as one expression with all
// of them, which most of the time of the summarizer would go into.
type phrases []string

// list takes phrases apart that are written one after the other, with "|" between them.
func list(all string) phrases { return strings.Split(all, "|") }

// in says whether one of the phrases is in a text in small letters. A phrase of ASCII letters is found as whole words.
func (p phrases) in(lower string) bool {
	for _, phrase := range p {
		if at := strings.Index(lower, phrase); at >= 0 && isWhole(lower, phrase, at) {
			return true
		}
	}
	return false
}

// begin says whether a text in small letters begins with one of the phrases.
func (p phrases) begin(lower string) bool {
	for _, phrase := range p {
		if strings.HasPrefix(lower, phrase) && isWhole(lower, phrase, 0) {
			return true
		}
	}
	return false
}

// isWhole says whether no word goes on beside a phrase that begins or ends with an ASCII letter. Of a phrase that is
// there more than once, the first is looked at.
func isWhole(text, phrase string, at int) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:at])
	after, _ := utf8.DecodeRuneInString(text[at+len(phrase):])
	return !(isASCIILetter(rune(phrase[0])) && unicode.IsLetter(before)) &&
		!(isASCIILetter(rune(phrase[len(phrase)-1])) && unicode.IsLetter(after) && after <= unicode.MaxLatin1)
}

func isASCIILetter(r rune) bool { return r >= 'a' && r <= 'z' }

// guarded is an expression that is tried only on texts in which one of some pieces is: each of its alternatives
// has one of them.
type guarded struct {
	expression *regexp.Regexp
	pieces     []string // in small letters
}

func (g guarded) in(text, lower string) bool {
	for _, piece := range g.pieces {
		if strings.Contains(lower, piece) {
			return g.expression.MatchString(text)
		}
	}
	return false
}

// begin is in for an expression that is looked for at the beginning of a text, and so are the pieces.
func (g guarded) begin(text, lower string) bool {
	for _, piece := range g.pieces {
		if strings.HasPrefix(lower, piece) {
			return g.expression.MatchString(text)
		}
	}
	return false
}
