// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package charset

import (
	_ "embed"
	"math"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
)

// counted has a line for each language: its name, and what is frequent in it, in groups. A group is a digit, the
// binary logarithm of how often something occurs in 16,384, and what occurs so often: pairs of letters, in lower
// case and with _ for the border of a word; or, where the name is one of ideographs, characters. hack/languages counts them.
//
//go:embed languages.txt
var counted string

// Costs, in natural logarithms of one to the probability, of what was not counted.
const (
	costStrange   = 11.0 // a letter, or a pair of letters, that the language does not have
	costForeign   = 12.0 // a letter of another writing
	costMixed     = 6.0  // more, for a letter beside one of another writing
	costBroken    = 20.0 // what is no character at all
	costIdeograph = 10.0 // an ideograph, or a syllable, that is in common use
	costRare      = 13.0 // any other of them
)

// language is what letters a language is written with, and how it joins them.
type language struct {
	writing *writing
	// letters numbers the letters; 0 stands for the border of a word.
	letters map[rune]int
	// pairs are the costs of a letter (second index) after another (first).
	pairs [][]float64
	// singles are the costs of characters, for a language whose characters are counted one by one.
	singles map[rune]float64
}

// writing is a set of letters that some languages share.
type writing struct {
	letters []*unicode.RangeTable
	// most is the cost of one character beyond ASCII, on average, up to which a text looks ordinary.
	most float64
	// joins is set if ASCII letters stand beside these within a word.
	joins     bool
	languages []*language
}

var (
	latin    = &writing{letters: []*unicode.RangeTable{unicode.Latin}, most: 9.5, joins: true}
	cyrillic = &writing{letters: []*unicode.RangeTable{unicode.Cyrillic}, most: 5.5}
	greek    = &writing{letters: []*unicode.RangeTable{unicode.Greek}, most: 5.5}
	hebrew   = &writing{letters: []*unicode.RangeTable{unicode.Hebrew}, most: 5.5}
	arabic   = &writing{letters: []*unicode.RangeTable{unicode.Arabic}, most: 5.5}
	thai     = &writing{letters: []*unicode.RangeTable{unicode.Thai}, most: 5.5}
	// The four languages of ideographs are told apart by which of their characters are frequent.
	ideographs = &writing{letters: []*unicode.RangeTable{unicode.Han, unicode.Hangul, unicode.Hiragana, unicode.Katakana}, most: 9.5, joins: true}
)

var writingOf = map[string]*writing{
	"be": cyrillic, "bg": cyrillic, "ru": cyrillic, "sr": cyrillic, "uk": cyrillic, "el": greek, "he": hebrew, "ar": arabic, "fa": arabic,
	"th": thai, "ja": ideographs, "ko": ideographs, "zh-hans": ideographs, "zh-hant": ideographs,
}

// writings are all of them, with their languages.
var writings = sync.OnceValue(func() []*writing {
	for line := range strings.Lines(counted) {
		name, groups, _ := strings.Cut(strings.TrimSpace(line), " ")
		of := writingOf[name]
		if of == nil {
			of = latin
		}
		read := &language{writing: of}
		if of == ideographs {
			read.readSingles(name, groups)
		} else {
			read.readPairs(groups)
		}
		of.languages = append(of.languages, read)
	}
	return []*writing{latin, cyrillic, greek, hebrew, arabic, thai, ideographs}
})

// readPairs fills letters and pairs. A pair that was not counted is taken to be as frequent as its letters are.
func (l *language) readPairs(groups string) {
	type pair struct{ first, second int }
	counts := map[pair]float64{}
	l.letters = map[rune]int{'_': 0}
	number := func(r rune) int {
		if _, ok := l.letters[r]; !ok {
			l.letters[r] = len(l.letters)
		}
		return l.letters[r]
	}
	for group := range strings.FieldsSeq(groups) {
		often := math.Exp2(float64(group[0] - '0'))
		var first rune
		for at, r := range []rune(group[1:]) {
			if at%2 == 1 {
				counts[pair{number(first), number(r)}] = often
			}
			first = r
		}
	}
	delete(l.letters, '_') // it is no letter
	size := len(l.letters) + 1
	before, after, all := make([]float64, size), make([]float64, size), 0.0
	for found, often := range counts {
		before[found.first] += often
		after[found.second] += often
		all += often
	}
	const uncounted = 0.15
	l.pairs = make([][]float64, size)
	for first := range l.pairs {
		l.pairs[first] = make([]float64, size)
		for second := range l.pairs[first] {
			share := counts[pair{first, second}] / max(before[first], 1)
			l.pairs[first][second] = min(-math.Log((1-uncounted)*share+uncounted*after[second]/all), costStrange)
		}
	}
}

// readSingles fills singles: with what is in common use, and with what was counted.
func (l *language) readSingles(name, groups string) {
	l.singles = map[rune]float64{}
	switch name {
	case "ja": // the first level of JIS X 0208
		l.addCommon(japanese.EUCJP, 0xb0, 0xcf, 0xa1)
		for r := 'ぁ'; r <= 'ヺ'; r++ {
			l.singles[r] = 6.5
		}
		l.singles['ー'] = 4.5
	case "zh-hans": // the first level of GB 2312
		l.addCommon(simplifiedchinese.GBK, 0xb0, 0xd7, 0xa1)
	case "zh-hant": // the first level of Big5
		l.addCommon(traditionalchinese.Big5, 0xa4, 0xc6, 0x40)
	case "ko":
		for r := '가'; r <= '힣'; r++ {
			l.singles[r] = 8.5
		}
	}
	all := 0.0
	for pass := range 2 {
		for group := range strings.FieldsSeq(groups) {
			often := math.Exp2(float64(group[0] - '0'))
			for _, r := range group[1:] {
				if pass == 0 {
					all += often
				} else {
					l.singles[r] = min(-math.Log(often/all), costIdeograph)
				}
			}
		}
	}
}

// addCommon adds the ideographs of a character set that are in common use: those whose first byte is in a range.
func (l *language) addCommon(set encoding.Encoding, first, last, second byte) {
	for lead := first; lead <= last; lead++ {
		for trail := second; trail < 0xff; trail++ {
			text := convert([]byte{lead, trail}, set)
			if r, size := utf8.DecodeRune(text); size == len(text) && unicode.Is(unicode.Han, r) {
				l.singles[r] = costIdeograph
			}
		}
	}
}
