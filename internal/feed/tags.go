// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feed

import (
	"bytes"
	"encoding/xml"
	"io"
)

// newDecoder forgives what it can, and takes the text for UTF-8, whatever is declared inside of it.
func newDecoder(text []byte) *xml.Decoder {
	decoder := xml.NewDecoder(bytes.NewReader(text))
	decoder.Strict = false
	decoder.CharsetReader = func(_ string, input io.Reader) (io.Reader, error) { return input, nil }
	return decoder
}

// writtenName returns the name in a start tag as it is written.
func writtenName(tag []byte) string {
	tag = bytes.TrimPrefix(tag, []byte("<"))
	if end := bytes.IndexAny(tag, " \t\r\n/>"); end >= 0 {
		tag = tag[:end]
	}
	return string(tag)
}

// closedByItself says whether the text of an element ends in its own end tag, and not in that of
// an outer element, for which the decoder invents the inner one.
func closedByItself(text []byte, name string) bool {
	at := bytes.LastIndexByte(text, '<')
	if at <= 0 {
		return bytes.HasSuffix(text, []byte("/>"))
	}
	tag, ok := bytes.CutPrefix(text[at:], []byte("</"+name))
	return ok && len(bytes.TrimRight(tag, " \t\r\n")) == 1
}
