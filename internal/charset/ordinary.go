// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package charset

import (
	"math"
	"strings"
	"unicode"
	"unicode/utf8"
)

// reading is how a text looks when it is read in one character set. Of two readings of the same bytes the one
// that costs less is more likely: the costs are logarithms of improbabilities.
type reading struct {
	cost float64
	// ordinary is set if the text looks as texts in its language do. No reading may: there are languages that
	// are not known here.
	ordinary bool
}

// A character is a rune with what has to be known of it again and again.
type character struct {
	rune
	small        rune // the same in lower case
	letter       bool // or a mark that stands with one
	upper, lower bool
	beyond       bool // ASCII
}

// space stands before and after every text.
var space = charactersOf([]byte(" "))[0]

func charactersOf(text []byte) []character {
	characters := make([]character, 0, len(text))
	for _, r := range string(text) {
		characters = append(characters, character{
			rune: r, small: unicode.ToLower(r), letter: unicode.IsLetter(r) || unicode.IsMark(r), upper: unicode.IsUpper(r), lower: unicode.IsLower(r),
			beyond: r >= utf8.RuneSelf,
		})
	}
	return characters
}

// look reads a text in the language in which it costs least. ASCII alone costs nothing: it is the same in all
// character sets that are compared. A text that costs more than enough is not read to its end.
func look(text []byte, enough float64) reading {
	characters := charactersOf(text)
	of, beyond := mainWriting(characters)
	best := math.Inf(1)
	for _, language := range of.languages {
		best = min(best, language.cost(characters, min(best, enough)))
	}
	return reading{cost: best, ordinary: beyond > 0 && best <= of.most*float64(beyond)}
}

// mainWriting is the one that most letters beyond ASCII are of. It also counts the characters beyond ASCII.
func mainWriting(characters []character) (main *writing, beyond int) {
	all := writings()
	counts := make([]int, len(all))
	for _, c := range characters {
		if !c.beyond {
			continue
		}
		beyond++
		for i, writing := range all {
			if unicode.In(c.rune, writing.letters...) {
				counts[i]++
				break
			}
		}
	}
	most := 0
	for i, count := range counts {
		if count > counts[most] {
			most = i
		}
	}
	return all[most], beyond
}

// cost is that of a text, or anything above enough.
func (l *language) cost(characters []character, enough float64) float64 {
	cost, before := 0.0, space
	for at, c := range characters {
		if cost > enough {
			break
		}
		switch {
		case !c.beyond && !before.beyond:
		case c.beyond && !c.letter:
			after := space
			if at+1 < len(characters) {
				after = characters[at+1]
			}
			cost += costOfSign(before, c, after)
			if before.beyond {
				cost += l.costOfPair(before, space)
			}
		case l.singles != nil:
			cost += l.costOfSingle(before, c)
		default:
			cost += l.costOfPair(before, c)
		}
		before = c
	}
	return cost
}

// costOfPair is that of a letter after another, or after or before what is no letter. At least one of the two is beyond ASCII.
func (l *language) costOfPair(before, c character) float64 {
	if l.singles != nil || !before.letter && !c.letter {
		return 0
	}
	cost := 0.0
	if c.upper && before.lower {
		const turned = 5 // no word goes on with a capital; but in some character sets all are where others have small letters
		cost += turned
	}
	if !l.writing.joins && before.letter && c.letter && before.beyond != c.beyond {
		cost += costMixed
	}
	first, knownFirst := l.number(before)
	second, known := l.number(c)
	switch {
	case !known && c.beyond && !unicode.In(c.rune, l.writing.letters...):
		if before.letter {
			cost += costMixed
		}
		return cost + costForeign
	case !known:
		return cost + costStrange
	case !knownFirst:
		first = 0
	}
	return cost + l.pairs[first][second]
}

// number is that of a letter, as the language has it.
func (l *language) number(c character) (number int, known bool) {
	if !c.letter || !c.beyond && l.writing != latin {
		return 0, true
	}
	number, known = l.letters[c.small]
	return number, known
}

// costOfSingle is that of a character in a language of ideographs. Latin words stand beside those, but with a capital
// mostly, and not on both sides.
func (l *language) costOfSingle(before, c character) float64 {
	cost := 0.0
	for _, pair := range [][2]character{{before, c}, {c, before}} {
		if ascii, other := pair[0], pair[1]; !ascii.beyond && ascii.lower && other.letter {
			cost += costMixed / 2
		}
	}
	if !c.beyond {
		return cost
	}
	if counted, ok := l.singles[c.rune]; ok {
		return cost + counted
	}
	const halfWidth = 9.0 // katakana
	switch {
	case c.rune >= '\uff61' && c.rune <= '\uff9f':
		return cost + halfWidth
	case unicode.In(c.rune, l.writing.letters...):
		return cost + costRare
	}
	return cost + costForeign
}

// costOfSign is that of a character that is no letter and not in ASCII.
func costOfSign(before, c, after character) float64 {
	const (
		usual, unusual = 6.0, 8.0
		inWord         = 4.0 // more, for what stands between two letters
		together       = 3.0 // more, for several of them
	)
	r, within := c.rune, 0.0
	if before.letter && after.letter {
		within = inWord
	}
	if before.beyond && !before.letter && before.rune != '\u00a0' && !isWideSign(before.rune) {
		within += together
	}
	switch {
	case r == utf8.RuneError, !unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.P, unicode.S, unicode.Z, unicode.Cf):
		return costBroken
	case r == '\u00a0':
		return 4
	case r == '’':
		return usual - 1
	case isWideSign(r):
		return 5
	case strings.ContainsRune("‘“”„–—…«»•·°©®€£§،؟؛", r):
		return usual + within
	case (r == '¿' || r == '¡') && !before.letter:
		return usual
	}
	return unusual + within
}

// isWideSign reports whether a character is one of the signs that stand between ideographs.
func isWideSign(r rune) bool {
	return r >= 0x3000 && r <= 0x301f || r >= 0xff01 && r <= 0xff60 || r == '・' || r == 'ー'
}
