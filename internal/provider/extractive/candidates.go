// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package extractive

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/feed-operator/feed-operator/internal/phrases"
	"github.com/feed-operator/feed-operator/internal/prose"
)

const (
	// maxSentences of an article are considered.
	maxSentences = 400
	// expectedSentences is how many most articles have; there is room for them at once.
	expectedSentences = 16
)

// sentence is a part of the article that may become part of its summary.
type sentence struct {
	text     string
	lower    string      // text in small letters
	found    phrases.Set // lists that have a phrase in it
	size     size
	position int     // its place in the article, in sentences
	section  float64 // how much what is below its heading is worth
	phatic   bool    // words to the reader, which say nothing of the matter
	figures  float64 // how much of it are figures, from 0 to 1
	opening  bool    // in the paragraphs that the article begins with
	story    bool    // from the life of who writes, without a figure
	aside    bool    // such words, or a scene before the news: not taken beside another
	terms    vector
	score    float64
	lean     lean
}

func newSentence(text string, position int) sentence {
	return readSentence(text, measure(text), position)
}

// readSentence searches a text for all that is known of words.
func readSentence(text string, size size, position int) sentence {
	s := sentence{text: text, lower: prose.ToLower(text), size: size, position: position, section: 1, lean: lean{factor: 1}}
	s.found = vocabulary.Find(s.lower)
	s.phatic = s.isPhatic()
	return s
}

// has reports whether a sentence has one of the phrases of a list.
func (s *sentence) has(list phrases.Set) bool { return s.found.Has(list) }

// candidates are the sentences that may be taken as they are.
func (a *article) candidates(source []string) []sentence {
	out := make([]sentence, 0, expectedSentences)
	inNoise := false
	position, weight := 0, 1.0
	opening := true
	for _, block := range source {
		if !prose.EndsSentence(block) && columns(block) < 120 { // a heading
			inNoise = len(out) > 0 && beginsNoise(block)
			weight = section(block)
			opening = len(out) == 0
		}
		if inNoise || isNoiseBlock(block) {
			continue
		}
		weight := weight
		if heading, rest := runIn(block); heading != "" {
			weight, block = section(heading), rest
		}
		for _, text := range split(block, a.language) {
			position++
			words := enough
			if opening && len(out) > 0 {
				words = shortest
			}
			found, ok := a.candidate(text, position, words)
			if !ok || strings.EqualFold(strings.TrimRight(text, "。.!！"), a.title) {
				continue
			}
			found.section = weight
			found.opening = opening && weight == 1 && len(out) < openingSentences
			out = append(out, found)
			if len(out) == maxSentences {
				return out
			}
		}
		opening = opening && len(out) < openingSentences
	}
	return out
}

// openingSentences are what news begin with: one paragraph, or some of one sentence each.
const openingSentences = 3

// How many words a sentence needs, to say something by itself, and beside the one that the article begins with: "Nobody was hurt."
const (
	enough   = 6
	shortest = 3
)

// candidate reads a text, and reports whether it is a whole sentence of the article's language, of at least so many words, and complete
// without a link or a picture. Its words are looked at last: headings and the rows of tables are told by less.
func (a *article) candidate(text string, position, words int) (s sentence, ok bool) {
	if !prose.EndsSentence(text) {
		return s, false
	}
	size := measure(text)
	if !a.isSentence(text, size, words) {
		return s, false
	}
	s = readSentence(text, size, position)
	return s, !s.isNoise()
}

// isSentence reports whether a text that ends like a sentence has what one has.
func (a *article) isSentence(text string, size size, words int) bool {
	if size.runes > prose.MaxSentence || strings.Contains(text, linkMark) || strings.Contains(text, "<") && openTag.MatchString(text) {
		return false
	}
	if size.letters*2 < size.runes || !a.cjk && isOfNames(text) { // a row of a table, or a line-up
		return false
	}
	// Five characters say about as much as two words of other languages.
	if a.cjk {
		return 2*(size.cjk+3*size.words) >= 5*words && size.cjk*4 >= size.letters
	}
	return size.words >= words && size.cjk*4 <= size.letters
}

// isOfNames reports whether nearly all words of a text are names: a sentence has small words between them. What is written in capitals
// only has no names that could be told from its words.
func isOfNames(text string) bool {
	names, words := 0, 0
	for word := range strings.FieldsSeq(text) {
		words++
		first, size := utf8.DecodeRuneInString(word)
		second, _ := utf8.DecodeRuneInString(word[size:])
		if unicode.IsUpper(first) && unicode.IsLower(second) {
			names++
		}
	}
	return names*4 > words*3
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
			found := newSentence(plain(text), len(out))
			size := found.size
			if size.words < 3 && size.cjk < 8 && size.letters < 20 || found.isNoise() || strings.EqualFold(found.text, a.title) {
				continue
			}
			out = append(out, found)
			if len(out) == maxSentences {
				return out
			}
		}
	}
	return out
}

// size is what a text has of everything, spaces not counted.
type size struct{ runes, letters, digits, cjk, words int }

// measure counts; words are those of scripts with spaces.
func measure(text string) size {
	var out size
	inWord := false
	for _, r := range text {
		if r < utf8.RuneSelf {
			inWord = out.countASCII(r, inWord)
			continue
		}
		if prose.IsCommonCJK(r) {
			inWord = false
			out.runes++
			out.letters++
			out.cjk++
			continue
		}
		cjk := prose.IsCJK(r)
		number := unicode.IsNumber(r)
		letter := unicode.IsLetter(r) || unicode.IsMark(r)
		word := (letter || number) && !cjk || inWord && r == '’'
		if word && !inWord {
			out.words++
		}
		inWord = word
		if !unicode.IsSpace(r) {
			out.runes++
		}
		if letter {
			out.letters++
		}
		if number && unicode.IsDigit(r) {
			out.digits++
		}
		if cjk {
			out.cjk++
		}
	}
	return out
}

// countASCII counts one character of ASCII without a look into the tables, and reports whether it is in a word.
func (s *size) countASCII(r rune, inWord bool) bool {
	word := false
	switch {
	case r == ' ' || r >= '\t' && r <= '\r':
		return false
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z':
		s.letters++
		word = true
	case r >= '0' && r <= '9':
		s.digits++
		word = true
	case r == '\'', r == '-', r == '.':
		word = inWord
	}
	s.runes++
	if word && !inWord {
		s.words++
	}
	return word
}
