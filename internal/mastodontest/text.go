// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package mastodontest

import (
	"html"
	"net/http"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
)

var (
	// A link ends before the punctuation that closes a sentence.
	link    = regexp.MustCompile(`https?://[^\s<>"]*[^\s<>"'.,;:!?()\[\]]`)
	mention = regexp.MustCompile(`(^|[^/\w])@(\w+(?:[.-]\w+)*)@[\w.-]*\w`)
	hashtag = regexp.MustCompile(`(^|\s)#(\w+)`)
)

func (s *Server) isGoToSocial() bool { return strings.Contains(s.options.Version, "GoToSocial") }

// length counts as the server does: GoToSocial the code points, Mastodon the grapheme clusters,
// with a fixed weight for links and without the hosts of mentions.
func (s *Server) length(spoilerText, text string) int {
	all := spoilerText + text
	if s.isGoToSocial() {
		return utf8.RuneCountInString(all)
	}
	all = link.ReplaceAllString(all, strings.Repeat("x", s.options.CharactersPerURL))
	all = mention.ReplaceAllString(all, "${1}@${2}")
	count := 0
	for clusters := graphemes.FromString(all); clusters.Next(); {
		count++
	}
	return count
}

// content makes HTML of a text, with links as Mastodon writes them: shortened to the eye.
func (s *Server) content(r *http.Request, text string) string {
	var paragraphs strings.Builder
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		paragraphs.WriteString("<p>" + s.inline(r, paragraph) + "</p>")
	}
	return paragraphs.String()
}

func (s *Server) inline(r *http.Request, text string) string {
	var out strings.Builder
	plain := func(part string) {
		part = html.EscapeString(part)
		part = hashtag.ReplaceAllString(part, `${1}<a href="`+s.base(r)+`/tags/${2}" class="mention hashtag" rel="tag">#<span>${2}</span></a>`)
		out.WriteString(strings.ReplaceAll(part, "\n", "<br />"))
	}
	from := 0
	for _, at := range link.FindAllStringIndex(text, -1) {
		plain(text[from:at[0]])
		out.WriteString(anchor(text[at[0]:at[1]]))
		from = at[1]
	}
	plain(text[from:])
	return out.String()
}

func anchor(address string) string {
	const shown = 30
	scheme, rest, _ := strings.Cut(address, "://")
	head, tail, class := rest, "", ""
	if runes := []rune(rest); len(runes) > shown {
		head, tail, class = string(runes[:shown]), string(runes[shown:]), "ellipsis"
	}
	return `<a href="` + html.EscapeString(address) + `" target="_blank" rel="nofollow noopener noreferrer" translate="no">` +
		`<span class="invisible">` + scheme + `://</span><span class="` + class + `">` + html.EscapeString(head) + `</span>` +
		`<span class="invisible">` + html.EscapeString(tail) + `</span></a>`
}
