// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feed

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// A jsonReader reads JSON (RFC 8259) from front to back and makes only what it is asked for: what is
// skipped costs time, but no memory, however much it is and however deep it is nested. It forgives what
// leaves no doubt of the meaning: line breaks within a text, a comma too many at the end of a list.
//
// Errors are io.ErrUnexpectedEOF where the text breaks off, and else say, for a person, what is wrong.
type jsonReader struct {
	text []byte // UTF-8
	at   int
}

// next returns the first character of what comes next, and stays before it.
func (r *jsonReader) next() (byte, error) {
	for ; r.at < len(r.text); r.at++ {
		switch c := r.text[r.at]; c {
		case ' ', '\t', '\r', '\n':
		default:
			return c, nil
		}
	}
	return 0, io.ErrUnexpectedEOF
}

// wrong is the error for what stands where the reader is, in the place of something else.
func (r *jsonReader) wrong(expected string) error {
	found, _ := utf8.DecodeRune(r.text[r.at:])
	return fmt.Errorf("at byte %d of the JSON stands %q, where %s is expected", r.at, found, expected)
}

// object reads an object. Take is called with the name of each member, and must read or skip the value.
// A name that is longer than any that a feed uses is empty.
func (r *jsonReader) object(take func(name string) error) error {
	return r.members('{', '}', func() error {
		if c, err := r.next(); err != nil {
			return err
		} else if c != '"' {
			return r.wrong("the name of a member")
		}
		quoted, err := r.quoted()
		if err != nil {
			return err
		}
		if c, err := r.next(); err != nil {
			return err
		} else if c != ':' {
			return r.wrong("a colon")
		}
		r.at++
		if _, err := r.next(); err != nil {
			return err
		}
		const longestName = 96 // in bytes, with escapes
		name := ""
		if len(quoted) <= longestName {
			name = unquote(quoted)
		}
		return take(name)
	})
}

// list reads a list. Take is called before each element, and must read or skip it.
func (r *jsonReader) list(take func() error) error { return r.members('[', ']', take) }

// members reads what stands between two brackets and is separated by commas.
func (r *jsonReader) members(opening, closing byte, take func() error) error {
	if c, err := r.next(); err != nil {
		return err
	} else if c != opening {
		return r.wrong(strconv.QuoteRune(rune(opening)))
	}
	r.at++
	for first := true; ; first = false {
		c, err := r.next()
		if err != nil {
			return err
		}
		if c == closing {
			r.at++
			return nil
		}
		if !first {
			if c != ',' {
				return r.wrong("a comma")
			}
			r.at++
			if c, err = r.next(); err != nil {
				return err
			}
			if c == closing {
				r.at++
				return nil
			}
		}
		if err := take(); err != nil {
			return err
		}
	}
}

// skip passes over a value. In lists and objects it looks for the end only.
func (r *jsonReader) skip() error {
	c, err := r.next()
	if err != nil {
		return err
	}
	switch c {
	case '"':
		_, err = r.quoted()
		return err
	case '[', '{':
	default:
		_, err = r.word()
		return err
	}
	for depth := 0; r.at < len(r.text); {
		switch r.text[r.at] {
		case '"':
			if _, err := r.quoted(); err != nil {
				return err
			}
			continue
		case '[', '{':
			depth++
		case ']', '}':
			depth--
		}
		r.at++
		if depth == 0 {
			return nil
		}
	}
	return io.ErrUnexpectedEOF
}

// scalar reads a text, a number as it is written, true or false; null is an empty text.
func (r *jsonReader) scalar() (string, error) {
	c, err := r.next()
	if err != nil {
		return "", err
	}
	if c == '"' {
		quoted, err := r.quoted()
		return unquote(quoted), err
	}
	word, err := r.word()
	if string(word) == "null" {
		return "", err
	}
	return string(word), err
}

// word reads a value that has no quotation marks or brackets around it.
func (r *jsonReader) word() ([]byte, error) {
	from := r.at
	if length := bytes.IndexAny(r.text[from:], ",:]}[{\" \t\r\n"); length >= 0 {
		r.at += length
	} else {
		r.at = len(r.text)
	}
	word := r.text[from:r.at]
	switch {
	case string(word) == "null", string(word) == "true", string(word) == "false", isNumber(word):
		return word, nil
	case r.at == len(r.text):
		return nil, io.ErrUnexpectedEOF // in the middle of it
	}
	r.at = from
	return nil, r.wrong("a value")
}

func isNumber(word []byte) bool {
	for _, b := range word {
		if (b < '0' || b > '9') && b != '-' && b != '+' && b != '.' && b != 'e' && b != 'E' {
			return false
		}
	}
	return len(word) > 0
}

// quoted reads a text and returns what stands between its quotation marks.
func (r *jsonReader) quoted() ([]byte, error) {
	from := r.at + 1
	for at := from; ; {
		mark := bytes.IndexByte(r.text[at:], '"')
		if mark < 0 {
			r.at = len(r.text)
			return nil, io.ErrUnexpectedEOF
		}
		mark += at
		backslashes := 0
		for backslashes < mark-at && r.text[mark-1-backslashes] == '\\' {
			backslashes++
		}
		at = mark + 1
		if backslashes%2 == 0 {
			r.at = at
			return r.text[from:mark], nil
		}
	}
}

// unquote replaces the escapes in a text. Half a surrogate pair becomes U+FFFD; a backslash that begins
// no escape is a character like others.
func unquote(quoted []byte) string {
	escape := bytes.IndexByte(quoted, '\\')
	if escape < 0 {
		return string(quoted)
	}
	plain := make([]byte, 0, len(quoted))
	for ; escape >= 0; escape = bytes.IndexByte(quoted, '\\') {
		plain = append(plain, quoted[:escape]...)
		quoted = quoted[escape:]
		switch next := quoted[min(1, len(quoted)-1)]; {
		case strings.IndexByte(escapes, next) >= 0 && len(quoted) > 1:
			plain, quoted = append(plain, escaped[strings.IndexByte(escapes, next)]), quoted[2:]
		case codeUnit(quoted) >= 0:
			r, size := codeUnit(quoted), 6
			if utf16.IsSurrogate(r) {
				// Two of a pair give one character, all else U+FFFD.
				if r = utf16.DecodeRune(r, codeUnit(quoted[size:])); r != utf8.RuneError {
					size = 12
				}
			}
			plain, quoted = utf8.AppendRune(plain, r), quoted[size:]
		default:
			plain, quoted = append(plain, '\\'), quoted[1:]
		}
	}
	return string(append(plain, quoted...))
}

// Each of the escapes of one letter stands for the character in the same place.
const (
	escapes = `"\/bfnrt`
	escaped = "\"\\/\b\f\n\r\t"
)

// codeUnit returns the code unit of UTF-16 that the text begins with as an escape, or -1.
func codeUnit(text []byte) rune {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return -1
	}
	for _, b := range text[2:6] {
		if !isHex(b) {
			return -1
		}
	}
	unit, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	if err != nil {
		return -1
	}
	return rune(unit)
}
