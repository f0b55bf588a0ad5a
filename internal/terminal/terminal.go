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

	"github.com/clipperhouse/uax29/v2/graphemes"

	"github.com/feed-operator/feed-operator/internal/prose"
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
func Width(text string) int {
	width := 0
	for cluster := graphemes.FromString(text); cluster.Next(); {
		width += columns(cluster.Value())
	}
	return width
}

// columns is the width of one character as a reader knows it.
func columns(cluster string) int {
	first, _ := utf8.DecodeRuneInString(cluster)
	switch {
	case unicode.IsControl(first), unicode.Is(unicode.M, first):
		return 0
	case first >= 0xff61 && first <= 0xffdc: // half-width forms
		return 1
	case prose.IsCJK(first), prose.IsWide(first), first >= 0x1F300 && first <= 0x1FAFF, strings.ContainsRune(cluster, '\ufe0f'):
		return 2
	}
	return 1
}

// Clip returns as much of a line as has room in some columns, with an ellipsis where that is not all.
func Clip(text string, room int) string {
	if Width(text) <= room {
		return text
	}
	used, end := 1, 0 // the ellipsis
	for cluster := graphemes.FromString(text); cluster.Next(); {
		if used += columns(cluster.Value()); used > room {
			break
		}
		end = cluster.End()
	}
	return strings.TrimRight(text[:end], " ") + "…"
}

// Wrap returns the lines of a text, none of them wider than room, broken between words, or anywhere in
// scripts that have none.
func Wrap(text string, room int) []string {
	var lines []string
	for paragraph := range strings.SplitSeq(text, "\n") {
		lines = append(lines, wrapLine(strings.TrimRight(paragraph, " "), room)...)
	}
	return lines
}

func wrapLine(text string, room int) []string {
	var lines []string
	start, used, gap := 0, 0, -1 // gap is where the line can be broken
	for cluster := graphemes.FromString(text); cluster.Next(); {
		size := columns(cluster.Value())
		if used+size > room && cluster.Start() > start {
			end := cluster.Start()
			if gap > start {
				end = gap
			}
			lines = append(lines, strings.TrimRight(text[start:end], " "))
			start = end + len(text[end:]) - len(strings.TrimLeft(text[end:], " "))
			used, gap = 0, -1
			if start < cluster.Start() {
				used = Width(text[start:cluster.Start()])
			}
		}
		if cluster.Start() < start {
			continue // a space at the break
		}
		first, _ := utf8.DecodeRuneInString(cluster.Value())
		switch {
		case first == ' ':
			gap = cluster.End()
		case prose.IsCJK(first):
			gap = cluster.End()
		}
		used += size
	}
	return append(lines, text[start:])
}
