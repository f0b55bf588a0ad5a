// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feedxml

import (
	"bytes"
	"encoding/xml"
	"io"
	"strings"
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

// endName returns the name in an end tag as it is written, and nothing for a text that is no end tag:
// the decoder invents one where there is none.
func endName(tag []byte) string {
	if name, ok := bytes.CutPrefix(tag, []byte("</")); ok {
		return writtenName(name)
	}
	return ""
}

// localName returns a name without its prefix, in lower case.
func localName(written string) string {
	if _, local, prefixed := strings.Cut(written, ":"); prefixed {
		written = local
	}
	return strings.ToLower(written)
}
