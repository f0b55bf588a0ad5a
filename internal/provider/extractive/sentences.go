// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package extractive

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/sentences"
)

// maxSentenceRunes bounds what is looked at as one sentence. It bounds the work as well: finding
// borders takes time by the square of a run of brackets or spaces.
const maxSentenceRunes = 2_000

const (
	openers = "「『（(〈《【〔［[{“‘«"
	closers = "」』）)〉》】〕］]}”’»"
)

// split cuts a block into sentences by UAX #29, and repairs what that gets wrong: it ends a
// sentence after "Dr.", "Jan." and "No.", within 「quoted。speech。」 and after it, and leaves an
// opening bracket with the sentence before it. Sentences longer than maxSentenceRunes are left out.
func split(block, language string) []string {
	pieces := segments(block)
	for i := range len(pieces) - 1 {
		kept := strings.TrimRight(pieces[i], openers)
		pieces[i+1] = pieces[i][len(kept):] + pieces[i+1]
		pieces[i] = kept
	}
	var out []string
	for i := 0; i < len(pieces); {
		last := quoteEnd(pieces, i)
		text := strings.Join(pieces[i:last+1], "")
		for last+1 < len(pieces) && utf8.RuneCountInString(text) < maxSentenceRunes && goesOn(text, pieces[last+1], language) {
			from := last + 1
			last = quoteEnd(pieces, from)
			text += strings.Join(pieces[from:last+1], "")
		}
		if text = stripMarker(oneLine(text)); text != "" {
			out = append(out, text)
		}
		i = last + 1
	}
	return out
}

// segments are the pieces of a block as UAX #29 has them, found through a window that moves on.
func segments(block string) []string {
	var out []string
	tail := false // the next piece is the rest of one that was too long
	for block != "" {
		window := firstRunes(block, maxSentenceRunes)
		var pieces []string
		for piece := sentences.FromString(window); piece.Next(); {
			pieces = append(pieces, piece.Value())
		}
		whole := len(window) == len(block)
		if !whole && len(pieces) == 1 {
			tail, block = true, block[len(window):]
			continue
		}
		if !whole {
			last := len(pieces) - 1
			window, pieces = window[:len(window)-len(pieces[last])], pieces[:last]
		}
		if tail {
			tail, pieces = false, pieces[1:]
		}
		out = append(out, pieces...)
		block = block[len(window):]
	}
	return out
}

// quoteEnd returns the index of the piece that closes the brackets which piece i leaves open, or i
// when there are none or they stay open.
func quoteEnd(pieces []string, i int) int {
	const farthest = 8
	depth := 0
	straight := false
	for j := i; j < len(pieces) && j < i+farthest; j++ {
		for _, r := range pieces[j] {
			switch {
			case r == '‘' || r == '’': // also an apostrophe
			case r == '"':
				straight = !straight
			case strings.ContainsRune(openers, r):
				depth++
			case strings.ContainsRune(closers, r):
				depth = max(depth-1, 0)
			}
		}
		if depth == 0 && !straight {
			return j
		}
	}
	return i
}

// particles follow quoted speech within a sentence: 「…。」と述べた。
var particles = []string{"と", "など", "という", "は", "が", "を", "に", "で", "の", "も", "へ", "や"}

// goesOn says whether next belongs to the sentence of text, though a border was found between.
func goesOn(text, next, language string) bool {
	text, next = strings.TrimSpace(text), strings.TrimSpace(next)
	if text == "" || next == "" {
		return true
	}
	last, _ := utf8.DecodeLastRuneInString(text)
	first, _ := utf8.DecodeRuneInString(next)
	if strings.ContainsRune("」』）", last) {
		for _, particle := range particles {
			if strings.HasPrefix(next, particle) {
				return true
			}
		}
		return false
	}
	if unicode.IsLower(first) && !isWide(last) { // a 'wow!' effect
		return true
	}
	if last != '.' && last != '．' {
		return false
	}
	return endsInAbbreviation(text, first, next, language)
}

// Abbreviations, by what must follow for the sentence to go on.
var (
	beforeAnything = set("mr mrs ms mx dr prof st gen col sgt lt capt sen rep gov rev hon mt vs e.g i.e cf approx dept univ")
	beforeNumbers  = set("jan feb mar apr jun jul aug sep sept oct nov dec no nos nr p pp sec art vol ch fig figs eq ver para")
	// Those that end a sentence as often as not; then the next one begins with a word like "The".
	beforeNames = set("inc corp ltd co llc plc bros jr sr u.s u.k u.n e.u d.c a.m p.m etc al ph.d")
)

func endsInAbbreviation(text string, first rune, next, language string) bool {
	text = strings.TrimRight(text, ".．")
	begin := strings.LastIndexFunc(text, func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '.'
	})
	word := text
	if begin >= 0 {
		_, size := utf8.DecodeRuneInString(text[begin:])
		word = text[begin+size:]
	}
	word = strings.ToLower(word)
	nextWord := strings.ToLower(strings.TrimRightFunc(strings.SplitN(next, " ", 2)[0], unicode.IsPunct))
	switch {
	case strings.TrimFunc(text, unicode.IsNumber) == "": // "１．" before its heading
		return true
	case beforeAnything[word]:
		return true
	case beforeNumbers[word]:
		return unicode.IsNumber(first)
	case beforeNames[word], len(word) == 1 && unicode.IsLetter(rune(word[0])):
		return !stopWords["en"][nextWord]
	case language == "de" && word != "" && len(word) <= 2 && strings.Trim(word, "0123456789") == "": // "am 5. Januar"
		return unicode.IsLetter(first)
	}
	return false
}

// endsSentence says whether a text ends in a full stop or the like, not counting quotes and
// brackets that close after it. An ellipsis is no end: something was cut off.
func endsSentence(text string) bool {
	text = strings.TrimRight(text, closers+`"' `)
	last, _ := utf8.DecodeLastRuneInString(text)
	return unicode.Is(unicode.STerm, last) && !strings.HasSuffix(text, "..") && !strings.HasSuffix(text, "。。")
}
