// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package pdftext

import (
	"bytes"
	"math"
	"strconv"
)

// The objects of a PDF document (ISO 32000-1, 7.3) are bool, nil, float64 for all numbers, string, and
// these.
type (
	name     string
	array    []any
	dict     map[name]any
	ref      struct{ number, generation int }
	operator string // whatever is none of the others, delimiters of arrays and dictionaries included
	stream   struct {
		dict dict
		raw  []byte
		id   ref
	}
)

// Keys of dictionaries.
const (
	keyResources name = "Resources"
	keyContents  name = "Contents"
	keyEncoding  name = "Encoding"
)

// keywordStream is what comes between the dictionary and the bytes of a stream.
const keywordStream = "stream"

// end is what a lexer gives when there is nothing left to read, or to be spent.
const end operator = ""

// lexer reads tokens and objects. It takes whatever it finds: what makes no sense becomes an operator
// that nobody knows.
type lexer struct {
	data   []byte
	pos    int
	budget *budget
	// content says that this is the content of a page, in which there are no references.
	content bool
}

func isSpace(c byte) bool {
	return c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == '\f' || c == 0
}

func isDelimiter(c byte) bool { return bytes.IndexByte([]byte("()<>[]{}/%"), c) >= 0 }

func isRegular(c byte) bool { return !isSpace(c) && !isDelimiter(c) }

func (l *lexer) skipSpace() {
	for l.pos < len(l.data) {
		switch c := l.data[l.pos]; {
		case isSpace(c):
			l.pos++
		case c == '%':
			for l.pos < len(l.data) && l.data[l.pos] != '\n' && l.data[l.pos] != '\r' {
				l.pos++
			}
		default:
			return
		}
	}
}

// next returns the next token: a number, a string, a name or an operator.
func (l *lexer) next() any {
	l.skipSpace()
	if l.pos >= len(l.data) || !l.budget.token() {
		l.pos = len(l.data)
		return end
	}
	switch c := l.data[l.pos]; c {
	case '/':
		l.pos++
		return l.name()
	case '(':
		l.pos++
		return l.literal()
	case '<', '>':
		if l.pos+1 < len(l.data) && l.data[l.pos+1] == c {
			l.pos += 2
			return operator([]byte{c, c})
		}
		l.pos++
		if c == '<' {
			return string(l.hex(maxString))
		}
		return operator(c)
	case '[', ']', '{', '}', ')':
		l.pos++
		return operator(c)
	}
	return number(l.regular())
}

// regular returns the regular characters that come next.
func (l *lexer) regular() []byte {
	start := l.pos
	for l.pos < len(l.data) && isRegular(l.data[l.pos]) {
		l.pos++
	}
	return l.data[start:l.pos]
}

// number is what a word means: a number, or an operator.
func number(word []byte) any {
	if c := word[0]; len(word) < 40 && (c >= '0' && c <= '9' || c == '-' || c == '+' || c == '.') {
		if parsed, err := strconv.ParseFloat(string(word), 64); err == nil && !math.IsInf(parsed, 0) && !math.IsNaN(parsed) {
			return parsed
		}
	}
	return operator(word[:min(len(word), 40)])
}

func (l *lexer) name() name {
	word := l.regular()
	if bytes.IndexByte(word, '#') < 0 {
		return name(word[:min(len(word), 127)])
	}
	var out []byte
	for i := 0; i < len(word); i++ {
		if word[i] == '#' && i+2 < len(word) {
			if code, err := strconv.ParseUint(string(word[i+1:i+3]), 16, 8); err == nil {
				out = append(out, byte(code))
				i += 2
				continue
			}
		}
		out = append(out, word[i])
	}
	return name(out[:min(len(out), 127)])
}

// literal reads a string in parentheses.
func (l *lexer) literal() string {
	var out []byte
	for depth := 1; l.pos < len(l.data); {
		c := l.data[l.pos]
		l.pos++
		switch c {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return string(out)
			}
		case '\\':
			out = l.escape(out)
			out = out[:min(len(out), maxString)]
			continue
		}
		if len(out) < maxString {
			out = append(out, c)
		}
	}
	return string(out)
}

// escape reads what comes after a backslash.
func (l *lexer) escape(out []byte) []byte {
	if l.pos >= len(l.data) {
		return out
	}
	c := l.data[l.pos]
	l.pos++
	switch c {
	case 'n':
		return append(out, '\n')
	case 'r':
		return append(out, '\r')
	case 't':
		return append(out, '\t')
	case 'b':
		return append(out, '\b')
	case 'f':
		return append(out, '\f')
	case '\r': // the line goes on
		if l.pos < len(l.data) && l.data[l.pos] == '\n' {
			l.pos++
		}
		return out
	case '\n':
		return out
	}
	if c < '0' || c > '7' {
		return append(out, c)
	}
	code := c - '0'
	for range 2 {
		if l.pos >= len(l.data) || l.data[l.pos] < '0' || l.data[l.pos] > '7' {
			break
		}
		code = code<<3 | (l.data[l.pos] - '0')
		l.pos++
	}
	return append(out, code)
}

// hex reads a string in angle brackets, of which no more than so many bytes are taken.
func (l *lexer) hex(most int) []byte {
	var out []byte
	var high byte
	digits := 0
	for l.pos < len(l.data) {
		c := l.data[l.pos]
		l.pos++
		if c == '>' {
			break
		}
		digit, ok := hexDigit(c)
		if !ok {
			continue
		}
		if digits++; digits%2 == 1 {
			high = digit << 4
		} else if len(out) < most {
			out = append(out, high|digit)
		}
	}
	if digits%2 == 1 && len(out) < most {
		out = append(out, high)
	}
	return out
}

func hexDigit(c byte) (byte, bool) {
	switch {
	case c >= '0' && c <= '9':
		return c - '0', true
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10, true
	case c >= 'A' && c <= 'F':
		return c - 'A' + 10, true
	}
	return 0, false
}
