// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package extractive

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// phrases are looked for one after the other, in small letters.
type phrases []string

// list takes phrases apart that are written one after the other, with "|" between them.
func list(all string) phrases { return strings.Split(all, "|") }

// in says whether one of the phrases is in a text in small letters. A phrase of ASCII letters is found as whole words.
func (p phrases) in(lower string) bool {
	for _, phrase := range p {
		if at := strings.Index(lower, phrase); at >= 0 && isWhole(lower, phrase, at) {
			return true
		}
	}
	return false
}

// begin says whether a text in small letters begins with one of the phrases.
func (p phrases) begin(lower string) bool {
	for _, phrase := range p {
		if strings.HasPrefix(lower, phrase) && isWhole(lower, phrase, 0) {
			return true
		}
	}
	return false
}

// isWhole says whether no word goes on beside a phrase that begins or ends with an ASCII letter. Of a phrase that is
// there more than once, the first is looked at.
func isWhole(text, phrase string, at int) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:at])
	after, _ := utf8.DecodeRuneInString(text[at+len(phrase):])
	return !(isASCIILetter(rune(phrase[0])) && unicode.IsLetter(before)) &&
		!(isASCIILetter(rune(phrase[len(phrase)-1])) && unicode.IsLetter(after) && after <= unicode.MaxLatin1)
}

func isASCIILetter(r rune) bool { return r >= 'a' && r <= 'z' }

// marks are lists of phrases that are looked for together: one bit for each.
type marks uint32

// vocabulary finds which of its lists have a phrase in a text, in one pass over it. To look for one phrase after the other, or by an
// expression with all of them, takes many times as long.
type vocabulary struct {
	lists int
	// single are the phrases of one byte; longer are the others, by their first three bytes. None has two.
	single [256]marks
	longer map[uint32][]marked
}

type marked struct {
	phrase  string
	mark    marks
	asWords bool // found as phrases.in finds them
}

// inSentences are the lists of this package. It is complete when the package is initialized, and only read then.
var inSentences vocabulary

// words adds a list of phrases, of which those of ASCII letters are found as whole words.
func words(all string) marks { return inSentences.add(list(all), true) }

// pieces adds a list of phrases that are found within words as well.
func pieces(all string) marks { return inSentences.add(list(all), false) }

func (v *vocabulary) add(all phrases, asWords bool) marks {
	if v.longer == nil {
		v.longer = map[uint32][]marked{}
	}
	mark := marks(1) << v.lists
	v.lists++
	for _, phrase := range all {
		if len(phrase) == 1 {
			v.single[phrase[0]] |= mark
			continue
		}
		begin := uint32(phrase[0])<<16 | uint32(phrase[1])<<8 | uint32(phrase[2])
		v.longer[begin] = append(v.longer[begin], marked{phrase, mark, asWords})
	}
	return mark
}

// find returns the marks of a text in small letters.
func (v *vocabulary) find(lower string) (found marks) {
	last := uint32(0) // three bytes
	for i := range len(lower) {
		last = last<<8&0xffffff | uint32(lower[i])
		found |= v.single[lower[i]]
		for _, m := range v.longer[last] {
			if found&m.mark == 0 && strings.HasPrefix(lower[i-2:], m.phrase) && (!m.asWords || phrases{m.phrase}.in(lower)) {
				found |= m.mark
			}
		}
	}
	return found
}

// guarded is an expression that is tried only on sentences that have a mark: each of its alternatives has one of its pieces.
type guarded struct {
	expression *regexp.Regexp
	pieces     marks
}

func (g guarded) in(text string, found marks) bool {
	return found&g.pieces != 0 && g.expression.MatchString(text)
}

// beginning is an expression for the beginning of a text, which is tried only where one of some pieces is there, in small letters.
type beginning struct {
	expression *regexp.Regexp
	pieces     []string
}

func (b beginning) of(text, lower string) bool {
	for _, piece := range b.pieces {
		if strings.HasPrefix(lower, piece) {
			return b.expression.MatchString(text)
		}
	}
	return false
}
