// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
	"unicode"

	"golang.org/x/text/width"

	"github.com/feed-operator/feed-operator/internal/mastodontest"
)

// postWidth is how many columns of a terminal the text of a post takes.
const postWidth = 88

// readable is a post as a person reads it in a terminal.
func readable(post mastodontest.Post, number int, address string) string {
	about := []string{fmt.Sprintf("Post %d", number), post.Visibility}
	if post.Language != "" {
		about = append(about, post.Language)
	}
	var out strings.Builder
	_, _ = fmt.Fprintf(&out, "%10s┌ %s\n", "", strings.Join(append(about, address), " · "))
	if post.SpoilerText != "" {
		_, _ = fmt.Fprintf(&out, "%10s│ [%s]\n", "", post.SpoilerText)
	}
	for line := range strings.Lines(post.Text) {
		for _, part := range wrap(strings.TrimRight(line, "\n"), postWidth) {
			_, _ = fmt.Fprintln(&out, strings.TrimRight(fmt.Sprintf("%10s│ %s", "", part), " "))
		}
	}
	_, _ = fmt.Fprintf(&out, "%10s└", "")
	return out.String()
}

// wrap breaks a line into some that take so many columns at most: between words, and between wide
// characters, which need no space. A word that is longer than a line, such as a link, stays whole.
func wrap(line string, columns int) []string {
	var lines []string
	current, used := "", 0
	for _, piece := range pieces(line) {
		size := columnsOf(piece)
		if used+columnsOf(strings.TrimRight(piece, " ")) > columns && current != "" {
			lines = append(lines, strings.TrimRight(current, " "))
			current, used = "", 0
		}
		current += piece
		used += size
	}
	return append(lines, strings.TrimRight(current, " "))
}

// pieces are the parts of a line that must not be broken: words with the space after them, and wide
// characters with the punctuation after them.
func pieces(line string) []string {
	var parts []string
	previous := ' '
	for _, r := range line {
		begins := previous == ' ' && r != ' ' || isWide(r) != isWide(previous) && r != ' ' || isWide(r)
		closing := isWide(r) && (unicode.In(r, unicode.Pe, unicode.Pf, unicode.Po))
		if len(parts) == 0 || begins && !closing {
			parts = append(parts, "")
		}
		parts[len(parts)-1] += string(r)
		previous = r
	}
	return parts
}

func columnsOf(text string) int {
	columns := 0
	for _, r := range text {
		columns += columnsOfRune(r)
	}
	return columns
}

// columnsOfRune is how many columns of a terminal a character takes: two if it is wide, as the
// Japanese ones are.
func columnsOfRune(r rune) int {
	if isWide(r) {
		return 2
	}
	return 1
}

func isWide(r rune) bool {
	kind := width.LookupRune(r).Kind()
	return kind == width.EastAsianWide || kind == width.EastAsianFullwidth
}
