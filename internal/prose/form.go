// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package prose

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// ToLower is strings.ToLower, which looks up each Chinese and Japanese character in the tables of letters.
func ToLower(text string) string {
	const first, last = 0x2e80, 0xa63f // of a range in which no letter has another form
	if begin, _ := utf8.DecodeRuneInString(text); begin < first {
		return strings.ToLower(text)
	}
	if isPlainlySmall(text) {
		return text
	}
	return strings.Map(func(r rune) rune {
		if r >= first && r <= last {
			return r
		}
		return unicode.ToLower(r)
	}, text)
}

// isPlainlySmall reports of most Chinese and Japanese texts that no letter of them has a small form, by their bytes alone.
func isPlainlySmall(text string) bool {
	const begin, end = 0xe3, 0xe9 // what the three bytes of U+3000 to U+9FFF begin with
	continues := func(b byte) bool { return b&0xc0 == 0x80 }
	for i := 0; i < len(text); {
		switch b := text[i]; {
		case b < utf8.RuneSelf && (b < 'A' || b > 'Z'):
			i++
		case b >= begin && b <= end && i+2 < len(text) && continues(text[i+1]) && continues(text[i+2]):
			i += 3
		default:
			return false
		}
	}
	return true
}

// NFKC returns the form of that name of a text, for most texts without a look into the tables.
func NFKC(text string) string {
	const fromWide = '！' - '!'
	wide := false
	for _, r := range text {
		switch {
		case r < utf8.RuneSelf, IsCommonCJK(r), r >= '、' && r <= '】', r == 'ー':
		case r >= '！' && r <= '～':
			wide = true
		default:
			return norm.NFKC.String(text)
		}
	}
	if !wide {
		return text
	}
	return strings.Map(func(r rune) rune {
		if r >= '！' {
			return r - fromWide
		}
		return r
	}, text)
}
