// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feed

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
)

// sniffJapanese decodes what can only be Shift_JIS or EUC-JP, and returns nil for anything else.
// Each reads as nonsense in the other: without kana, or in half-width ones.
func sniffJapanese(body []byte) []byte {
	const fewest = 4 // kana; a letter of a Western character set may look like one
	var best []byte
	bestShare := 0.2 // no Japanese text has fewer kana; others have next to none
	for _, candidate := range []encoding.Encoding{japanese.ShiftJIS, japanese.EUCJP} {
		text := convert(body, candidate)
		kana, other, damaged := 0, 0, 0
		for _, r := range string(text) {
			switch {
			case r == utf8.RuneError:
				damaged++
			case r >= 0xFF61 && r <= 0xFF9F: // half-width katakana
				other++
			case unicode.In(r, unicode.Hiragana, unicode.Katakana):
				kana++
			case r >= utf8.RuneSelf:
				other++
			}
		}
		share := float64(kana) / float64(max(kana+other, 1))
		if damaged*50 <= kana && kana >= fewest && share > bestShare {
			best, bestShare = text, share
		}
	}
	return best
}

// scripts are character sets of scripts other than Latin, with the characters that are frequent in
// it, and how much of an ordinary text these are at least. In the wrong character set others are.
var scripts = []struct {
	encoding encoding.Encoding
	frequent string
	share    float64
}{
	{charmap.Windows1251, "оеаинтсрвлкмдпуяыьзбгчйхжшіїє", 0.7},
	{charmap.KOI8U, "оеаинтсрвлкмдпуяыьзбгчйхжшіїє", 0.7},
	{charmap.ISO8859_5, "оеаинтсрвлкмдпуяыьзбгчйхжшіїє", 0.7},
	{charmap.Windows1253, "αοιετσνηυρπκμλςδωγίόάέήύώ", 0.8},
	{charmap.Windows1255, "יוהלאתרמבשנםד", 0.6},
	{charmap.Windows1256, "اليمنورتبةعدسفكح", 0.7},
	{korean.EUCKR, "이다는의에을가고하지를한사도로기서인스시자정부대일리", 0.15},
	{simplifiedchinese.GB18030, "的一是不了在人有我他这中大来上国年日月天新为和地出会", 0.08},
	{traditionalchinese.Big5, "的一是不了在人有我他這中大來上國年日月天新為和地出會", 0.08},
}

// guessByScript decodes text in which characters beyond ASCII stand together, as they do in all
// scripts but Latin. It returns nil where no character set gives a text that looks ordinary.
func guessByScript(body []byte) []byte {
	const (
		sample   = 256 << 10
		fewest   = 8   // characters beyond ASCII
		together = 0.7 // of them next to another
	)
	var best encoding.Encoding
	bestScore := 1.0
	for _, script := range scripts {
		beyond, beside, frequent, damaged := 0, 0, 0, 0
		last := rune(0)
		for _, r := range string(convert(body[:min(len(body), sample)], script.encoding)) {
			if r >= utf8.RuneSelf {
				beyond++
				if last >= utf8.RuneSelf {
					beside++
				}
				if r == utf8.RuneError {
					damaged++
				} else if strings.ContainsRune(script.frequent, r) {
					frequent++
				}
			}
			last = r
		}
		if beyond < fewest || damaged*50 > beyond || float64(beside) < together*float64(beyond) {
			continue
		}
		if score := float64(frequent) / float64(beyond) / script.share; score > bestScore {
			best, bestScore = script.encoding, score
		}
	}
	if best == nil {
		return nil
	}
	return convert(body, best)
}

// mendUTF8 replaces what is not UTF-8. A single byte between ASCII characters is mostly a letter or
// a quotation mark of windows-1252 that was pasted in, and is read so.
func mendUTF8(body []byte) []byte {
	mended := make([]byte, 0, len(body)+len(body)/16)
	ascii := func(i int) bool { return i < 0 || i >= len(body) || body[i] < utf8.RuneSelf }
	for i := 0; i < len(body); {
		r, size := utf8.DecodeRune(body[i:])
		if r == utf8.RuneError && size == 1 {
			r = charmap.Windows1252.DecodeByte(body[i])
			if !ascii(i-1) || !ascii(i+1) || !pasted(r) {
				r = utf8.RuneError
				for i+size < len(body) && !utf8.RuneStart(body[i+size]) { // one mark for each character
					size++
				}
			}
		}
		mended = utf8.AppendRune(mended, r)
		i += size
	}
	return bytes.ToValidUTF8(mended, nil)
}

// pasted says whether a character of windows-1252 is one that people write.
func pasted(r rune) bool {
	return unicode.IsLetter(r) && r != 'ÿ' || strings.ContainsRune("€…‘’“”•–—™ ©«®°´·»", r)
}
