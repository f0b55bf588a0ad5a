// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package prose

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/sentences"
)

// MaxSentence bounds what is looked at as one sentence, in code points. It bounds the work as
// well: finding borders takes time by the square of a run of brackets or spaces.
const MaxSentence = 2_000

const (
	openers = "「『（(〈《【〔［[{“‘«"
	closers = "」』）)〉》】〕］]}”’»"
)

// nesting is 1 for openers and -1 for closers, but for ‘ and ’: the latter is an apostrophe, too.
func nesting(r rune) int {
	switch r {
	case '「', '『', '（', '(', '〈', '《', '【', '〔', '［', '[', '{', '“', '«':
		return 1
	case '」', '』', '）', ')', '〉', '》', '】', '〕', '］', ']', '}', '”', '»':
		return -1
	}
	return 0
}

// Sentences cuts a text into sentences, without the space around them; a heading counts as one.
// Those longer than MaxSentence are left out. The language is that of the text, as an ISO 639-1
// code such as "ja"; where it is not known, it is empty.
//
// Borders are those of UAX #29, with its mistakes repaired: it ends a sentence after "Dr.",
// "Jan." and "No.", within 「quoted。speech。」 and after it, and leaves an opening bracket with
// the sentence before it.
func Sentences(text, language string) []string {
	var out []string
	for _, found := range spans(text, language) {
		if sentence := strings.TrimSpace(text[found.start:found.end]); sentence != "" {
			out = append(out, sentence)
		}
	}
	return out
}

// EndsSentence reports whether a text ends in a full stop or the like, not counting quotes and
// brackets that close after it. An ellipsis is no end: something was cut off.
func EndsSentence(text string) bool {
	if text == "" || isASCIILetter(text[len(text)-1]) { // as headings do
		return false
	}
	if text[len(text)-1] != '.' { // as most sentences do
		text = strings.TrimRight(text, closers+`"' `)
	}
	last, _ := utf8.DecodeLastRuneInString(text)
	return unicode.Is(unicode.STerm, last) && !strings.HasSuffix(text, "..") && !strings.HasSuffix(text, "。。")
}

func isASCIILetter(b byte) bool { return 'a' <= b|0x20 && b|0x20 <= 'z' }

// span is a part of a text, by bytes.
type span struct{ start, end int }

// spans are the sentences of a text, in their order. They do not overlap.
func spans(text, language string) []span {
	pieces := segments(text)
	for i := range len(pieces) - 1 {
		if pieces[i].end == pieces[i+1].start {
			kept := strings.TrimRight(text[pieces[i].start:pieces[i].end], openers)
			pieces[i].end = pieces[i].start + len(kept)
			pieces[i+1].start = pieces[i].end
		}
	}
	var out []span
	for i := 0; i < len(pieces); {
		last := quoteEnd(text, pieces, i)
		for last+1 < len(pieces) && pieces[last].end == pieces[last+1].start {
			sentence, next := text[pieces[i].start:pieces[last].end], text[pieces[last+1].start:pieces[last+1].end]
			if utf8.RuneCountInString(sentence) >= MaxSentence || !goesOn(sentence, next, language) {
				break
			}
			last = quoteEnd(text, pieces, last+1)
		}
		out = append(out, span{pieces[i].start, pieces[last].end})
		i = last + 1
	}
	return out
}

// segments are the pieces of a text as UAX #29 has them, found through a window that moves on.
func segments(text string) []span {
	var out []span
	tail := false // the next piece is the rest of one that was too long
	for start := 0; start < len(text); {
		window := firstRunes(text[start:], MaxSentence)
		var pieces []span
		end := start
		for piece := sentences.FromString(window); piece.Next(); {
			pieces = append(pieces, span{end, end + len(piece.Value())})
			end = pieces[len(pieces)-1].end
		}
		whole := end == len(text)
		if !whole && len(pieces) == 1 {
			tail, start = true, end
			continue
		}
		if !whole {
			end = pieces[len(pieces)-1].start
			pieces = pieces[:len(pieces)-1]
		}
		if tail {
			tail, pieces = false, pieces[1:]
		}
		out = append(out, pieces...)
		start = end
	}
	return out
}

// quoteEnd returns the index of the piece that closes the brackets which piece i leaves open, or i
// when there are none or they stay open.
func quoteEnd(text string, pieces []span, i int) int {
	const farthest = 8
	depth := 0
	straight := false
	for j := i; j < len(pieces) && j < i+farthest; j++ {
		if j > i && pieces[j-1].end != pieces[j].start {
			break
		}
		for _, r := range text[pieces[j].start:pieces[j].end] {
			if r == '"' {
				straight = !straight
			}
			depth = max(depth+nesting(r), 0)
		}
		if depth == 0 && !straight {
			return j
		}
	}
	return i
}

func firstRunes(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	count := 0
	for i := range text {
		if count == limit {
			return text[:i]
		}
		count++
	}
	return text
}
