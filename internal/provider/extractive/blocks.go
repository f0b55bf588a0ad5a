// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package extractive

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"

	"github.com/feed-operator/feed-operator/internal/prose"
)

// blocks cuts cleaned text into blocks of one line each: paragraphs, headings, items of lists. A
// line break ends a block, except where it only wraps a line of hard-wrapped text.
func blocks(text string) []string {
	var out, paragraph []string
	flush := func() {
		out = append(out, unwrap(paragraph)...)
		paragraph = paragraph[:0]
	}
	for line := range strings.SplitSeq(text, "\n") {
		if line = oneLine(line); line == "" {
			flush()
			continue
		}
		paragraph = append(paragraph, line)
	}
	flush()
	return withoutNumbers(out)
}

// withoutNumbers takes the numbers off the items of a list that are followed by nothing but a space, as Japanese
// offices write them. One number alone may belong to the sentence: "18 分かかる".
func withoutNumbers(list []string) []string {
	number := func(i int) int {
		digits, _, _ := strings.Cut(list[i], " ")
		if first, _ := utf8.DecodeRuneInString(digits); len(digits) > 2*utf8.UTFMax || unicode.IsLetter(first) {
			return -1
		}
		if n, err := strconv.Atoi(width.Fold.String(digits)); err == nil {
			return n
		}
		return -1
	}
	numbers := make([]int, len(list))
	for i := range list {
		numbers[i] = number(i)
	}
	for i, n := range numbers {
		after := i > 0 && n > 1 && numbers[i-1] == n-1
		before := i+1 < len(list) && n == 1 && numbers[i+1] == n+1
		if after || before {
			_, list[i], _ = strings.Cut(list[i], " ")
		}
	}
	return list
}

// unwrap joins the lines of one paragraph that are only wrapped: those as wide as the column is,
// and those that go on with a small letter.
func unwrap(lines []string) []string {
	if len(lines) <= 1 {
		return lines
	}
	const narrowest, widest = 40, 110 // columns that text is wrapped at
	column := 0
	for _, line := range lines {
		column = max(column, columns(line))
	}
	wrapped := column >= narrowest && column <= widest
	var out []string
	for i, line := range lines {
		if i == 0 || !beginsWithLetter(line) && marker.MatchString(line) || prose.EndsSentence(lines[i-1]) {
			out = append(out, line)
			continue
		}
		before, _ := utf8.DecodeLastRuneInString(lines[i-1])
		first, _ := utf8.DecodeRuneInString(line)
		switch {
		case wrapped && columns(lines[i-1])*100 >= column*85, unicode.IsLower(first) && unicode.IsLetter(before):
			if !prose.IsWide(before) && !prose.IsWide(first) {
				line = " " + line
			}
			out[len(out)-1] += line
		default:
			out = append(out, line)
		}
	}
	return out
}

// columns is how wide a line is on a terminal, roughly.
func columns(line string) int {
	width := 0
	for _, r := range line {
		width++
		if prose.IsWide(r) {
			width++
		}
	}
	return width
}

// marker is what stands before the text of a heading or an item: "- ", "・", "(1)", "１．", "①".
var marker = regexp.MustCompile(`^(?:[-*+•‣◦–—#>]+\s+|[・○◯●◎■□◆◇▼▽▲△▶►➤➢✓✔☆★❖→⇒]+\s*|[(（]?[0-9０-９]{1,2}[)）．]\s*|[0-9]{1,2}\.\s+|\([a-zA-Z]\)\s+|[①-⑳]\s*|【[^】]{1,20}】\s*)`)

// beginsWithMark reports whether a line begins with a character of a marker, and not, as many do, with a quote.
func beginsWithMark(line string) bool {
	first, _ := utf8.DecodeRuneInString(line)
	return strings.ContainsRune("-*+•‣◦–—#>・○◯●◎■□◆◇▼▽▲△▶►➤➢✓✔☆★❖→⇒(（【", first) || first >= '①' && first <= '⑳' || unicode.IsDigit(first)
}

// dateline is where and when a press release was sent from.
var dateline = regexp.MustCompile(`^(?:\p{Lu}[\p{Lu} .'-]{2,30}(?:, [^—–]{1,40})?(?:\d{1,2}, \d{4}|\d{4}|\([A-Z][A-Za-z ]+\)|/[A-Za-z ]+/)\)?|[A-Z][a-z]{2,8}\.? \d{1,2}, \d{4})\s*(?:—|–|--|-)\s+`)

// beginsWithLetter reports whether a line does, as no mark does. It takes less than trying marker.
func beginsWithLetter(line string) bool {
	first, _ := utf8.DecodeRuneInString(line)
	return unicode.IsLetter(first)
}

func stripMarker(line string) string {
	if beginsWithLetter(line) {
		return withoutDateline(line)
	}
	for i := 0; i < 3 && beginsWithMark(line); i++ {
		shorter := strings.TrimSpace(marker.ReplaceAllString(line, ""))
		first, _ := utf8.DecodeRuneInString(shorter)
		if shorter == line || !isReadable(shorter) || unicode.IsNumber(first) { // "１．５倍" is no item
			break
		}
		line = shorter
	}
	return withoutDateline(strings.TrimSpace(line))
}

// placeline is a dateline without a day: "BOSTON, Mass. — The harbour …". What goes on with a small letter is a sentence of its own.
var placeline = regexp.MustCompile(`^\p{Lu}{2}[\p{Lu} .'-]{1,30}(?:, [A-Z][A-Za-z.]{1,15})?\s*(?:—|–|--)\s+(\p{Lu})`)

func withoutDateline(line string) string {
	// Both begin with a capital letter.
	if first, _ := utf8.DecodeRuneInString(line); !unicode.IsUpper(first) ||
		!slices.ContainsFunc([]string{"—", "–", "--", "- "}, func(dash string) bool { return strings.Contains(line, dash) }) {
		return line
	}
	return placeline.ReplaceAllString(dateline.ReplaceAllString(line, ""), "$1")
}
