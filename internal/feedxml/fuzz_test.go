// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feedxml

import (
	"bytes"
	"testing"
	"unicode/utf8"

	"github.com/feed-operator/feed-operator/internal/charset"
)

// R1.6: whatever the bytes are, what comes of them is text that XML allows.
func FuzzReadable(f *testing.F) {
	for _, body := range []string{
		"\xef\xbb\xbf<rss/>", "\xff\xfe<\x00r\x00", "\x1b$B$\"\x1b(B", "a\xffb\xe6\x97", "&#&#0;0;&#x1F;&#xD800;&#99999999;\x0b",
		`<?xml version="1.0" encoding="gbk"?>` + "\xd0\xc2\xce\xc5",
	} {
		f.Add([]byte(body), "")
		f.Add([]byte(body), "text/xml; charset=windows-1251")
	}
	f.Fuzz(func(t *testing.T, body []byte, contentType string) {
		text := charset.Decode(body, contentType)
		clean := legalCharacters(text)
		if len(clean) > len(text) || !utf8.Valid(clean) || bytes.ContainsFunc(clean, func(r rune) bool { return !legal(r) }) {
			t.Fatalf("%q became %q", text, clean)
		}
		if start := trimStart(clean); len(start) > len(clean) || !bytes.Contains(clean, start) {
			t.Fatalf("%q became %q", clean, start)
		}
	})
}
