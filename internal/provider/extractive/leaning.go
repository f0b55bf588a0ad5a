// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package extractive

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/feed-operator/feed-operator/internal/phrases"
	"github.com/feed-operator/feed-operator/internal/prose"
)

// How sentences begin that are hard to understand without the one before. Those that lean a little
// name what they speak of ("This change", 「この対策」), the others do not.
var (
	leaning = phrases.Parse("it|its|he|she|they|his|her|their|however|but|and|so|also|therefore|thus|moreover|furthermore|additionally|" +
		"meanwhile|instead|for example|for instance|as a result|in addition|then|such|both|here|there|still|yet|or|nor|otherwise|" +
		"similarly|finally|next|neither|either|all of them|some of them|none of them|most of them|the same|" +
		"the reason was|the reason is|that is why|because of this|to do so|to that end|not everything|it's|that's|" +
		"また|なお|しかし|一方|さらに|そのため|このため|これは|これに|これを|これが|これら|これも|これで|これと|それは|それに|それを|それが|それら|それも|それで|それと|それから|" +
		"そこで|そこに|そこは|そこへ|そこから|ここに|ここで|ここは|ここから|ただ、|ただし|加えて|例えば|たとえば|あわせて|併せて|特に|まず|" +
		"次に|最後に|そして|つまり|よって|従って|したがって|だが|ところが|では、|すると|とはいえ|でも、|もっとも、|実際、|とりわけ|" +
		"ほかにも|他にも|いずれも|同様に|逆に|" +
		"理由は|その後|その結果|同じ")
	// existing means that there is something, and points at no place that was told of.
	existing = phrases.Parse("there is|there are|there was|there were|there will|there has|there have")
	// counting is one of several that were announced before; the sentence before need not be the one that did.
	counting = phrases.Parse("the first|the second|the third|the fourth|the last|the latter|the former|the other|the others|another|second|third|" +
		"一つ目|二つ目|三つ目|1つ目|2つ目|3つ目|１つ目|２つ目|第二に|第三に|前者|後者|もう一")
	// thisDid is a sentence in which "this" is all that was told before.
	thisDid        = vocabulary.Guard(regexp.MustCompile(`(?i)\b(?:this|these) (?:is|are|was|were|has|have|had|will|can|would|means?|makes?|made|works?|[a-z]{2,}ed)\b`), "this |these ")
	thisIs         = beginning{regexp.MustCompile(`(?i)^(?:this|that|these|those) (?:is|are|was|were|means?|will|can|has|have|would|should|may|could|allows?|makes?)\b`), []string{"thi", "that", "thes", "theſ", "tho"}}
	leaningALittle = beginning{regexp.MustCompile(`(?i)^(?:(?:this|that|these|those)\b|こうした|そうした|同[省庁社氏市町村県校行]|両[者社氏国市]|この[^たほ度]|その[^他ほ])`), []string{"thi", "that", "thes", "theſ", "tho", "こ", "そ", "同", "両"}}
	// pointing speaks of something that stands beside the text on its page.
	pointing = vocabulary.Guard(regexp.MustCompile(`(?i)^(?:the )?(?:(?:above|following|next) )?(?:graph|chart|figure|diagram|picture|photo|image|map|screenshot|table)s? (?:above|below|shows?|here|on the (?:left|right))\b|`+
		`^(?:上|下|左|右|上記|下記|次|以下|右上|左上)の?(?:の)?(?:グラフ|図|表|写真|画像|地図|動画|イラスト)|^(?:グラフ|図|表|写真|画像)[はがのでに]`),
		"graph|chart|figure|diagram|picture|photo|image|map|screenshot|table|グラフ|図|表|写真|画像|地図|動画|イラスト")
	// saidSo are words within a sentence, or at the end of one that gives the reason for what was said before.
	saidSo = vocabulary.Words("からだ。|からです。|ためだ。|ためです。|計算だ。|計算です。|計算になる。|in the meantime|" +
		"そう述べ|そう話|そう語|こう述べ|こう話|こう語|と振り返る|と笑う|そう言|in this way|this way.")
)

// isOfThem reports whether an English sentence speaks of "them" without having named several of anything: "A plan to install them …".
func isOfThem(lower string) bool {
	before, _, found := strings.Cut(lower, " them ")
	if !found {
		return false
	}
	for word := range strings.FieldsSeq(before) {
		switch word = bare(word); word {
		case "people", "men", "women", "children", "police", "and":
			return false
		case "was", "is", "has", "does", "its", "his", "this", "as", "us":
		default:
			if strings.HasSuffix(word, "s") {
				return false
			}
		}
	}
	return true
}

// isLost reports whether a sentence cannot be understood beside those that are chosen.
func (s sentence) isLost(chosen []sentence) bool {
	return s.lean.factor <= alone && s.support(chosen) <= alone
}

// joining are those of the leaning words that only join a sentence to the one before, and stand for nothing in it.
var joining = phrases.Parse("however|but|and|so|also|therefore|thus|moreover|furthermore|additionally|meanwhile|instead|then|still|yet|finally|now|" +
	"しかし|一方|さらに|そこで、|ただ、|そして|つまり|だが|ところが|すると|とはいえ|でも、")

// withoutJoining takes such a word off the beginning of a text in small letters.
func withoutJoining(lower string) string {
	for _, word := range joining {
		if strings.HasPrefix(lower, word) && phrases.IsWhole(lower, word, 0) {
			return strings.TrimLeft(lower[len(word):], " ,、")
		}
	}
	return lower
}

