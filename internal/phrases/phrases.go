// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package phrases finds many phrases in a text at once, and tries expressions only where a phrase is that they need: an expression
// of a hundred alternatives takes longer for a sentence than all else that is done with it.
//
// It is pure. It knows no language, and not what a phrase is good for.
package phrases

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// List is looked for one after the other, in small letters.
type List []string

// Parse takes phrases apart that are written one after the other, with "|" between them.
func Parse(all string) List { return strings.Split(all, "|") }

// In reports whether one of the phrases is in a text in small letters. A phrase of ASCII letters is found as whole words.
func (l List) In(lower string) bool {
	for _, phrase := range l {
		if at := strings.Index(lower, phrase); at >= 0 && IsWhole(lower, phrase, at) {
			return true
		}
	}
	return false
}

// Begins reports whether a text in small letters begins with one of the phrases.
func (l List) Begins(lower string) bool {
	for _, phrase := range l {
		if len(lower) > 0 && lower[0] == phrase[0] && strings.HasPrefix(lower, phrase) && IsWhole(lower, phrase, 0) {
			return true
		}
	}
	return false
}

// IsWhole reports whether no word goes on beside a phrase that begins or ends with an ASCII letter. Of a phrase that is
// there more than once, the first is looked at.
func IsWhole(text, phrase string, at int) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:at])
	after, _ := utf8.DecodeRuneInString(text[at+len(phrase):])
	return !(isASCIILetter(rune(phrase[0])) && unicode.IsLetter(before)) &&
		!(isASCIILetter(rune(phrase[len(phrase)-1])) && unicode.IsLetter(after) && after <= unicode.MaxLatin1)
}

func isASCIILetter(r rune) bool { return r >= 'a' && r <= 'z' }
