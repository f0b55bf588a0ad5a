// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package pdftext

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// How far apart things are that belong together, in sizes of the font.
const (
	// sameLine is how far up or down a piece of a line may be, such as a footnote's number.
	sameLine = 0.5
	// wordGap is a space between two words, and wideGap one between wide characters, which are spread to
	// fill a line.
	wordGap = 0.17
	wideGap = 1.2
	// paragraphGap is the distance of two lines with an empty one between them.
	paragraphGap = 2.1
	// shortLine is what is missing at the end of a line that ends its paragraph.
	shortLine = 3.0
	// longLine is how many bytes of text are put into one line at most.
	longLine = 1_000
)

// line is a line of a page.
type line struct {
	chunk
	// begins is set if there is a gap above the line.
	begins bool
}

// linesOf puts the strings of a page together.
func linesOf(chunks []chunk) []line {
	var lines []line
	for _, next := range chunks {
		blank := strings.TrimSpace(next.text) == ""
		if len(lines) > 0 {
			last := &lines[len(lines)-1]
			size := max(last.size, next.size, 1)
			level := last.angle == next.angle && math.Abs(last.across-next.across) <= sameLine*size
			if level && len(last.text) < longLine && next.from > last.until-size && (last.text != "" || !blank) {
				last.append(next, size)
				continue
			}
			if blank {
				continue
			}
			begins := last.angle != next.angle || math.Abs(last.across-next.across) > paragraphGap*size || next.across > last.across
			lines = append(lines, line{next, begins})
			continue
		}
		if !blank {
			lines = append(lines, line{next, true})
		}
	}
	for i := range lines {
		lines[i].text = strings.TrimRightFunc(lines[i].text, unicode.IsSpace)
	}
	return slices.DeleteFunc(lines, func(l line) bool { return l.text == "" })
}

// append adds a piece to a line, after a space where there is one to be seen.
func (l *line) append(next chunk, size float64) {
	last, _ := utf8.DecodeLastRuneInString(l.text)
	first, _ := utf8.DecodeRuneInString(next.text)
	gap := wordGap
	if isWide(last) && isWide(first) {
		gap = wideGap
	}
	if next.from-l.until > gap*size && !unicode.IsSpace(last) && !unicode.IsSpace(first) {
		l.text += " "
	}
	l.text += next.text
	l.until, l.size = max(l.until, next.until), max(l.size, next.size)
}

// isWide reports whether a character is of a writing that sets no spaces between words.
func isWide(r rune) bool {
	return r >= 0x3000 && r <= 0x303f || r >= 0xff00 && r <= 0xffef || r == 'ー' ||
		unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana)
}

// paragraphs writes the lines of a page, those of a paragraph as one.
func paragraphs(out *bytes.Buffer, lines []line) {
	edge := map[int]float64{} // where full lines end, by the size of the font
	for _, l := range lines {
		edge[round(l.size)] = max(edge[round(l.size)], l.until)
	}
	for i, l := range lines {
		switch {
		case out.Len() == 0:
		case i == 0 || l.begins:
			out.WriteString("\n\n")
		case goesOn(lines[i-1], l, edge[round(lines[i-1].size)]):
			join(out, lines[i-1].text, l.text)
			continue
		default:
			out.WriteByte('\n')
		}
		out.WriteString(strings.TrimLeftFunc(l.text, unicode.IsSpace))
	}
}

func round(number float64) int { return int(math.Round(min(number, 1e6))) }

// goesOn reports whether a line goes on with the paragraph of the one above it.
func goesOn(above, this line, edge float64) bool {
	size := max(above.size, 1)
	first, _ := utf8.DecodeRuneInString(this.text)
	switch {
	case round(above.size) != round(this.size), above.until < edge-shortLine*size:
		return false
	case first == '\u3000', strings.ContainsRune("・●○■□◆◇※•–", first):
		return false
	}
	return this.from < above.from+shortLine*size
}

// join puts a line behind another one. A word that was hyphenated becomes one again.
func join(out *bytes.Buffer, above, this string) {
	this = strings.TrimLeftFunc(this, unicode.IsSpace)
	last, _ := utf8.DecodeLastRuneInString(above)
	first, _ := utf8.DecodeRuneInString(this)
	switch {
	case isWide(last) && isWide(first), last == '-' && !unicode.IsLower(first):
	case last == '-' && len(above) > 1:
		out.Truncate(out.Len() - 1)
	default:
		out.WriteByte(' ')
	}
	out.WriteString(this)
}
