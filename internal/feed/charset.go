// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feed

import (
	"bytes"
	"mime"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	textunicode "golang.org/x/text/encoding/unicode"
	"golang.org/x/text/encoding/unicode/utf32"
)

// byteOrderMarks in the order in which they are looked for: that of UTF-32 begins with that of UTF-16.
var byteOrderMarks = []struct {
	mark     string
	encoding encoding.Encoding
}{
	{"\xef\xbb\xbf", textunicode.UTF8},
	{"\xff\xfe\x00\x00", utf32.UTF32(utf32.LittleEndian, utf32.IgnoreBOM)},
	{"\x00\x00\xfe\xff", utf32.UTF32(utf32.BigEndian, utf32.IgnoreBOM)},
	{"\xff\xfe", textunicode.UTF16(textunicode.LittleEndian, textunicode.IgnoreBOM)},
	{"\xfe\xff", textunicode.UTF16(textunicode.BigEndian, textunicode.IgnoreBOM)},
}

// UTF8 returns a document of XML in UTF-8, without the characters that XML forbids, whatever character
// set it is in and says that it is in.
func UTF8(body []byte) []byte { return trimStart(legalCharacters(decode(body, ""))) }

// decode returns the document in UTF-8. The bytes themselves are believed first, then what the
// document says of itself, then the header: a server's default character set is often wrong.
// Bytes that are no text become U+FFFD.
func decode(body []byte, contentType string) []byte {
	for _, bom := range byteOrderMarks {
		if rest, ok := bytes.CutPrefix(body, []byte(bom.mark)); ok {
			return convert(rest, bom.encoding)
		}
	}
	if sniffed := sniffWide(body); sniffed != nil {
		return convert(body, sniffed)
	}
	if looksLikeISO2022JP(body) {
		return convert(body, japanese.ISO2022JP)
	}
	if utf8.Valid(body) {
		return body
	}
	valid, invalid := countUTF8(body)
	const share = 20 // sequences for each stray byte
	if valid >= invalid*share {
		return mendUTF8(body)
	}
	declared := declaredCharsets(body, contentType)
	for _, candidate := range declared {
		if candidate.multibyte() && !candidate.japanese() {
			if text := convert(body, candidate.encoding); !bytes.ContainsRune(text, utf8.RuneError) {
				return text
			}
		}
	}
	if text := sniffJapanese(body); text != nil {
		return text
	}
	return decodeByScript(body, declared, valid, invalid)
}

// decodeByScript decodes what is not UTF-8, whatever is declared, unless there are more sequences
// of UTF-8 in it than stray bytes.
func decodeByScript(body []byte, declared []declaredCharset, valid, invalid int) []byte {
	first := slices.IndexFunc(declared, func(d declaredCharset) bool { return d.name != "utf-8" })
	if first > 0 && valid >= invalid { // UTF-8 is declared first, and may be true
		first = -1
	}
	// Western is what servers declare by default.
	if first >= 0 && declared[first].name != "windows-1252" {
		return convert(body, declared[first].encoding)
	}
	if valid < invalid {
		if text := guessByScript(body); text != nil {
			return text
		}
	}
	if first >= 0 {
		return convert(body, declared[first].encoding)
	}
	// UTF-8, declared or by default: either damaged in a few places, or not true at all.
	const few = 4
	if valid > 0 || invalid < few {
		return mendUTF8(body)
	}
	return convert(body, charmap.Windows1252)
}

// convert decodes; a decoder of x/text writes U+FFFD for what it cannot read and has no errors.
func convert(body []byte, from encoding.Encoding) []byte {
	text, err := from.NewDecoder().Bytes(body)
	if err != nil {
		return bytes.ToValidUTF8(body, []byte("\uFFFD"))
	}
	return bytes.TrimPrefix(bytes.ToValidUTF8(text, []byte("\uFFFD")), []byte("\uFEFF"))
}

// sniffWide knows UTF-32 and UTF-16 without a byte order mark by their first characters, which are
// ASCII in every feed.
func sniffWide(body []byte) encoding.Encoding {
	if len(body) < 4 {
		return nil
	}
	var letters [4]bool
	for i, b := range body[:4] {
		letters[i] = b != 0
	}
	switch letters {
	case [4]bool{true, false, false, false}:
		return utf32.UTF32(utf32.LittleEndian, utf32.IgnoreBOM)
	case [4]bool{false, false, false, true}:
		return utf32.UTF32(utf32.BigEndian, utf32.IgnoreBOM)
	case [4]bool{true, false, true, false}:
		return textunicode.UTF16(textunicode.LittleEndian, textunicode.IgnoreBOM)
	case [4]bool{false, true, false, true}:
		return textunicode.UTF16(textunicode.BigEndian, textunicode.IgnoreBOM)
	}
	return nil
}

// looksLikeISO2022JP finds the escape sequences that switch to kanji. They are ASCII and would
// pass as UTF-8, but an escape character has no place in XML or JSON.
func looksLikeISO2022JP(body []byte) bool {
	return bytes.Contains(body, []byte("\x1b$B")) || bytes.Contains(body, []byte("\x1b$@"))
}

// countUTF8 counts the sequences of several bytes that are UTF-8, and the bytes that are not.
func countUTF8(body []byte) (valid, invalid int) {
	for len(body) > 0 {
		r, size := utf8.DecodeRune(body)
		switch {
		case r == utf8.RuneError && size == 1:
			invalid++
		case size > 1:
			valid++
		}
		body = body[size:]
	}
	return valid, invalid
}

// A declaredCharset is what a document or a header claims.
type declaredCharset struct {
	name     string // the name that the WHATWG Encoding Standard gives it
	encoding encoding.Encoding
}

func (d declaredCharset) japanese() bool {
	return d.name == "shift_jis" || d.name == "euc-jp" || d.name == "iso-2022-jp"
}

func (d declaredCharset) multibyte() bool {
	switch d.name {
	case "gbk", "gb18030", "big5", "euc-kr":
		return true
	}
	return d.japanese()
}

var xmlEncoding = regexp.MustCompile(`^[^>]{0,512}?<\?xml[^>]{0,512}?encoding\s*=\s*["']\s*([A-Za-z0-9._:-]{1,40})`)

// declaredCharsets returns the character sets that are declared and known, the document's first.
func declaredCharsets(body []byte, contentType string) []declaredCharset {
	var labels []string
	if match := xmlEncoding.FindSubmatch(body[:min(len(body), 2048)]); match != nil {
		labels = append(labels, string(match[1]))
	}
	if _, parameters, err := mime.ParseMediaType(contentType); err == nil && parameters["charset"] != "" {
		labels = append(labels, parameters["charset"])
	}
	var declared []declaredCharset
	for _, label := range labels {
		known, name := charset.Lookup(strings.TrimSpace(label))
		// UTF-16 was recognised by its bytes, or it is not; "replacement" stands for character
		// sets that the standard refuses to decode.
		if known != nil && name != "replacement" && !strings.HasPrefix(name, "utf-16") {
			declared = append(declared, declaredCharset{name: name, encoding: known})
		}
	}
	return declared
}