// How much a sentence is worth without the one that explains it.
const (
	alone        = 0.45 // that leans
	aloneALittle = 0.8  // that leans a little
	unexplained  = 0.6  // that speaks of a thing as known which another sentence told of
	explained    = 0.7  // that leans on one that is there
	ofPicture    = 0.2  // that speaks of a picture
)

// lean is what a sentence needs, to be understood.
type lean struct {
	factor float64
	// on are the positions of the sentences of which any explains it: the one before, or those that name what it speaks of.
	on []int
}

// farthest is how many sentences before another are searched for what it speaks of. It bounds the work.
const farthest = 40

// leans finds out what each sentence leans on. The one that the news begin with says what the title does, so that a
// word that only joins it to a scene before leaves nothing open: "Then Sade Adeyemi scored twice …".
func (a *article) leans(all []sentence, beginOfNews int) {
	title := strings.ToLower(a.title)
	for i := range all {
		text, lower := all[i].text, all[i].lower
		joined := false
		if i == beginOfNews {
			if rest := withoutJoining(lower); rest != lower {
				joined, text, lower = true, rest, rest
			}
		}
		before := []int{all[i].position - 1}
		switch {
		case pointing.In(text, all[i].found):
			all[i].lean = lean{ofPicture, nil}
		case i > 0 && counting.Begins(lower):
			all[i].lean = lean{alone, nil}
		case leaning.Begins(lower) && !existing.Begins(lower), thisIs.of(text, lower), thisDid.In(text, all[i].found), all[i].has(saidSo), isOfThem(lower):
			all[i].lean = lean{alone, before}
		case leaningALittle.of(text, lower):
			all[i].lean = lean{aloneALittle, before}
		default:
			all[i].lean = lean{1, nil}
			if joined {
				all[i].lean = lean{aloneALittle, before}
			}
			for _, known := range knownThings(all[i].text, a.language) {
				if strings.Contains(title, known.word) {
					continue
				}
				if on := known.mentions(all[max(0, i-farthest):i]); len(on) > 0 {
					all[i].lean = lean{unexplained, on}
					break
				}
			}
		}
	}
}

// support is what is left of the worth of a sentence beside those that are chosen.
func (s sentence) support(chosen []sentence) float64 {
	switch {
	case s.lean.factor == 1:
		return 1
	case slices.ContainsFunc(chosen, func(c sentence) bool { return slices.Contains(s.lean.on, c.position) }):
		return explained
	}
	return s.lean.factor
}

// known is what a sentence speaks of as if the reader had heard of it.
type known struct {
	word string // in small letters
	// how it is told of before: by any mention, as "a petition", or as the last part of a longer name.
	how mention
}

type mention int

const (
	anyhow mention = iota
	asNew
	asName
)

// knownThings are those of an English sentence: "The petition" or a last name at its beginning, "the petition" within it.
func knownThings(text, language string) []known {
	if language != "en" {
		return nil
	}
	words := strings.Fields(text)
	if len(words) < 3 {
		return nil
	}
	var out []known
	for i, word := range words[:len(words)-1] {
		if i > 0 && word != "the" && word != "The" {
			continue
		}
		next := bare(words[i+1])
		switch {
		case word == "The" && i == 0 && isPlainWord(next):
			out = append(out, known{next, anyhow})
		case (word == "the" || word == "The") && isPlainWord(next):
			out = append(out, known{next, asNew})
		case i == 0:
			first := strings.TrimSuffix(bare(word), "'s")
			name := strings.ToLower(first)
			if name != first && isPlainWord(name) && !prose.IsStopWord(name, language) && strings.ToLower(next) == next {
				out = append(out, known{name, asName})
			}
		}
	}
	return out
}

// bare is a word without the mark behind it.
func bare(word string) string { return strings.TrimRight(word, ".,;:!?") }

// isPlainWord reports whether a word may name a thing that was told of before. That "the year" follows on "a year" says nothing.
func isPlainWord(word string) bool {
	switch word {
	case "year", "years", "month", "months", "week", "weeks", "hour", "hours", "time", "first", "last", "same", "most", "least", "number", "rest", "whole":
		return false
	}
	return len(word) > 3 && strings.Trim(word, "abcdefghijklmnopqrstuvwxyz-") == ""
}

// mentions are the positions of the sentences that tell of it.
func (k known) mentions(all []sentence) []int {
	var out []int
	for _, s := range all {
		if at := strings.Index(s.lower, k.word); at >= 0 && phrases.IsWhole(s.lower, k.word, at) && k.isToldIn(s.text) {
			out = append(out, s.position)
		}
	}
	return out
}

// isToldIn reports whether a sentence that has the word tells of it in the way that is asked for.
func (k known) isToldIn(text string) bool {
	const reach = 3 // words between "a" and what it belongs to
	if k.how == anyhow {
		return true
	}
	words := strings.Fields(text)
	for i, word := range words {
		word = bare(word)
		if i == 0 || !strings.EqualFold(word, k.word) {
			continue
		}
		if k.how == asNew {
			return slices.ContainsFunc(words[max(0, i-reach):i], func(w string) bool { return w == "a" || w == "an" || w == "A" || w == "An" })
		}
		first, _ := utf8.DecodeRuneInString(words[i-1])
		return word != k.word && unicode.IsUpper(first)
	}
	return false
}
