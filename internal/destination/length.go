// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package destination

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/feed-operator/feed-operator/internal/prose"
)

var (
	// otherLink is a link that the template itself has.
	otherLink = regexp.MustCompile(`(?i)https?://[!-;=?-~]*[a-z0-9/_=#&-]`)
	// remoteMention is one of somebody on another server.
	remoteMention = regexp.MustCompile(`(^|[^=/_\pL\pM\pN])(@[A-Za-z0-9_][A-Za-z0-9_.-]*)@[\pL\pN.-]*[\pL\pN]`)
)

// What Mastodon takes for a link is at most this long, and does not end in these.
const (
	longestLink = 4_096
	noEnding    = `()?!*"'<>;:=,.$%[]~&|@`
)

// Length is what a post counts for, as Mastodon counts it.
func Length(post Post, limits Limits) int {
	text := post.Text
	if post.Link != "" {
		text = strings.Replace(text, post.Link, linkMark, 1)
	}
	return readLength(text, post.ContentWarning, post.Link, limits.orDefault().CharactersPerURL)
}

// rawLength counts a text, and its content warning, in code points, as GoToSocial does. The text
// has a linkMark in place of its link.
func rawLength(text, warning, link string) int {
	count := utf8.RuneCountInString(text) + utf8.RuneCountInString(warning)
	return count + strings.Count(text, linkMark)*(utf8.RuneCountInString(link)-1)
}

// readLength counts the same as Mastodon does: what a reader sees, grapheme clusters, where a link
// counts perURL, and @user@host as @user.
func readLength(text, warning, link string, perURL int) int {
	count := prose.Count(warning)
	if marks := strings.Count(text, linkMark); marks > 0 {
		weight := perURL + len(link) - len(strings.TrimRight(link, noEnding))
		if len(link) > longestLink {
			weight = len(link)
		}
		count += marks * (weight - 1)
	}
	if others := len(otherLink.FindAllStringIndex(text, -1)); others > 0 {
		count += others * (perURL - 1)
		text = otherLink.ReplaceAllString(text, "x")
	}
	return count + prose.Count(remoteMention.ReplaceAllString(text, "$1$2"))
}
