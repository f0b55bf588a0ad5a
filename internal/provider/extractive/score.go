// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package extractive

import (
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/feed-operator/feed-operator/internal/prose"
)

// vector holds the weights of a sentence's terms, by number of term, ascending. It is a slice so
// that sums are made in one order, and the same article has the same summary always.
type vector []weight

type weight struct {
	term  int
	value float64
}

// terms are the words of a text that mean something: lower-case words without stop words, and
// pairs of neighbouring characters where words have no spaces. Pairs of hiragana are endings
// and particles, and left out.
func terms(text, language string) []string {
	return appendTerms(nil, prose.ToLower(prose.NFKC(text)), language)
}

// words appends the terms of a sentence.
func (s *sentence) words(out []string, language string) []string {
	normal := prose.NFKC(s.text)
	if normal == s.text {
		return appendTerms(out, s.lower, language)
	}
	return appendTerms(out, prose.ToLower(normal), language)
}

// appendTerms takes a text in small letters and in the form NFKC.
func appendTerms(out []string, text, language string) []string {
	stop := prose.StopWordsOf(language)
	begin := -1        // of the word that goes on
	before := rune(-1) // the character before, if words have no spaces there
	end := func(at int) {
		if begin >= 0 {
			if word := stem(text[begin:at], language, stop); len(word) > 1 {
				out = append(out, word)
			}
			begin = -1
		}
	}
	for i, r := range text {
		if r >= utf8.RuneSelf && prose.IsCJK(r) {
			end(i)
			if before >= 0 && !(isHiragana(before) && isHiragana(r)) {
				out = append(out, text[i-utf8.RuneLen(before):i+utf8.RuneLen(r)])
			}
			before = r
			continue
		}
		before = -1
		if !isOfWord(r) {
			end(i)
		} else if begin < 0 {
			begin = i
		}
	}
	end(len(text))
	return out
}

// isHiragana reports what the table of that script does, without a look into it for most of all text.
func isHiragana(r rune) bool {
	const last = 0x3096
	if prose.IsCommonCJK(r) {
		return r <= last
	}
	return unicode.Is(unicode.Hiragana, r)
}

// isOfWord reports whether a character, in small letters, is a part of words.
func isOfWord(r rune) bool {
	if r < utf8.RuneSelf { // most of all text, without a look into the tables
		return r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '\''
	}
	return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r) || r == '’'
}

// stem is a word in small letters without its ending, as far as that is easily told; empty for a stop word.
func stem(word, language string, stop prose.StopWords) string {
	if strings.Contains(word, "'") || strings.Contains(word, "’") {
		word = strings.Trim(word, "'’")
		word = strings.TrimSuffix(strings.TrimSuffix(word, "'s"), "’s")
	}
	if stop[word] {
		return ""
	}
	if language == "en" && len(word) > 3 && !strings.HasSuffix(word, "ss") {
		word = strings.TrimSuffix(word, "s")
	}
	return word
}

const (
	// enoughOfTitle is how much of the title, of what the best sentence has of it, is in the sentence that the news begin with.
	enoughOfTitle = 0.6
	// ofOpening is how much more the first sentences are worth where the article begins with the news: who writes
	// news has put there what matters most, that nobody was hurt, though it has no figures and no words of the title.
	ofOpening = 0.15
	// ofFigures is how much less a sentence without figures begins the news.
	ofFigures = 0.3
	// ofScene is how much of the title may be in a sentence that only sets the scene.
	ofScene = 0.1
	// ofStory is the same for a story from the life of who writes.
	ofStory = 0.5
)

// score weighs every sentence by how much of the title it holds, how much it has in common with the whole article (TF-ISF:
// words of few sentences count more), how soon after the beginning of the news it stands, its figures, and its use in a
// summary.
func (a *article) score(all []sentence) {
	central, covers := a.compare(all)
	for i := range all {
		all[i].figures = facts(all[i].text)
		all[i].story = all[i].figures == 0 && all[i].isOfSelf()
		all[i].score = all[i].usefulness() * all[i].section
		if all[i].phatic {
			all[i].score *= 0.25
		}
	}
	first := beginOfNews(all, covers)
	for i := range all {
		total := 0.30*covers[i] + 0.20*all[i].figures + 0.20*central[i]
		if i >= first {
			total += 0.30 / (1 + 0.45*float64(i-first))
		}
		if all[i].opening && first == 0 && covers[0] > ofScene {
			total += ofOpening
		}
		all[i].score *= total
		scene := all[i].figures == 0 && covers[i] < ofScene || all[i].story && covers[i] < ofStory
		all[i].aside = all[i].phatic || i < first && scene
	}
	a.leans(all, first)
}

// beginOfNews returns the index of the first sentence that speaks of most of what the title does. A title may name several
// things, of which the first sentence has one; that it has figures too, when and how much, tells it from a scene. Before it there
// is a scene or a greeting, if anything. The lines of a list begin with the first.
func beginOfNews(all []sentence, covers []float64) int {
	if !prose.EndsSentence(all[0].text) {
		return 0
	}
	most := 0.0
	news := make([]float64, len(all))
	for i := range all {
		news[i] = covers[i] * all[i].score * (1 - ofFigures + ofFigures*all[i].figures)
		if all[i].story {
			news[i] *= 0.6
		}
		most = max(most, news[i])
	}
	first := 0
	for first < len(all)-1 && news[first] < enoughOfTitle*most {
		first++
	}
	if all[first].opening && all[0].figures > 0 && !all[0].phatic && covers[0] >= ofScene {
		return 0 // the title is taken from the first paragraph as a whole
	}
	return first
}

