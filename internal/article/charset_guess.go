// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package article

import (
	"unicode"
	"unicode/utf8"

	"github.com/gogs/chardet"
	"golang.org/x/net/html/charset"
)

// scripts are what the texts in a charset are written in. Charsets of Latin letters are not guessed: they
// are too much alike, and a wrong accent is a smaller harm than a wrong alphabet.
var scripts = map[string][]*unicode.RangeTable{
	"GB18030": {unicode.Han}, "Big5": {unicode.Han}, "EUC-KR": {unicode.Hangul},
	"windows-1251": {unicode.Cyrillic}, "KOI8-R": {unicode.Cyrillic}, "ISO-8859-5": {unicode.Cyrillic},
	"windows-1253": {unicode.Greek}, "ISO-8859-7": {unicode.Greek},
	"windows-1255": {unicode.Hebrew}, "ISO-8859-8": {unicode.Hebrew}, "ISO-8859-8-I": {unicode.Hebrew},
	"windows-1256": {unicode.Arabic}, "ISO-8859-6": {unicode.Arabic},
}

const (
	// maxGuessed is how much of a page is looked at.
	maxGuessed = 64 << 10
	// minConfidence is how sure the guess is at least, in percent.
	minConfidence = 25
)

// guessScript decodes what is by its look in another writing than Latin or Japanese: the letters that are
// not ASCII are of that writing nearly all.
func guessScript(body []byte) (string, bool) {
	guesses, err := chardet.NewHtmlDetector().DetectAll(body[:min(len(body), maxGuessed)])
	if err != nil {
		return "", false
	}
	for _, guess := range guesses {
		letters := scripts[guess.Charset]
		if letters == nil || guess.Confidence < minConfidence {
			continue
		}
		found, _ := charset.Lookup(guess.Charset)
		if found == nil {
			continue
		}
		text := toUTF8(body, found)
		own, foreign := 0, 0
		for _, r := range text {
			switch {
			case r < utf8.RuneSelf || !unicode.IsLetter(r):
			case unicode.In(r, letters...):
				own++
			default:
				foreign++
			}
		}
		if legible(text) && own > 10*foreign {
			return text, true
		}
	}
	return "", false
}
