// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package destination

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/feed-operator/feed-operator/internal/prose"
)

// repeats reports whether a summary begins with a title, however both are punctuated and capitalized, and returns what comes after
// it: behind the sentence, if the title is one of its own. Where the sentence goes on after the title, rest is the whole summary.
func repeats(summary, title string) (rest string, repeated bool) {
	at := 0
	next := func() rune { // the next rune of the summary that is read out
		for at < len(summary) {
			r, size := utf8.DecodeRuneInString(summary[at:])
			at += size
			if isRead(r) {
				return unicode.ToLower(r)
			}
		}
		return -1
	}
	for _, r := range title {
		if !isRead(r) {
			continue
		}
		if next() != unicode.ToLower(r) {
			return summary, false
		}
		repeated = true
	}
	if !repeated || !endsWord(summary[:at], summary[at:]) {
		return summary, false
	}
	after := strings.TrimLeft(summary[at:], `)]}"'”’»」』）】`)
	if after == "" || after[0] == '\n' || isEndOfSentence(after) {
		return strings.TrimLeftFunc(after, func(r rune) bool {
			return unicode.IsSpace(r) || unicode.Is(unicode.STerm, r) || strings.ContainsRune(`…"”’」』`, r)
		}), true
	}
	return summary, true
}

// isRead reports whether a rune is part of what a reader reads out.
func isRead(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r) }

// endsWord reports whether a word ends between two parts of a text. "Node" is no word of "Node.js", and "2" none of "2.5".
func endsWord(before, after string) bool {
	last, _ := utf8.DecodeLastRuneInString(before)
	first, size := utf8.DecodeRuneInString(after)
	if after == "" || prose.IsCJK(last) || prose.IsCJK(first) {
		return true
	}
	if isRead(first) || first == wordJoiner {
		return false
	}
	second, _ := utf8.DecodeRuneInString(after[size:])
	return !strings.ContainsRune(".,'’-", first) || !isRead(second)
}

// isEndOfSentence reports whether a text begins with what ends the sentence before it.
func isEndOfSentence(text string) bool {
	first, size := utf8.DecodeRuneInString(text)
	if !unicode.Is(unicode.STerm, first) && first != '…' {
		return false
	}
	next, _ := utf8.DecodeRuneInString(text[size:])
	return next == utf8.RuneError || !isRead(next) || prose.IsWide(first)
}
