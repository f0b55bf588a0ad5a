// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package article

import (
	"bytes"
	"mime"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/japanese"
	xunicode "golang.org/x/text/encoding/unicode"
)

// declaredCharset finds the charset in a meta element or an XML declaration.
var declaredCharset = regexp.MustCompile(`(?i)<(?:meta\s[^>]*charset|\?xml\s[^>]*encoding)\s*=\s*["']?\s*([a-z0-9_:.\-]+)`)

// maxPrologue is how far into a page a declaration is looked for. Browsers look at 1 KiB, but pages
// with a long head exist.
const maxPrologue = 8 << 10

// escapeJIS is what begins Japanese characters in ISO-2022-JP, and is in no other text.
const escapeJIS = "\x1b$"

// latin1 is what a header says that nobody thought about: the default of many servers.
const latin1 = "windows-1252"

// decode returns a page as UTF-8. In this order it believes: a byte order mark, bytes that are
// UTF-8, the header, the page's own declaration, and the look of the bytes; but no declaration under
// which the page is not legible.
func decode(body []byte, contentType string) string {
	switch {
	case bytes.HasPrefix(body, []byte("\xef\xbb\xbf")):
		return toUTF8(body[3:], encoding.Nop)
	case bytes.HasPrefix(body, []byte("\xfe\xff")):
		return toUTF8(body[2:], xunicode.UTF16(xunicode.BigEndian, xunicode.IgnoreBOM))
	case bytes.HasPrefix(body, []byte("\xff\xfe")):
		return toUTF8(body[2:], xunicode.UTF16(xunicode.LittleEndian, xunicode.IgnoreBOM))
	}
	// ISO-2022-JP is made of ASCII bytes with escapes, and UTF-16 may hold NUL bytes.
	if utf8.Valid(body) && !bytes.ContainsAny(body, "\x1b\x00") {
		return string(body)
	}
	if bytes.Contains(body, []byte(escapeJIS)) {
		if text, ok := guessJapanese(body); ok {
			return text
		}
	}
	for _, candidate := range declarations(body, contentType) {
		if text := toUTF8(body, candidate); legible(text) {
			return text
		}
	}
	if text, ok := guessJapanese(body); ok {
		return text
	}
	if text, ok := guessScript(body); ok {
		return text
	}
	if text := toUTF8(body, encoding.Nop); legible(text) {
		return text
	}
	fallback, _ := charset.Lookup(latin1)
	return toUTF8(body, fallback)
}

// declarations returns what the header and the page say, the more trustworthy first: that is the header,
// unless it names a charset with a character for each byte and the page does not. Such a charset decodes
// everything, legible or not; for the same reason a Latin-1 of the header is left out.
func declarations(body []byte, contentType string) []encoding.Encoding {
	var list []encoding.Encoding
	single := false
	if _, parameters, err := mime.ParseMediaType(contentType); err == nil {
		if found, name := charset.Lookup(parameters["charset"]); found != nil && name != latin1 {
			list = append(list, found)
			single = !severalBytes[name]
		}
	}
	if match := declaredCharset.FindSubmatch(body[:min(len(body), maxPrologue)]); match != nil {
		// A declaration that could be read as ASCII is not in UTF-16.
		if found, name := charset.Lookup(string(match[1])); found != nil && !strings.HasPrefix(name, "utf-16") {
			list = append(list, found)
			if single && severalBytes[name] {
				slices.Reverse(list)
			}
		}
	}
	return list
}

// severalBytes are the charsets in which a character may have several bytes.
var severalBytes = map[string]bool{
	"shift_jis": true, "euc-jp": true, "iso-2022-jp": true, "gbk": true, "gb18030": true, "big5": true, "euc-kr": true,
	"utf-8": true, "utf-16le": true, "utf-16be": true,
}

// guessJapanese decodes what is Japanese by its look: it decodes without an error, and has as much
// kana as Japanese text does. Latin-1 text may decode as Shift_JIS, but gives no kana.
func guessJapanese(body []byte) (string, bool) {
	candidates := []encoding.Encoding{japanese.EUCJP, japanese.ShiftJIS}
	if bytes.Contains(body, []byte(escapeJIS)) {
		candidates = []encoding.Encoding{japanese.ISO2022JP}
	}
	for _, candidate := range candidates {
		text := toUTF8(body, candidate)
		kana, foreign := 0, 0
		for _, r := range text {
			if r >= utf8.RuneSelf {
				foreign++
			}
			if r >= 0x3041 && r <= 0x30ff {
				kana++
			}
		}
		if legible(text) && kana > 0 && kana*5 >= foreign {
			return text, true
		}
	}
	return "", false
}

// toUTF8 replaces what cannot be decoded by U+FFFD.
func toUTF8(body []byte, from encoding.Encoding) string {
	if from == encoding.Nop {
		return strings.ToValidUTF8(string(body), string(unicode.ReplacementChar))
	}
	text, err := from.NewDecoder().Bytes(body)
	if err != nil {
		return ""
	}
	return strings.ToValidUTF8(string(text), string(unicode.ReplacementChar))
}

// legible says whether at most one character in a hundred was lost.
func legible(text string) bool {
	lost := strings.Count(text, string(unicode.ReplacementChar))
	return text != "" && lost*100 <= utf8.RuneCountInString(text)
}
