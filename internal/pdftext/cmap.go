// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package pdftext

import (
	"cmp"
	"encoding/binary"
	"slices"
	"unicode/utf16"
)

// cmap says what the codes of a font mean (ISO 32000-1, 9.10.3).
type cmap struct {
	ranges []mapping // by their beginning, of equal ones the last counts
	// size of a code in bytes; 0 where the map does not say it, or names several.
	size int
}

// mapping is a run of codes that mean characters one after the other, beginning with to, which is as it is
// in the map, in UTF-16: it takes the least memory so.
type mapping struct {
	from, until uint32
	to          string
}

func readCMap(data []byte, b *budget) *cmap {
	lex := &lexer{data: data, budget: b, content: true}
	m := &cmap{size: -1}
	var operands []any
	for {
		token := lex.object(maxDepth)
		word, ok := token.(operator)
		if !ok {
			operands = append(operands, token)
			continue
		}
		switch word {
		case end:
			slices.SortStableFunc(m.ranges, func(x, y mapping) int { return cmp.Compare(x.from, y.from) })
			m.size = max(m.size, 0)
			return m
		case "endcodespacerange":
			for _, operand := range operands {
				code, ok := operand.(string)
				switch {
				case !ok || m.size == len(code):
				case m.size < 0:
					m.size = len(code)
				default:
					m.size = 0
				}
			}
		case "endbfchar":
			for i := 0; i+1 < len(operands); i += 2 {
				m.add(operands[i], operands[i], operands[i+1])
			}
		case "endbfrange":
			for i := 0; i+2 < len(operands); i += 3 {
				m.add(operands[i], operands[i+1], operands[i+2])
			}
		}
		operands = operands[:0]
	}
}

// add takes one mapping, of which the other end may be one text for each code.
func (m *cmap) add(from, until, to any) {
	first, ok := codeOf(from)
	last, ok2 := codeOf(until)
	if !ok || !ok2 || last < first {
		return
	}
	switch to := to.(type) {
	case string:
		m.ranges = append(m.ranges, mapping{first, last, to[:min(len(to), maxTarget)]})
	case array:
		for i, element := range to {
			if text, ok := element.(string); ok && uint64(first)+uint64(i) <= uint64(last) {
				code := first + uint32(i)
				m.ranges = append(m.ranges, mapping{code, code, text[:min(len(text), maxTarget)]})
			}
		}
	}
}

// codeOf is the number that a code of one to four bytes is.
func codeOf(value any) (uint32, bool) {
	text, ok := value.(string)
	if !ok || text == "" || len(text) > 4 {
		return 0, false
	}
	return code(text), true
}

func code(text string) uint32 {
	var out uint32
	for i := range len(text) {
		out = out<<8 | uint32(text[i])
	}
	return out
}

// text is what a code means.
func (m *cmap) text(code uint32) (string, bool) {
	at, found := slices.BinarySearchFunc(m.ranges, code, func(r mapping, code uint32) int {
		if r.from <= code {
			return -1
		}
		return 1
	})
	if found || at == 0 || m.ranges[at-1].until < code {
		return "", false
	}
	entry := m.ranges[at-1]
	runes := fromUTF16(entry.to)
	if len(runes) == 0 {
		return "", false
	}
	runes[len(runes)-1] += rune(code - entry.from) //nolint:gosec // what is no character becomes U+FFFD
	return string(runes), true
}

func fromUTF16(text string) []rune {
	if len(text) == 1 {
		return []rune{rune(text[0])}
	}
	units := make([]uint16, 0, len(text)/2)
	for i := 0; i+1 < len(text); i += 2 {
		units = append(units, binary.BigEndian.Uint16([]byte(text[i:i+2])))
	}
	return utf16.Decode(units)
}
