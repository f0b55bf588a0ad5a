// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package plaintext makes text for people of what feeds and pages have in its place: HTML, control characters, texts without end.
//
// It knows text alone. It must never know what the text is of.
package plaintext

import (
	"html"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/feed-operator/feed-operator/internal/prose"
)

// Cut returns at most limit characters of the text.
func Cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for at := range text {
		if limit == 0 {
			return strings.TrimSpace(text[:at])
		}
		limit--
	}
	return text
}

// CutWords is Cut, without the beginning of a word at its end: that could be of something that is not to be shown, such as a token
// in the title of a page, and nobody could tell any more.
func CutWords(text string, limit int) string {
	short := Cut(text, limit)
	if len(short) == len(text) {
		return text
	}
	return strings.TrimSpace(strings.TrimRightFunc(short, func(r rune) bool { return r > ' ' && r < unicode.MaxASCII })) + "…"
}

// Line makes one line of a text: no control characters, no marks that change the direction
// of text (a title could read as something else), single spaces.
func Line(text string) string {
	if prose.IsLine(text) {
		return text
	}
	text = strings.ToValidUTF8(text, "\uFFFD")
	var line strings.Builder
	line.Grow(len(text))
	space := false
	for _, r := range text {
		switch {
		case unicode.IsSpace(r):
			space = line.Len() > 0
			continue
		case unicode.IsControl(r), r > unicode.MaxLatin1 && unicode.Is(unicode.Bidi_Control, r), r == '\uFEFF':
			continue
		case space:
			line.WriteByte(' ')
			space = false
		}
		line.WriteRune(r)
	}
	return line.String()
}

var (
	// Only what is HTML for sure: "a < b" and "Vec<T>" are words of a title.
	titleMarkup = regexp.MustCompile(`(?i)</?(?:a|abbr|acronym|b|bdi|bdo|big|br|cite|code|del|div|em|font|h[1-6]|i|img|ins|kbd|mark|nobr|p|q|rb|rp|rt|ruby|s|samp|small|span|strike|strong|sub|sup|time|tt|u|var|wbr)(?:\s[^<>]*)?/?>`)
	// hiddenStart begins elements whose content is no text for a reader, and comments.
	hiddenStart = regexp.MustCompile(`(?i)<(?:(script)|(style)|(noscript)|(template)|(iframe)|(svg))(?:\s[^<>]*)?>|(<!--)`)
	// hiddenEnds end them, in the order of the groups.
	hiddenEnds = [...]*regexp.Regexp{
		regexp.MustCompile(`(?i)</script\s*>`), regexp.MustCompile(`(?i)</style\s*>`), regexp.MustCompile(`(?i)</noscript\s*>`),
		regexp.MustCompile(`(?i)</template\s*>`), regexp.MustCompile(`(?i)</iframe\s*>`), regexp.MustCompile(`(?i)</svg\s*>`),
		regexp.MustCompile(`-->`),
	}
	reference = regexp.MustCompile(`&(?:#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});`)
)

// withoutHidden takes out elements whose content is no text for a reader, and comments. Without its end such an element is a word of the
// title, which may be about HTML; where one has no end, none of its kind that begins later has, so that nothing is looked through twice.
func withoutHidden(title string) string {
	var kept strings.Builder
	var endless [len(hiddenEnds)]bool
	for {
		at := hiddenStart.FindStringSubmatchIndex(title)
		if at == nil {
			return kept.String() + title
		}
		kind := 0
		for at[2+2*kind] < 0 {
			kind++
		}
		if !endless[kind] {
			if end := hiddenEnds[kind].FindStringIndex(title[at[1]:]); end != nil {
				kept.WriteString(title[:at[0]])
				title = title[at[1]+end[1]:]
				continue
			}
			endless[kind] = true
		}
		kept.WriteString(title[:at[1]])
		title = title[at[1]:]
	}
}

// Title makes plain text of a title, in which many feeds have HTML, escaped once too often.
func Title(title string) string {
	const most = 64 << 10 // more than enough, whatever markup is in it
	title = Prefix(title, most)
	if strings.ContainsRune(title, '<') {
		title = withoutHidden(title)
		title = titleMarkup.ReplaceAllStringFunc(title, func(markup string) string {
			switch strings.ToLower(strings.Trim(markup, "</> ")) {
			case "br", "p", "div":
				return " "
			}
			return ""
		})
	}
	if strings.ContainsRune(title, '&') {
		title = reference.ReplaceAllStringFunc(title, html.UnescapeString)
	}
	return Line(title)
}

// Printable drops control characters other than white space.
func Printable(text string) string {
	if isPrintable(text) {
		return strings.TrimSpace(text)
	}
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' && r != '\r' || r == '\uFEFF' {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	return strings.TrimSpace(text)
}

// isPrintable reports whether Printable has nothing to do; it may err in saying that it has.
func isPrintable(text string) bool {
	for i := range len(text) {
		b := text[i]
		control := b < 0x20 && b != '\n' && b != '\t' && b != '\r' || b == 0x7F
		beyond := b == 0xC2 && i+1 < len(text) && text[i+1] < 0xA0 // the upper control characters
		if control || beyond {
			return false
		}
	}
	return !strings.Contains(text, "\uFEFF") && utf8.ValidString(text)
}

// Prefix returns at most limit bytes of a text, cut on the border of a character.
func Prefix(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}
