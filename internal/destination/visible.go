// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package destination

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
)

const (
	nonJoiner  = '\u200c'
	joiner     = '\u200d'
	textStyle  = '\ufe0e'
	emojiStyle = '\ufe0f'
	blackFlag  = '\U0001F3F4'
)

// visible removes what a reader cannot see, bidi controls among it, and shortens characters that
// have an absurd number of accents. What emoji and scripts are spelled with stays.
func visible(text string) string {
	var out joined
	previous := rune(-1) // the last one that was kept
	tagged := false      // within the name of a flag, such as that of Scotland
	for cluster := graphemes.FromString(text); cluster.Next(); {
		var kept strings.Builder
		rest := cluster.Value()
		for rest != "" && kept.Len() < maxCluster {
			r, size := utf8.DecodeRuneInString(rest)
			rest = rest[size:]
			next, _ := utf8.DecodeRuneInString(rest)
			if rest == "" {
				next, _ = utf8.DecodeRuneInString(text[cluster.End():])
			}
			tagged = r == blackFlag || tagged && isTag(r)
			if !tagged && isHidden(r, previous, next) {
				continue
			}
			kept.WriteRune(r)
			previous = r
		}
		if kept.Len() != len(cluster.Value()) {
			out.skip()
		}
		if kept.Len() > 0 {
			out.add(kept.String())
		}
	}
	return out.String()
}

// isHidden reports whether a character shows nothing of its own, and is not needed between those beside it.
func isHidden(r, previous, next rune) bool {
	switch {
	case r == joiner && (isPictograph(previous) || previous == emojiStyle) && isPictograph(next):
		return false
	case r == joiner || r == nonJoiner:
		return !isJoined(previous) || !isJoined(next)
	case r == emojiStyle || r == textStyle:
		return !isPictograph(previous) && !unicode.Is(unicode.Sm, previous) && !isOneOf(previous, "0123456789#*‼⁉〰")
	case r >= 0xfe00 && r <= 0xfe0d || r >= 0xe0100 && r <= 0xe01ef: // variants of ideographs, in names
		return !unicode.Is(unicode.Han, previous)
	case unicode.Is(unicode.M, r) && (previous < 0 || unicode.IsSpace(previous)): // an accent on nothing
		return true
	}
	return isNothing(r)
}

// isNothing reports whether a code point is a control, a filler, or not assigned to be shown at all.
func isNothing(r rune) bool {
	noncharacter := r >= 0xfdd0 && r <= 0xfdef || r&0xfffe == 0xfffe
	return noncharacter || unicode.In(r, unicode.Cf, unicode.Co, unicode.Cs) ||
		isOneOf(r, "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0\ufffc\ufffd")
}

func isOneOf(r rune, set string) bool { return r >= 0 && strings.ContainsRune(set, r) }

// isPictograph reports whether a character may be part of an emoji that joiners hold together.
func isPictograph(r rune) bool {
	return unicode.Is(unicode.So, r) || r >= 0x1f3fb && r <= 0x1f3ff || r == '©' || r == '®'
}

// isJoined reports whether a letter is of a script in which joiners change how a word is spelled:
// Arabic, those of India, and more of their kind.
func isJoined(r rune) bool {
	return r >= 0x0600 && r <= 0x1cff && unicode.In(r, unicode.L, unicode.M) && !unicode.Is(unicode.Hangul, r)
}

func isTag(r rune) bool { return r >= 0xe0020 && r <= 0xe007f }
