// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package charset turns the bytes of a feed or a page into UTF-8, whatever character set they are in and say that they
// are in.
//
// It knows byte order marks, declarations in headers and in documents, and how texts in three dozen languages look. It
// must never know what is in a document beyond that: no feeds, no articles, no network. It is pure, and looks closely
// at no more than a few kilobytes of a document, however long that is.
package charset

import (
	"bytes"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/japanese"
)

// Decode returns a document in UTF-8. What cannot be read is U+FFFD in it.
//
// In this order it believes: a byte order mark, bytes that can only be of one character set, and then whatever makes
// the text look most ordinary. What the document says of itself and what the header says (Content-Type; may be empty)
// counts for much there, but not against all appearances: a server's default is often wrong, and so are documents
// that somebody has converted.
func Decode(body []byte, contentType string) []byte {
	if rest, marked := cutMark(body); marked != nil {
		return convert(rest, marked)
	}
	if wide := wideByZeros(body); wide != nil {
		return convert(body, wide)
	}
	if isISO2022JP(body) {
		return convert(body, japanese.ISO2022JP)
	}
	said := declarations(body, contentType)
	for _, declared := range said {
		if declared.isWide() && looksWide(body, declared.set) {
			return convert(body, declared.set)
		}
	}
	if utf8.Valid(body) {
		return body
	}
	valid, stray := countUTF8(body)
	const surely = 4 // sequences for each stray byte: no other character set has so many
	if valid >= surely*stray {
		return mend(body)
	}
	best := choose(sampleOf(body), said)
	if best == nil {
		return mend(body)
	}
	return convert(body, best)
}

// convert decodes. A decoder of x/text writes U+FFFD for what it cannot read and has no errors but for what its caller
// did wrong.
func convert(body []byte, from encoding.Encoding) []byte {
	if from == encoding.Nop {
		return mend(body)
	}
	text, err := from.NewDecoder().Bytes(body)
	if err != nil {
		return mend(body)
	}
	return bytes.TrimPrefix(bytes.ToValidUTF8(text, []byte("\uFFFD")), []byte("\uFEFF"))
}
