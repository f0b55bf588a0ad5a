// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package terminal writes for a person at a terminal what others have written: feeds, pages, servers.
//
// It knows how wide characters are, and which of them a terminal would obey. It is pure; it knows nothing
// of what it writes.
package terminal

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"
)

// Plain returns a text as it may be shown: without what would move the cursor, change colours or turn the text
// round. Lines stay.
func Plain(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n':
			return r
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), r == '\ufeff':
			return -1
		case unicode.In(r, unicode.Co, unicode.Cs):
			return utf8.RuneError
		}
		return r
	}, text)
}

// Line returns a text likewise, on one line.
func Line(text string) string { return strings.Join(strings.Fields(Plain(text)), " ") }

// Width is how many columns a text takes.
func Width(text string) int { return displaywidth.String(text) }

// Clip returns as much of a line as has room in some columns, with an ellipsis where that is not all.
func Clip(text string, room int) string {
	if Width(text) <= room {
		return text
	}
	return strings.TrimRight(displaywidth.TruncateString(text, room-1, ""), " ") + "…"
}

// Wrap returns the lines of a text, broken between words, and between wide characters, which need no space. None of them is wider than
// room, but for a word that is: a link that is broken cannot be followed.
func Wrap(text string, room int) []string {
	var lines []string
	for paragraph := range strings.SplitSeq(text, "\n") {
		line, used := "", 0
		for _, piece := range pieces(paragraph) {
			if line != "" && used+Width(strings.TrimRight(piece, " ")) > room {
				lines = append(lines, strings.TrimRight(line, " "))
				line, used = "", 0
			}
			line += piece
			used += Width(piece)
		}
		lines = append(lines, strings.TrimRight(line, " "))
	}
	return lines
}

// pieces are the parts of a line that must not be broken: words with the space after them, and wide
// characters with the punctuation after them.
func pieces(line string) []string {
	var parts []string
	spaced, wide := true, false // what comes before
	for character := displaywidth.StringGraphemes(line); character.Next(); {
		value, isSpace, isWide := character.Value(), character.Value() == " ", character.Width() > 1
		first, _ := utf8.DecodeRuneInString(value)
		begins := !isSpace && (spaced || isWide || wide) && !(isWide && unicode.In(first, unicode.Pe, unicode.Pf, unicode.Po))
		if begins || len(parts) == 0 {
			parts = append(parts, "")
		}
		parts[len(parts)-1] += value
		spaced, wide = isSpace, isWide
	}
	return parts
}
