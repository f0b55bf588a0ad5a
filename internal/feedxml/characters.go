// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feedxml

import (
	"bytes"
	"regexp"
	"strconv"
	"unicode/utf8"

	"github.com/feed-operator/feed-operator/internal/charset"
)

// UTF8 returns a document of XML in UTF-8, without the characters that XML forbids, whatever character
// set it is in and says that it is in.
func UTF8(body []byte) []byte { return Readable(body, "") }

// Readable returns a document in UTF-8 from where it begins, without what XML forbids.
func Readable(body []byte, contentType string) []byte {
	return trimStart(legalCharacters(charset.Decode(body, contentType)))
}

// legalCharacters drops what XML 1.0 forbids (section 2.2), written out or as a numeric reference:
// one such character would lose the whole feed.
func legalCharacters(text []byte) []byte {
	if mayBeIllegal(text) {
		text = bytes.Map(func(r rune) rune {
			if !legal(r) {
				return -1
			}
			return r
		}, text)
	}
	return legalReferences(text)
}

// legalReferences drops the numeric references to characters that XML forbids. Many feeds have thousands of references, and
// hardly any has one of those: they are looked at in place.
func legalReferences(text []byte) []byte {
	var kept []byte
	copied := 0 // of the text, what is kept of it
	for from := 0; ; {
		at := bytes.Index(text[from:], []byte("&#"))
		if at < 0 {
			break
		}
		at += from
		length, isLegal := numericReference(text[at:])
		from = at + length
		if !isLegal {
			kept, copied = append(kept, text[copied:at]...), from
		}
	}
	if copied == 0 {
		return text
	}
	return append(kept, text[copied:]...)
}

// numericReference returns how many bytes a reference has with which text begins, as in "&#xFF;" (XML 1.0, section 4.1), and
// whether its character is legal. What only begins like one is left to the parser.
func numericReference(text []byte) (length int, isLegal bool) {
	const begin, most = 2, 12 // bytes of "&#", and digits
	digits, base := text[begin:], 10
	if len(digits) > 0 && (digits[0] == 'x' || digits[0] == 'X') {
		digits, base = digits[1:], 16
	}
	end := bytes.IndexByte(digits[:min(len(digits), most+1)], ';')
	if end < 0 {
		return begin, true
	}
	code, err := strconv.ParseInt(string(digits[:end]), base, 64)
	if err != nil || digits[0] == '-' || digits[0] == '+' {
		return begin, true
	}
	return len(text) - len(digits) + end + 1, code <= utf8.MaxRune && legal(rune(code)) //nolint:gosec // at most utf8.MaxRune
}

// mayBeIllegal finds out without decoding, for the many documents in which all is well.
func mayBeIllegal(text []byte) bool {
	for _, b := range text {
		if b < 0x20 && b != '\t' && b != '\n' && b != '\r' {
			return true
		}
	}
	return bytes.Contains(text, []byte("\uFFFE")) || bytes.Contains(text, []byte("\uFFFF"))
}

func legal(r rune) bool {
	switch {
	case r < 0x20:
		return r == '\t' || r == '\n' || r == '\r'
	case r >= 0xD800 && r <= 0xDFFF, r == 0xFFFE, r == 0xFFFF, r > utf8.MaxRune:
		return false
	}
	return true
}

var (
	feedStart = regexp.MustCompile(`(?i)<\?xml\s|<rss[\s>]|<feed[\s>]|<rdf:rdf[\s>]`)
	xmlHeader = regexp.MustCompile(`^<\?xml\s[^>]*>`)
	// HTMLStart is how a page begins that is no feed.
	HTMLStart = regexp.MustCompile(`(?i)<!doctype\s+html|<html[\s>]`)
)

// trimStart cuts what stands before the document (white space, marks, a warning that the server's
// software has printed) and the XML declaration, which speaks of bytes that are no more.
func trimStart(text []byte) []byte {
	text = bytes.TrimLeft(text, " \t\r\n\uFEFF")
	if len(text) == 0 || text[0] == '{' || text[0] == '[' {
		return text
	}
	if at := feedStart.FindIndex(text); at != nil && !HTMLStart.Match(text[:at[0]]) {
		// What begins with markup may be any XML with a feed somewhere inside it.
		if text[0] != '<' || bytes.HasPrefix(text[at[0]:], []byte("<?")) {
			text = text[at[0]:]
		}
	}
	text = text[len(xmlHeader.Find(text)):]
	return bytes.TrimSpace(text)
}
