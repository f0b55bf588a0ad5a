// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"html"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/feed-operator/feed-operator/internal/prose"
)

const (
	// maxMarks is how many accents a character may carry; no language needs more than a few.
	maxMarks = 8
	// maxRaw is how much of a model's text is looked at, in runes: several times what may be kept.
	maxRaw = 40_000
	// maxPasses bounds how often what was put together from the rests of removed things is removed.
	maxPasses = 8
	// maxExplanation is what the API keeps of an explanation, in runes.
	maxExplanation = 500
)

var (
	answerLink   = regexp.MustCompile(`(?i)(?:[a-z][a-z0-9+.-]*://|\bwww\.|\bmailto:)[!-;=?-~]*`)
	linkStart    = regexp.MustCompile(`(?i)(?:[a-z][a-z0-9+.-]{0,20})?://|\bmailto:|\bwww\.`)
	markdownLink = regexp.MustCompile(`!?\[([^\[\]\n]*)\]\([^()\s]*\)`)
	answerTag    = regexp.MustCompile(`</?[A-Za-z!][^<>]{0,500}>`)
	tagStart     = regexp.MustCompile(`<+([A-Za-z/!?])`)
	heading      = regexp.MustCompile(`(?m)^[ \t]*#{1,6}[ \t]+`)
	emphasis     = regexp.MustCompile("\\*\\*|__|`+")
	blankLines   = regexp.MustCompile(`\n{3,}`)
)

// summaryText makes what a model wrote fit for a reader: plain text of at most limit characters.
func summaryText(raw string, limit int) string {
	text := prose.Cut(plain(raw), limit)
	return prose.CutBy(text, maxRunes, utf8.RuneCountInString)
}

// explanationText makes what a model wrote one line of at most 500 runes.
func explanationText(raw string) string {
	return prose.CutBy(oneLine(plain(raw)), maxExplanation, utf8.RuneCountInString)
}

// plain takes out of a model's text what is no text: links, tags, the marks of Markdown, and
// characters that cannot be seen.
func plain(raw string) string {
	text := heading.ReplaceAllString(html.UnescapeString(strip(firstRunes(raw, maxRaw))), "")
	text = emphasis.ReplaceAllString(text, "")
	for range maxPasses {
		before := text
		text = markdownLink.ReplaceAllString(text, "$1")
		text = answerTag.ReplaceAllString(withoutComments(text), "")
		text = answerLink.ReplaceAllStringFunc(text, endOfSentence)
		if text = strip(text); text == before {
			break
		}
	}
	text = tagStart.ReplaceAllString(text, "$1")
	text = linkStart.ReplaceAllString(text, " ")
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = oneLine(line)
	}
	return strings.TrimSpace(blankLines.ReplaceAllString(strings.Join(lines, "\n"), "\n\n"))
}

// withoutComments takes out the comments of HTML, in one pass: an expression would look through the whole text for the end of each that begins.
func withoutComments(text string) string {
	var kept strings.Builder
	for {
		before, after, begins := strings.Cut(text, "<!--")
		_, rest, ends := strings.Cut(after, "-->")
		if !begins || !ends {
			return kept.String() + text
		}
		kept.WriteString(before)
		text = rest
	}
}

// endOfSentence returns what follows a link without a space: it belongs to the sentence.
func endOfSentence(link string) string { return link[len(strings.TrimRight(link, ".,;!?)]}'\"")):] }

// strip makes a text valid UTF-8 with "\n" between lines, without space around it, and takes out what
// cannot be seen: control and format characters, of those that change the direction of text to
// those that hide words from people and show them to models. Joiners and selectors stay where
// the character before them needs them.
func strip(text string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	var out strings.Builder
	out.Grow(len(text))
	last, marks := ' ', 0
	for _, r := range text {
		switch {
		case r == '\r', r == '\v', r == '\f', r == '\u0085', r == '\u2028', r == '\u2029':
			r = '\n'
		case r == '\t':
			r = ' '
		case r == '\n':
		case !isVisible(r) && !belongs(r, last):
			continue
		}
		if unicode.Is(unicode.M, r) {
			if marks++; marks > maxMarks {
				continue
			}
		} else {
			marks = 0
		}
		out.WriteRune(r)
		last = r
	}
	return strings.TrimSpace(out.String())
}

func isVisible(r rune) bool {
	return r != utf8.RuneError && r != '\uFFFC' &&
		!unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// belongs reports whether a character that cannot be seen by itself is part of the one before it.
func belongs(r, before rune) bool {
	const (
		nonJoiner, joiner = '\u200c', '\u200d'
		textStyle, emoji  = '\ufe0e', '\ufe0f'
	)
	symbol := unicode.In(before, unicode.So, unicode.Sk) || before == emoji
	switch {
	case r == joiner && symbol: // families, professions
		return true
	case r == joiner || r == nonJoiner: // Persian and the languages of India are spelled with them
		return unicode.In(before, joiningScripts...)
	case r == textStyle || r == emoji:
		return unicode.In(before, unicode.So, unicode.Sm, unicode.Po, unicode.Pd) || before >= '0' && before <= '9' || before == '↔'
	case r >= 0xE0100 && r <= 0xE01EF: // forms of characters in Japanese names
		return unicode.Is(unicode.Han, before)
	}
	return false
}

var joiningScripts = []*unicode.RangeTable{
	unicode.Arabic, unicode.Syriac, unicode.Mongolian, unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati,
	unicode.Oriya, unicode.Tamil, unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Khmer,
}
