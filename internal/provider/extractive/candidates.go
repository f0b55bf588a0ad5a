// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package extractive

import (
	"strings"
	"unicode"

	"github.com/feed-operator/feed-operator/internal/prose"
)

// maxSentences of an article are considered.
const maxSentences = 400

// sentence is a part of the article that may become part of its summary.
type sentence struct {
	text     string
	lower    string  // text in small letters
	position int     // its place in the article, in sentences
	section  float64 // how much what is below its heading is worth
	phatic   bool    // words to the reader, which say nothing of the matter
	aside    bool    // such words, or a scene before the news: not taken beside another
	terms    vector
	score    float64
	lean     lean
}

func newSentence(text string, position int) sentence {
	lower := strings.ToLower(text)
	return sentence{text: text, lower: lower, position: position, section: 1, phatic: isPhatic(text, lower), lean: lean{factor: 1}}
}

// candidates are the sentences that may be taken as they are.
func (a *article) candidates(source []string) []sentence {
	var out []sentence
	inNoise := false
	position, weight := 0, 1.0
	for _, block := range source {
		if !prose.EndsSentence(block) && columns(block) < 120 { // a heading
			inNoise = len(out) > 0 && sectionOfNoise.MatchString(block)
			weight = section(block)
		}
		if inNoise || isNoiseBlock(block) {
			continue
		}
		for _, text := range split(block, a.language) {
			position++
			if !a.isCandidate(text) || strings.EqualFold(strings.TrimRight(text, "。.!！"), a.title) {
				continue
			}
			found := newSentence(text, position)
			found.section = weight
			out = append(out, found)
			if len(out) == maxSentences {
				return out
			}
		}
	}
	return out
}

// isCandidate says whether a text is a whole sentence of the article's language, long enough to
// say something, and complete without a link or a picture.
func (a *article) isCandidate(text string) bool {
	if !prose.EndsSentence(text) {
		return false
	}
	size := measure(text)
	if size.runes > prose.MaxSentence || strings.Contains(text, linkMark) || openTag.MatchString(text) {
		return false
	}
	if size.letters*2 < size.runes { // a row of a table
		return false
	}
	if a.cjk && (size.cjk+3*size.words < 15 || size.cjk*4 < size.letters) || !a.cjk && (size.words < 6 || size.cjk*4 > size.letters) {
		return false
	}
	return !isNoise(text)
}

// lines are what else may stand for the article, one at a time.
func (a *article) lines(source []string) []sentence {
	var out []sentence
	for _, block := range source {
		if isNoiseBlock(block) {
			continue
		}
		texts := split(block, a.language)
		if len(texts) == 0 { // one endless sentence
			texts = []string{firstRunes(block, prose.MaxSentence)}
		}
		for _, text := range texts {
			text = plain(text)
			size := measure(text)
			if size.words < 3 && size.cjk < 8 && size.letters < 20 || isNoise(text) || strings.EqualFold(text, a.title) {
				continue
			}
			out = append(out, newSentence(text, len(out)))
			if len(out) == maxSentences {
				return out
			}
		}
	}
	return out
}

// size is what a text has of everything, spaces not counted.
type size struct{ runes, letters, cjk, words int }

// measure counts; words are those of scripts with spaces.
func measure(text string) size {
	var out size
	inWord := false
	for _, r := range text {
		cjk := prose.IsCJK(r)
		letter := unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r)
		word := letter && !cjk || inWord && (r == '\'' || r == '’' || r == '-' || r == '.')
		if word && !inWord {
			out.words++
		}
		inWord = word
		if !unicode.IsSpace(r) {
			out.runes++
		}
		if letter && !unicode.IsNumber(r) {
			out.letters++
		}
		if cjk {
			out.cjk++
		}
	}
	return out
}
