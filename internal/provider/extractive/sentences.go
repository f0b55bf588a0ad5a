// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package extractive

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/feed-operator/feed-operator/internal/prose"
)

// calls are the texts of links that stand between sentences, and run into the next where a page has nothing but its
// style between them: もっと見るその商品は.
var calls = regexp.MustCompile(`^(?:(?:もっと(?:見る|読む|詳しく)|続き(?:を読む|はこちら)|全文を読む|詳細(?:を見る|はこちら)|詳しく(?:見る|はこちら)|一覧(?:を見る|へ))[ 　>＞»›→…]*|` +
	`(?:Read (?:more|on)|(?:Learn|See|Show) more|View (?:gallery|(?:larger )?image)|Continue reading|Enlarge (?:this )?image|Watch now)` +
	`(?:[ >»›→…:]*\p{Lu}|[>»›→…]+))`)

// callBegins is what calls begin with.
var callBegins = beginning{calls, []string{
	"もっと", "続き", "全文", "詳", "一覧", "Read", "Learn", "See", "Show", "View", "Continue", "Enlarge", "Watch",
}}

// withoutCall takes the text of a link off a sentence that it runs into. A sentence that begins with such words itself stays.
func withoutCall(text string) string {
	if !callBegins.of(text, text) {
		return text
	}
	found := calls.FindString(text)
	if found == "" || found == text {
		return text
	}
	rest := text[len(found):]
	if last, size := utf8.DecodeLastRuneInString(found); unicode.IsUpper(last) { // the next sentence begins with it
		rest = text[len(found)-size:]
	}
	for _, particle := range []string{"と", "に", "は", "が", "を", "で", "も", "の", "ため", "こと", "よう", "場合", "方", "人", "には", "、", "。"} {
		if strings.HasPrefix(rest, particle) {
			return text
		}
	}
	return strings.TrimSpace(rest)
}

// split cuts a block of one line into sentences, each without the mark of a list before it.
func split(block, language string) []string {
	var out []string
	for _, text := range prose.Sentences(block, language) {
		if text = stripMarker(withoutCall(text)); text != "" {
			out = append(out, text)
		}
	}
	return out
}
