// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package prose knows what text that was written for people consists of: characters as a reader
// counts them, sentences, the words that carry no meaning; and where such a text may be cut.
//
// It is pure. It knows nothing of feeds, of markup, or of where a text goes.
package prose

import (
	"strings"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
)

// Count returns the characters of a text as a reader counts them: grapheme clusters by UAX #29.
func Count(text string) int {
	if IsSimple(text) {
		return utf8.RuneCountInString(text)
	}
	count := 0
	for cluster := graphemes.FromString(text); cluster.Next(); {
		count++
	}
	return count
}

// IsSimple reports whether each code point of a text is a character by itself, as those of most Japanese and English texts
// are. It is quicker to find out than where characters end.
func IsSimple(text string) bool {
	for _, r := range text {
		switch {
		case r >= ' ' && r <= '~', r == '\n', IsCommonCJK(r),
			r >= '\u00a1' && r <= '\u00ff' && r != '\u00ad', // all of Latin-1 but the soft hyphen
			r >= '\u2010' && r <= '\u2027',                  // dashes, quotation marks, …
			r >= '\u2030' && r <= '\u205e',                  // ‰, ※
			r >= '\u2100' && r <= '\u2bff',                  // №, →, ①, ■, ☆
			r >= '\u3000' && r <= '\u3029', r >= '\u30a0' && r <= '\u30ff', r >= '\uff01' && r <= '\uff5e':
		default:
			return false
		}
	}
	return true
}

// IsLine reports whether a text is plainly one line: a simple one, with single spaces between its words. Most lines that are
// written for people are, and can be kept as they are by who makes one of a text.
func IsLine(text string) bool {
	return !strings.HasPrefix(text, " ") && !strings.HasSuffix(text, " ") && !strings.Contains(text, "  ") &&
		!strings.Contains(text, "\n") && !strings.Contains(text, "\u3000") && IsSimple(text)
}