// compare gives all sentences their terms, and returns what each has in common with the others, and with the title; both from
// 0 to 1.
func (a *article) compare(all []sentence) (central, covers []float64) {
	const ofTerm = 8 // bytes that are read before there is a new one
	size := 0
	for i := range all {
		size += len(all[i].text)
	}
	numbers := make(map[string]int, size/ofTerm)
	var seenIn []float64 // in how many sentences a term is, by its number
	var words []string
	var found []int
	for i := range all {
		words, found = all[i].words(words[:0], a.language), found[:0]
		for _, term := range words {
			number, known := numbers[term]
			if !known {
				number = len(seenIn)
				numbers[term] = number
				seenIn = append(seenIn, 0)
			}
			found = append(found, number)
		}
		all[i].terms = newVector(found)
		for _, w := range all[i].terms {
			seenIn[w.term]++
		}
	}
	rarity := make([]float64, len(seenIn))
	for term, count := range seenIn {
		rarity[term] = math.Log(1 + float64(len(all))/count)
	}

	centre := make([]float64, len(seenIn))
	for i := range all {
		all[i].terms.weigh(rarity)
		for _, w := range all[i].terms {
			centre[w.term] += w.value
		}
	}
	title := make([]float64, len(seenIn)) // what each term of it is worth
	whole := 0.0
	for _, term := range terms(a.title, a.language) {
		if number, known := numbers[term]; known && title[number] == 0 {
			title[number] = rarity[number]
			whole += title[number]
		}
	}
	central, covers = make([]float64, len(all)), make([]float64, len(all))
	highest := 0.0
	for i := range all {
		for _, w := range all[i].terms {
			central[i] += w.value * centre[w.term]
			covers[i] += title[w.term]
		}
		highest = max(highest, central[i])
	}
	for i := range all {
		central[i] /= max(highest, math.SmallestNonzeroFloat64)
		covers[i] /= max(whole, math.SmallestNonzeroFloat64)
	}
	return central, covers
}

// newVector counts the numbers of terms.
func newVector(numbers []int) vector {
	slices.Sort(numbers)
	out := make(vector, 0, len(numbers))
	for _, number := range numbers {
		if last := len(out) - 1; last >= 0 && out[last].term == number {
			out[last].value++
		} else {
			out = append(out, weight{number, 1})
		}
	}
	return out
}

// weigh makes weights of counts, by the rarity of the terms, and a length of 1.
func (v vector) weigh(rarity []float64) {
	length := 0.0
	for i, w := range v {
		v[i].value = (1 + math.Log(w.value)) * rarity[w.term]
		length += v[i].value * v[i].value
	}
	length = math.Sqrt(length)
	for i := range v {
		v[i].value /= length
	}
}

// alike is the cosine between two vectors of length 1, and how much of one of them is in the other, by the squares of its weights:
// points at the beginning of a press release are said again with names and places, which makes the two unlike as wholes.
func alike(x, y vector) (cosine, held float64) {
	const least = 4 // terms: of two, one is easily found elsewhere
	ofX, ofY := 0.0, 0.0
	for i, j := 0, 0; i < len(x) && j < len(y); {
		switch {
		case x[i].term < y[j].term:
			i++
		case x[i].term > y[j].term:
			j++
		default:
			cosine += x[i].value * y[j].value
			ofX += x[i].value * x[i].value
			ofY += y[j].value * y[j].value
			i++
			j++
		}
	}
	if min(len(x), len(y)) >= least {
		held = max(ofX, ofY)
	}
	return cosine, held
}

var (
	// pointer sends the reader to something that is not in the summary.
	pointer = vocabulary.Guard(regexp.MustCompile(`(?i)(?:以下|下記|次|別紙|別添|別表|上記|前述)[^。]{0,12}(?:とおり|通り|示)|\b(?:as follows|see below|the following|listed below|shown (?:above|below))\b|:$`),
		"以下|下記|次|別紙|別添|別表|上記|前述|as follows|see below|the following|listed below|shown above|shown below|:")
	question = vocabulary.Guard(regexp.MustCompile(`[?？][」』”"')）]?$|(?:でしょう|ません|です|ます|でした|ました)か。$|^(?:――|──|Q[.:：])`), "?|？|か。|――|──|q.|q:|q：")
	// method is how a survey was made, which press releases explain before its result.
	method = vocabulary.Words("目的として|目的とし|実施しているもの|有効回答|無作為")
)

// usefulness lowers the score of sentences that serve badly in a summary: quotes, questions,
// methods, pointers to what is left out, very short and very long ones.
func (s *sentence) usefulness() float64 {
	factor := s.cues()
	if pointer.In(s.text, s.found) {
		factor *= 0.6
	}
	if question.In(s.text, s.found) {
		factor *= 0.3
	}
	if s.has(method) {
		factor *= 0.3
	}
	words := float64(s.size.words) + float64(s.size.cjk)/3 // three characters say about as much as a word
	switch {
	case words < 10:
		factor *= 0.6 + 0.04*words
	case words > 50:
		factor *= 0.8
	}
	return factor
}

// isSpokenOf reports whether sentences are about the article, and not about the site it is on.
func (a *article) isSpokenOf(found []sentence) bool {
	if len(a.text) == 0 && a.title == "" {
		return true
	}
	known := map[string]bool{}
	for _, text := range append([]string{a.title}, a.text...) {
		for _, term := range terms(text, a.language) {
			known[term] = true
		}
	}
	if len(known) == 0 {
		return true
	}
	common, all := 0, 0
	for _, s := range found {
		for _, term := range terms(s.text, a.language) {
			all++
			if known[term] {
				common++
			}
		}
	}
	return common*3 >= all
}
