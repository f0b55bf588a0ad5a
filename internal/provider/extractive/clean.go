// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package extractive

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/feed-operator/feed-operator/internal/prose"
)

const (
	// What is looked at, in runes: far more than any article has, and little enough for every later
	// step to be quick.
	maxText        = 200_000
	maxDescription = 10_000
	maxTitle       = 1_000
	// linkMark stands where a link was, so that its sentence is known to lack something. It is a
	// single character that no text contains after cleaning.
	linkMark = "\uFFFC"
)

var (
	link = regexp.MustCompile(`(?i)(?:[a-z0-9+.-]*://|\bwww\.|\bmailto:)[!#-;=?-~]*`)
	tag  = regexp.MustCompile(`</?[A-Za-z!][^<>]{0,500}>`)
	// openTag is what a browser may take for the beginning of a tag.
	openTag = regexp.MustCompile(`<[A-Za-z/!?]`)
)

// clean makes outside text safe to work on: valid UTF-8 of at most limit runes, with "\n" between
// lines; without control, format (so: bidi) and private characters, tags and links.
func clean(text string, limit int) string {
	text = firstRunes(text, limit)
	if !prose.IsSimple(text) {
		text = withoutControls(text)
	}
	if mayHaveLink(text) {
		text = withoutLinks(text)
	}
	if strings.Contains(text, "<") {
		text = tag.ReplaceAllString(text, " ")
	}
	return prose.BoundClusters(text)
}

// withoutControls takes out what is no text, and writes one character for all that breaks lines, and one for spaces within them. A
// simple text has nothing of that.
func withoutControls(text string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\r', r == '\v', r == '\f', r == '\u0085', r == '\u2028', r == '\u2029':
			return '\n'
		case r == '\t':
			return ' '
		case r >= ' ' && r <= '~', r >= '\u3041' && r <= '\u30ff', r >= '\u4e00' && r <= '\u9fff': // most of all text
			return r
		case r == '\u200c', r == '\u200d': // joiners: Persian and emoji are spelled with them
			return r
		case r == unicode.ReplacementChar, r == '\uFFFC', unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs):
			return -1
		}
		return r
	}, text)
}

// mayHaveLink is quicker than looking for links.
func mayHaveLink(text string) bool {
	return strings.Contains(text, "://") || hasBefore(text, '.', "www") || hasBefore(text, ':', "mailto")
}

// hasBefore reports whether one of the marks in a text stands behind a word, however that is written.
func hasBefore(text string, mark byte, word string) bool {
	for from := 0; ; {
		next := strings.IndexByte(text[from:], mark)
		if next < 0 {
			return false
		}
		at := from + next
		if at >= len(word) && strings.EqualFold(text[at-len(word):at], word) {
			return true
		}
		from = at + 1
	}
}

func withoutLinks(text string) string {
	return link.ReplaceAllStringFunc(text, func(found string) string {
		// A full stop after a link ends the sentence, not the link.
		return linkMark + found[len(strings.TrimRight(found, ".,;!?)]}'")):]
	})
}

// plain makes a line that was not checked as a sentence presentable: no list mark, no mark of a
// link, nothing that could be read as a tag.
func plain(line string) string {
	line = strings.NewReplacer(linkMark, " ", "<", " ", ">", " ").Replace(line)
	return stripMarker(oneLine(line))
}

// oneLine puts text on one line with single spaces.
func oneLine(text string) string {
	if prose.IsLine(text) {
		return text
	}
	return strings.Join(strings.Fields(text), " ")
}

func firstRunes(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	count := 0
	for i := range text {
		if count == limit {
			return text[:i]
		}
		count++
	}
	return text
}

// isReadable reports whether there is anything in a text that means something.
func isReadable(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.Is(unicode.So, r)
	})
}
