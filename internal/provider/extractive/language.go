// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package extractive

import (
	"strings"
	"unicode"

	"github.com/abadojack/whatlanggo"

	"github.com/feed-operator/feed-operator/internal/prose"
)

// sampleRunes is how much of a text tells its language.
const sampleRunes = 1_000

// detectLanguage returns the ISO 639-1 code of the language that a text is written in, "" if it
// cannot be told. Scripts decide first, because they cannot be mistaken for one another; a few
// foreign names and quotes do not count.
func detectLanguage(text string) string {
	const firstCJK = 0x1100 // of the characters that are counted by script
	sample := firstRunes(text, sampleRunes)
	var letters, kana, hangul, han int
	for _, r := range sample {
		switch {
		case r < firstCJK:
			if !unicode.IsLetter(r) {
				continue
			}
		case r >= '一' && r <= '龥': // most of them, without a look into the tables
			han++
		case prose.IsCommonCJK(r) && r < '一', unicode.In(r, unicode.Hiragana, unicode.Katakana):
			kana++
		case unicode.Is(unicode.Hangul, r):
			hangul++
		case unicode.Is(unicode.Han, r):
			han++
		case !unicode.IsLetter(r):
			continue
		}
		letters++
	}
	switch {
	case letters == 0:
		return ""
	case (kana+han)*5 >= letters && kana*20 >= letters:
		return "ja"
	case hangul*5 >= letters:
		return "ko"
	case han*5 >= letters:
		return "zh"
	}
	if isEnglish(sample) {
		return "en"
	}
	return whatlanggo.DetectLang(sample).Iso6391()
}

// isEnglish reports whether a text is English beyond doubt, by its smallest words. To compare it with all languages takes a
// hundred times as long.
func isEnglish(text string) bool {
	const (
		least   = 8  // words
		percent = 12 // of the words
	)
	all, english, articles := 0, 0, 0
	for word := range strings.FieldsSeq(text) {
		all++
		switch word {
		case "the", "The":
			articles++
			english++
		case "of", "and", "that", "with", "was", "were", "from", "which", "have", "has", "this", "will", "their", "by", "are", "it":
			english++
		}
	}
	return all >= least && articles > 0 && english*100 >= all*percent
}
