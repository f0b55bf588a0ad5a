// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package prose

import (
	"strings"
	"unicode"
)

// IsCJK reports whether a letter belongs to a script that is written without spaces between words,
// or (Korean) counted like one.
func IsCJK(r rune) bool {
	switch { // most of all text, without a look into the tables
	case r < 0x1100:
		return false
	case IsCommonCJK(r):
		return true
	case r >= '、' && r <= '〄', r >= '〈' && r <= '〠', r >= '！' && r <= '･': // marks, and wide forms of other letters
		return false
	}
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) || r == 'ー' || r == '々'
}

// IsCommonCJK reports whether a character is one of the letters that most Chinese and Japanese text is of. Of those that IsCJK reports,
// others may be numbers or marks.
func IsCommonCJK(r rune) bool {
	return r >= 0x4e00 && r <= 0x9fff || r >= 0x3041 && r <= 0x3096 || r >= 0x30a1 && r <= 0x30fa
}

// IsWide reports whether a character is two columns wide, and so needs no space beside it.
func IsWide(r rune) bool {
	return IsCommonCJK(r) || r >= 0x1100 && (IsCJK(r) && (r >= 0x3300 && r <= 0x9fff || !unicode.Is(unicode.Hangul, r)) ||
		r >= 0x3001 && r <= 0x303f || r >= 0xff01 && r <= 0xff60)
}

// IsStopWord reports whether a word in small letters is too common in its language to say what a text
// is about. Japanese has none: what is written in hiragana alone is as good a sign.
func IsStopWord(word, language string) bool { return stopWords[language][word] }

// StopWords are such words of one language.
type StopWords map[string]bool

// StopWordsOf returns those of a language, which nobody may change; none for one without.
func StopWordsOf(language string) StopWords { return stopWords[language] }

var stopWords = map[string]StopWords{
	"en": set(`a about after again all also am an and any are as at be because been before being between both but by can
		could did do does doing down during each few for from further had has have having he her here hers him his how
		however i if in into is it its itself just may me more most my new no nor not now of off on once one only or other our
		out over own said same say says she should so some such than that the their them then there these they this those
		through to today too under until up us use used using very was we were what when where which while who whom why
		will with would you your`),
	"de": set(`aber als am an auch auf aus bei bis das dass dem den der des die doch durch ein eine einem einen einer eines er es
		für hat haben ich ihr im in ist ja kann mit nach nicht noch nur oder sich sie sind so über um und uns unter vom von
		vor war was wenn werden wie wir wird wurde zu zum zur`),
	"fr": set(`a à au aux avec ce ces cette comme dans de des du elle en est et été être il ils je la le les leur lui mais ne nous
		on ont ou où par pas plus pour qu que qui sa se ses son sont sur un une vous d l s n c j`),
	"es": set(`a al ante como con de del desde el ella en entre era es esta este esto fue ha han hasta la las le lo los más me no o
		para pero por que se ser si sin sobre son su sus también un una y ya`),
	"it": set(`a ad al alla che chi ci come con da dal dalla dei del della delle di e è ed essere gli ha hanno i il in io la le lo ma
		nel nella non o per più quella questo se si sono su sua suo tra un una uno`),
	"pt": set(`a ao aos as com como da das de do dos e é ela ele em entre era essa esta este eu foi mais mas na nas não no nos o os
		ou para pela pelo por que se sem ser seu sua são também um uma`),
	"nl": set(`aan al als bij dan dat de den der die dit door een en er haar had heb heeft het hij hoe ik in is je kan maar me met na
		naar niet nog of om onder ook op over te tot uit van veel voor was wat we wel werd wordt ze zich zijn zo`),
}

func set(words string) StopWords {
	out := map[string]bool{}
	for word := range strings.FieldsSeq(words) {
		out[word] = true
	}
	return out
}
