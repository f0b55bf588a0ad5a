// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package pdftext

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// pages are the lines of pages that were read.
type pages struct {
	lines [][]line
	// without are those of each page that are not what the document says is none of its text: heads, page numbers.
	without [][]line
}

// add adds a page.
func (p *pages) add(chunks []chunk) {
	lines := linesOf(chunks)
	p.lines = append(p.lines, lines)
	if slices.ContainsFunc(chunks, func(c chunk) bool { return c.artifact }) {
		lines = linesOf(slices.DeleteFunc(chunks, func(c chunk) bool { return c.artifact }))
	}
	p.without = append(p.without, slices.Clone(lines))
}

// text returns the text of the pages, or none where it is not legible.
func (p *pages) text() string {
	used := p.without
	if !slices.ContainsFunc(used, func(lines []line) bool { return len(lines) > 0 }) {
		used = p.lines // there is no text but what is said to be none
	}
	used = withoutFurniture(used)
	texts := make([]string, 0, len(used))
	for _, lines := range used {
		var out bytes.Buffer
		paragraphs(&out, lines)
		if out.Len() > 0 {
			texts = append(texts, out.String())
		}
	}
	text := ligatures.Replace(strings.Join(texts, "\n\n"))
	if !isLegible(text) {
		return ""
	}
	return cut(strings.ToValidUTF8(text, ""), maxText)
}

// cut returns the first so many bytes of a text, or some less, so that no character is cut apart.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}

// ligatures are written as the letters that they are.
var ligatures = strings.NewReplacer("ﬀ", "ff", "ﬁ", "fi", "ﬂ", "fl", "ﬃ", "ffi", "ﬄ", "ffl", "ﬅ", "st", "ﬆ", "st")

// isLegible reports whether most characters mean something. Fonts that do not say it leave signs of
// private use, of control, or of replacement.
func isLegible(text string) bool {
	lost, total := 0, 0
	for _, r := range text {
		switch {
		case unicode.IsSpace(r):
			continue
		case r == utf8.RuneError, unicode.IsControl(r), unicode.Is(unicode.Co, r):
			lost++
		}
		total++
	}
	return total > 0 && lost*10 <= total
}

// pageNumber finds lines that are nothing else.
var pageNumber = regexp.MustCompile(`(?i)^(?:[-–—‐－~〜\s]*|p(?:age|\.)?\s*|第\s*)[0-9０-９ivx]{1,4}(?:\s*(?:/|of|／)\s*[0-9０-９]{1,4})?(?:[-–—‐－~〜\s]*|\s*(?:ページ|頁))$`)

var digits = regexp.MustCompile("[0-9０-９]+")

const (
	// rim is how many lines at either end of a page may be a head or a foot.
	rim = 2
	// minRepeated is on how many pages a head or a foot stands at least.
	minRepeated = 3
)

// withoutFurniture returns pages without their numbers, and the heads and feet that most pages have.
func withoutFurniture(pages [][]line) [][]line {
	count := map[string]int{}
	for _, lines := range pages {
		seen := map[string]bool{}
		for i, l := range lines {
			if key := digits.ReplaceAllString(l.text, "#"); isRim(i, lines) && !seen[key] {
				seen[key] = true
				count[key]++
			}
		}
	}
	kept := make([][]line, len(pages))
	for i, lines := range pages {
		for j, l := range lines {
			often := count[digits.ReplaceAllString(l.text, "#")]
			if isRim(j, lines) && (pageNumber.MatchString(strings.TrimSpace(l.text)) || often >= minRepeated && often*2 > len(pages)) {
				continue
			}
			kept[i] = append(kept[i], l)
		}
	}
	return kept
}

func isRim(i int, lines []line) bool { return i < rim || i >= len(lines)-rim }
