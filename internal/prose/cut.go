// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package prose

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
)

const (
	// ellipsis means that something was cut off. It is one character.
	ellipsis = "…"
	// A border is taken if at least this much of the room (of the text, for one between words) is kept.
	keptPercent = 60
	// lookahead is how many bytes after a border tell whether a sentence ends there, or a link goes on.
	lookahead = 512
)

// link is what must not be cut, because its beginning leads somewhere else.
var link = regexp.MustCompile(`(?i)[a-z][a-z0-9+.-]*://[!-~]+`)

// Cut shortens a text to at most limit characters as Count has them: at the end of a sentence if
// that keeps 60 % of what is allowed, else between words if that keeps most, else between
// characters; the latter two with "…", which counts. A link is left out rather than cut, except
// where nothing else is left. Trailing space is always removed. A limit below 1 gives "".
func Cut(text string, limit int) string { return CutBy(text, limit, Count) }

// CutBy is Cut for a room that another measure than Count fills. The measure of a text must not be
// smaller than that of its beginning; where it is, more is cut than need be, never less.
func CutBy(text string, room int, measure func(string) int) string {
	text = strings.TrimRightFunc(text, unicode.IsSpace)
	if room <= 0 || measure(text) <= room {
		return clip(text, room, measure)
	}
	if end := sentenceEnd(text, room, measure); end > 0 {
		return text[:end]
	}
	return clip(text, room, measure)
}

// Clip is Cut without regard for sentences: for a line that is one thing, such as a heading.
func Clip(text string, limit int) string { return clip(text, limit, Count) }

// sentenceEnd returns where the last sentence ends that fits, or 0 when too little would be kept.
func sentenceEnd(text string, room int, measure func(string) int) int {
	// Sentences are told apart as carefully as in German, where "am 5." is no end.
	const careful = "de"
	most := longest(text, func(beginning string) bool { return measure(beginning) <= room })
	window := text[:after(text, most)]
	links := link.FindAllStringIndex(window, -1)
	found := spans(window, careful)
	for _, sentence := range slices.Backward(found) {
		end := len(strings.TrimRightFunc(window[:sentence.end], unicode.IsSpace))
		if end > most || !EndsSentence(window[:end]) || linkAcross(links, end) >= 0 || !onBorder(text, end) {
			continue
		}
		kept := measure(text[:end])
		if kept*100 < room*keptPercent {
			return 0
		}
		if kept <= room {
			return end
		}
	}
	return 0
}

// clip cuts between words or characters.
func clip(text string, room int, measure func(string) int) string {
	text = strings.TrimRightFunc(text, unicode.IsSpace)
	if room <= 0 {
		return ""
	}
	if measure(text) <= room {
		return text
	}
	end := longest(text, func(beginning string) bool { return measure(beginning+ellipsis) <= room })
	if end == 0 { // no room for both: rather a character than an ellipsis
		end = longest(text, func(beginning string) bool { return measure(beginning) <= room })
		return strings.TrimRightFunc(text[:end], unicode.IsSpace)
	}
	inLink := false
	if start := linkAcross(link.FindAllStringIndex(text[:after(text, end)], -1), end); start > 0 {
		inLink, end = true, start
	}
	kept := text[:end]
	if next, _ := utf8.DecodeRuneInString(text[end:]); !inLink && !unicode.IsSpace(next) {
		if space := strings.LastIndexByte(kept, ' '); space*100 >= len(kept)*keptPercent {
			kept = kept[:space]
		}
	}
	kept = strings.TrimRightFunc(kept, func(r rune) bool {
		return unicode.IsSpace(r) || strings.ContainsRune(",;:、，；：-–—(（「", r)
	})
	if kept == "" {
		kept = strings.TrimRightFunc(text[:end], unicode.IsSpace)
	}
	return kept + ellipsis
}

// longest returns the end of the longest beginning of a text, in whole characters, that fits.
func longest(text string, fits func(beginning string) bool) int {
	var ends []int // of the characters that were looked at
	end, reach := 0, 1
	for cluster := graphemes.FromString(text); cluster.Next(); {
		end += len(cluster.Value())
		ends = append(ends, end)
		if len(ends) == reach {
			if !fits(text[:end]) {
				break
			}
			reach *= 2
		}
	}
	low, high := 0, len(ends) // of the first low characters it is known that they fit
	for low < high {
		middle := (low + high + 1) / 2
		if fits(text[:ends[middle-1]]) {
			low = middle
		} else {
			high = middle - 1
		}
	}
	if low == 0 {
		return 0
	}
	return ends[low-1]
}

// after returns where to stop looking beyond a border.
func after(text string, border int) int {
	end := min(border+lookahead, len(text))
	for end < len(text) && !utf8.RuneStart(text[end]) {
		end++
	}
	return end
}

// linkAcross returns the start of the link that a border would cut, or -1.
func linkAcross(links [][]int, border int) int {
	for _, found := range links {
		if found[0] < border && border < found[1] {
			return found[0]
		}
	}
	return -1
}

// onBorder reports whether a character ends there: a full stop may carry an accent.
func onBorder(text string, end int) bool {
	at := 0
	for cluster := graphemes.FromString(text); at < end && cluster.Next(); {
		at += len(cluster.Value())
	}
	return at == end
}
