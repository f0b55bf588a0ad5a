// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package charset

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	textunicode "golang.org/x/text/encoding/unicode"
	"golang.org/x/text/encoding/unicode/utf32"
)

var (
	utf16Little = textunicode.UTF16(textunicode.LittleEndian, textunicode.IgnoreBOM)
	utf16Big    = textunicode.UTF16(textunicode.BigEndian, textunicode.IgnoreBOM)
	utf32Little = utf32.UTF32(utf32.LittleEndian, utf32.IgnoreBOM)
	utf32Big    = utf32.UTF32(utf32.BigEndian, utf32.IgnoreBOM)
)

// marks of byte order in the order in which they are looked for: that of UTF-32 begins with that of UTF-16.
// encoding.Nop stands for UTF-8.
var marks = []struct {
	mark string
	set  encoding.Encoding
}{
	{"\xef\xbb\xbf", encoding.Nop}, {"\xff\xfe\x00\x00", utf32Little}, {"\x00\x00\xfe\xff", utf32Big},
	{"\xff\xfe", utf16Little}, {"\xfe\xff", utf16Big},
}

// cutMark cuts off a byte order mark. Without one, the character set is nil.
func cutMark(body []byte) ([]byte, encoding.Encoding) {
	for _, known := range marks {
		if rest, ok := bytes.CutPrefix(body, []byte(known.mark)); ok {
			return rest, known.set
		}
	}
	return body, nil
}

// wideByZeros knows UTF-32 and UTF-16 by the zeros beside their ASCII characters. Documents have markup, so there
// are many, from the first character on. It returns nil for anything else.
func wideByZeros(body []byte) encoding.Encoding {
	if len(body) < 4 {
		return nil
	}
	var letters [4]bool
	for i, b := range body[:4] {
		letters[i] = b != 0
	}
	switch letters {
	case [4]bool{true, false, false, false}:
		return utf32Little
	case [4]bool{false, false, false, true}:
		return utf32Big
	case [4]bool{true, false, true, false}:
		return utf16Little
	case [4]bool{false, true, false, true}:
		return utf16Big
	}
	// A page may begin with its text.
	sample := body[:min(len(body), 4<<10)]
	var zeros [2]int
	for i, b := range sample {
		if b == 0 {
			zeros[i%2]++
		}
	}
	const fewest, most = 10, 200 // of so many characters, one at least has a zero in the one place, and one at most in the other
	switch {
	case zeros[1]*2*fewest >= len(sample) && zeros[0]*2*most <= len(sample):
		return utf16Little
	case zeros[0]*2*fewest >= len(sample) && zeros[1]*2*most <= len(sample):
		return utf16Big
	}
	return nil
}

// looksWide reports whether a document that has no ASCII at all is in UTF-16, as it is declared to be: nothing in it is
// broken, and as many characters as in any text in ideographs are kana or signs.
func looksWide(body []byte, set encoding.Encoding) bool {
	common, all := 0, 0
	for _, r := range string(convert(body[:min(len(body), 4<<10)&^1], set)) {
		all++
		switch {
		case r >= '\u3000' && r <= '\u30ff':
			common++
		case !unicode.IsPrint(r):
			return false
		}
	}
	return len(body)%2 == 0 && common*20 >= all && all > 0
}

// isISO2022JP finds the escape sequences that switch to kanji. They are ASCII and would pass as UTF-8, but an escape
// character has no place in any other document.
func isISO2022JP(body []byte) bool {
	return bytes.Contains(body, []byte("\x1b$B")) || bytes.Contains(body, []byte("\x1b$@"))
}

// countUTF8 counts the sequences of several bytes that are UTF-8, and the bytes that are not.
func countUTF8(body []byte) (valid, stray int) {
	for len(body) > 0 {
		r, size := utf8.DecodeRune(body)
		switch {
		case r == utf8.RuneError && size == 1:
			stray++
		case size > 1:
			valid++
		}
		body = body[size:]
	}
	return valid, stray
}

// mend replaces what is not UTF-8. A single byte between ASCII characters is mostly a letter or a quotation mark of
// windows-1252 that was pasted in, and is read so.
func mend(body []byte) []byte {
	mended, _, _ := mendAndCount(body)
	return mended
}

// mendAndCount also counts what it has read as windows-1252, and what is lost.
func mendAndCount(body []byte) (mended []byte, read, lost int) {
	if utf8.Valid(body) {
		return body, 0, 0
	}
	mended = make([]byte, 0, len(body)+len(body)/16)
	ascii := func(i int) bool { return i < 0 || i >= len(body) || body[i] < utf8.RuneSelf }
	for i := 0; i < len(body); {
		r, size := utf8.DecodeRune(body[i:])
		if r == utf8.RuneError && size == 1 {
			r = charmap.Windows1252.DecodeByte(body[i])
			if ascii(i-1) && ascii(i+1) && pasted(r) {
				read++
			} else {
				lost++
				r = utf8.RuneError
				for i+size < len(body) && !utf8.RuneStart(body[i+size]) { // one mark for each character
					size++
				}
			}
		}
		mended = utf8.AppendRune(mended, r)
		i += size
	}
	return mended, read, lost
}

// pasted reports whether a character of windows-1252 is one that people write.
func pasted(r rune) bool {
	return unicode.IsLetter(r) && r != 'ÿ' || strings.ContainsRune("€…‘’“”•–—™\u00a0©«®°´·»", r)
}
