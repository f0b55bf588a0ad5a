// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package article

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/sentences"

	"github.com/feed-operator/feed-operator/internal/prose"
)

// maxNavigationLine is the length up to which a line may be navigation.
const maxNavigationLine = 200

// A sentence has at least so much of one of the two.
const (
	minSentenceWide  = 15
	minSentenceWords = 6
)

const terminators = ".!?。！？．｡…"

var (
	homeFirst = regexp.MustCompile(`(?i)^(?:home|top|トップ(?:ページ)?|ホーム|top ?ページ|現在(?:の)?位置|現在地|you are here)\s*[:：]?\s*[>|»›＞｜≫→/／]`)
	// furniture are lines that belong to the site as a whole.
	furniture = regexp.MustCompile(`(?i)^(?:share(?: this)?(?: (?:article|page|post|story|on|via|with).{0,40})?|tweet|print(?: this page)?|e-?mail(?: this)?|` +
		`(?:back|return) to (?:the )?top(?: of (?:the )?page)?|(?:skip|jump) to (?:the )?(?:main )?content|follow us(?: on .{0,40})?|` +
		`(?:©|\(c\)|copyright (?:©|\(c\)|\d{4}|by )).{0,150}|.{0,100}all rights reserved\.?|` +
		`(?:この(?:記事|ページ)を)?(?:シェア|ツイート|共有|印刷|ポスト)(?:する)?|(?:この)?ページの(?:先頭|トップ|top)(?:へ|に)?(?:戻る)?|` +
		`(?:トップ|先頭)(?:へ|に)戻る|本文へ(?:移動|スキップ|ジャンプ)?(?:する|します)?|文字サイズ.{0,20})$`)
)

// normalize cleans a plain text: spaces, line ends, empty lines, and what cannot be seen.
func normalize(text string) string {
	if !prose.IsSimple(text) {
		text = lineBreaks.Replace(text)
	}
	return joinLines(text, func(string) bool { return true })
}

// lineBreaks writes one character for all that breaks lines. A simple text has no other.
var lineBreaks = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\f", "\n", "\v", "\n", "\u2028", "\n", "\u2029", "\n\n")

// withoutNavigation cleans a text from a page: lines that are navigation or furniture go, too, but not samples of code.
func withoutNavigation(text string) string {
	return joinLines(text, func(line string) bool { return !isNavigation(line) })
}

func joinLines(text string, keep func(line string) bool) string {
	var out strings.Builder
	empty := false
	for line := range strings.Lines(text) {
		sample := strings.HasPrefix(line, sampleMark)
		line = oneLine(strings.TrimSuffix(line, "\n"))
		if line == "" {
			empty = true
			continue
		}
		if !sample && !keep(line) {
			continue
		}
		if out.Len() > 0 {
			out.WriteByte('\n')
			if empty {
				out.WriteByte('\n')
			}
		}
		empty = false
		out.WriteString(line)
	}
	return out.String()
}

// oneLine drops what cannot be seen and makes each run of spaces and line breaks one space.
func oneLine(text string) string {
	if prose.IsLine(text) {
		return text
	}
	text = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || isPrintable(r) {
			return r
		}
		return -1
	}, text)
	return strings.Join(strings.Fields(text), " ")
}

// isPrintable reports whether a character may be in a text. Control characters and marks of direction
// make a text read as something else; invisible ones hide words from a person, but not from a model.
func isPrintable(r rune) bool {
	switch {
	case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), r == unicode.ReplacementChar:
		return false
	case r == '\u00ad', r == '\u200b', r == '\u2060', r == '\ufeff', r >= 0xfff9 && r <= 0xfffb, r >= 0xe0000 && r <= 0xe007f:
		return false
	}
	return true
}

// isWide reports whether a character is of a writing that sets no spaces between words.
func isWide(r rune) bool {
	const first = 0x2e80 // of all of them
	return r >= first && (r >= 0x3000 && r <= 0x303f || r >= 0xff00 && r <= 0xffef || r == 'ー' ||
		unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana))
}

// isNavigation reports whether a line is a breadcrumb, a menu, or what a site puts on each page.
func isNavigation(line string) bool {
	if utf8.RuneCountInString(line) > maxNavigationLine {
		return false
	}
	if furniture.MatchString(line) {
		return true
	}
	if endsSentence(line) {
		return false
	}
	return homeFirst.MatchString(line) || countSeparators(line) >= 2
}

// countSeparators counts what stands between the parts of a breadcrumb or a menu. Guillemets in
// pairs are quotation marks.
func countSeparators(line string) int {
	count := 0
	for _, r := range line {
		if strings.ContainsRune(">|›‹＞｜≫≪", r) {
			count++
		}
	}
	if open, closed := strings.Count(line, "«"), strings.Count(line, "»"); open != closed || count > 0 {
		count += open + closed
	}
	return count
}

// hasSentence reports whether a text has one full sentence at least.
func hasSentence(text string) bool {
	tokens := sentences.FromString(text)
	for tokens.Next() {
		sentence := tokens.Value()
		if !endsSentence(sentence) {
			continue
		}
		wide := 0
		for _, r := range sentence {
			if isWide(r) {
				wide++
			}
		}
		if wide >= minSentenceWide || len(strings.Fields(sentence)) >= minSentenceWords {
			return true
		}
	}
	return false
}

// minHeadline is how much ink a headline has at least that says something by itself.
const minHeadline = 8

// noTitle is what programs put where a title should be.
var noTitle = regexp.MustCompile(`(?i)^\W*(?:untitled|no[ -]?(?:title|subject)|sans titre|ohne titel|sin título|无标题|無題|無標題|タイトルなし|제목 ?없음)\W*\d*\W*$`)

// isHeadline reports whether a title says something by itself: it has words, and is not the mark of a missing one.
func isHeadline(title string) bool {
	return ink(title) >= minHeadline && strings.ContainsFunc(title, unicode.IsLetter) && !noTitle.MatchString(title)
}

func endsSentence(text string) bool {
	text = strings.TrimRight(text, " \n\"'”’»)]）」』】")
	last, _ := utf8.DecodeLastRuneInString(text)
	return strings.ContainsRune(terminators, last)
}
