// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package destination

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
	"golang.org/x/net/publicsuffix"
	"golang.org/x/text/unicode/norm"
)

// wordJoiner is not seen, and keeps a line from ending where it stands. It is not part of a name, so that
// what stands on its two sides is not taken for one; and it counts as a character.
const wordJoiner = '\u2060'

const (
	// dots are what may stand between the labels of a domain: that of ASCII, and what becomes it where
	// a text is normalized.
	dots = ".．｡﹒․"
	// fullStop is a dot in a domain, too (IDNA, RFC 3490 section 3.1), but ends sentences in Japanese and Chinese.
	fullStop = '。'
	// ellipsis is what a text ends with that was cut between words or characters.
	ellipsis = "…"
	// longestTopLevel is in code points; the longest of ASCII has 24.
	longestTopLevel = 24
)

// unlinked parts what may be the name of a domain, such as t.me or example.com, before its dots. Mastodon
// makes no links of these, but other servers and programs do. They look as before: that is what many
// things are called that nobody wants to be led to, a company or README.md among them. What does not end in a top-level
// domain, such as Node.js, v1.2.3 or U.S., stays as it is.
func unlinked(text string) string {
	if !strings.ContainsAny(text, dots+string(fullStop)) {
		return text
	}
	var out strings.Builder
	previous := rune(-1)
	for i, r := range text {
		if partsDomain(previous, r, text[i+utf8.RuneLen(r):]) {
			out.WriteRune(wordJoiner)
		}
		out.WriteRune(r)
		previous = r
	}
	return out.String()
}

// unlinkedEnd does the same for a text that is unlinked but for its end, where it was cut: of foo.community
// there may be foo.com left; and where the cut was right before a dot, nothing is left to part.
func unlinkedEnd(text string) string {
	if kept, cut := strings.CutSuffix(text, ellipsis); strings.HasSuffix(kept, string(wordJoiner)) {
		text = strings.TrimSuffix(kept, string(wordJoiner))
		if cut {
			text += ellipsis
		}
	}
	at := strings.LastIndexAny(text, dots+string(fullStop))
	if at < 0 {
		return text
	}
	dot, size := utf8.DecodeRuneInString(text[at:])
	previous, _ := utf8.DecodeLastRuneInString(text[:at])
	if at == 0 || !partsDomain(previous, dot, text[at+size:]) {
		return text
	}
	return text[:at] + string(wordJoiner) + text[at:]
}

// partsDomain reports for a character of a text that it is the dot before the top-level domain of a name.
func partsDomain(previous, r rune, rest string) bool {
	if previous < 0 || unicode.IsSpace(previous) || previous == wordJoiner || unicode.IsPunct(previous) && previous != '-' && previous != '_' {
		return false
	}
	if r == fullStop {
		next, _ := utf8.DecodeRuneInString(rest)
		return previous <= unicode.MaxASCII && next <= unicode.MaxASCII && beginsTopLevel(rest)
	}
	return strings.ContainsRune(dots, r) && beginsTopLevel(rest)
}

// beginsTopLevel reports whether a text begins with a top-level domain. What ends one is any character but
// letters and digits of ASCII and - + @ (https://github.com/twitter/twitter-text, validGTLD).
func beginsTopLevel(text string) bool {
	count := 0
	for i, r := range text {
		if count >= 2 && !goesOn(r) && isTopLevel(text[:i]) {
			return true
		}
		if count++; count > longestTopLevel || !isWord(r) && r != '-' {
			return false
		}
	}
	return isTopLevel(text)
}

func goesOn(r rune) bool {
	return r <= unicode.MaxASCII && (r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '-' || r == '+' || r == '@')
}

// isTopLevel reports whether a label is a top-level domain, however it is written.
func isTopLevel(label string) bool {
	label = strings.ToLower(norm.NFKC.String(label))
	ascii, err := idna.Punycode.ToASCII(label)
	if err != nil || len(ascii) < 2 || strings.Trim(ascii, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
		return false
	}
	_, known := publicsuffix.PublicSuffix("a.b." + ascii)
	return known
}
