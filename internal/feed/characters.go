// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feed

import (
	"bytes"
	"regexp"
	"strconv"
	"unicode/utf8"

	"github.com/feed-operator/feed-operator/internal/charset"
)

// UTF8 returns a document of XML in UTF-8, without the characters that XML forbids, whatever character
// set it is in and says that it is in.
func UTF8(body []byte) []byte { return readable(body, "") }

// readable returns a document in UTF-8 from where it begins, without what XML forbids.
func readable(body []byte, contentType string) []byte {
	return trimStart(legalCharacters(charset.Decode(body, contentType)))
}

var numericReference = regexp.MustCompile(`&#(?:[0-9]{1,12}|[xX][0-9A-Fa-f]{1,12});`)

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
	if !bytes.Contains(text, []byte("&#")) {
		return text
	}
	return numericReference.ReplaceAllFunc(text, func(reference []byte) []byte {
		digits, base := reference[2:len(reference)-1], 10
		if digits[0] == 'x' || digits[0] == 'X' {
			digits, base = digits[1:], 16
		}
		code, err := strconv.ParseInt(string(digits), base, 32)
		if err != nil || !legal(rune(code)) {
			return nil
		}
		return reference
	})
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
	htmlStart = regexp.MustCompile(`(?i)<!doctype\s+html|<html[\s>]`)
)

// trimStart cuts what stands before the document (white space, marks, a warning that the server's
// software has printed) and the XML declaration, which speaks of bytes that are no more.
func trimStart(text []byte) []byte {
	text = bytes.TrimLeft(text, " \t\r\n\uFEFF")
	if len(text) == 0 || text[0] == '{' || text[0] == '[' {
		return text
	}
	if at := feedStart.FindIndex(text); at != nil && !htmlStart.Match(text[:at[0]]) {
		// What begins with markup may be any XML with a feed somewhere inside it.
		if text[0] != '<' || bytes.HasPrefix(text[at[0]:], []byte("<?")) {
			text = text[at[0]:]
		}
	}
	text = text[len(xmlHeader.Find(text)):]
	return bytes.TrimSpace(text)
}
