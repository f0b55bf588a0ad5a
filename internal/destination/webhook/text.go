// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"html"
	"math"
	"regexp"
	"strings"

	"github.com/feed-operator/feed-operator/internal/destination"
)

// wordJoiner is not seen, and what it stands between is not read as one.
const wordJoiner = "\u2060"

var (
	// chatMark is how Slack, Discord, Google Chat and Mattermost write whom to call, and what to show: <!channel>, <@U1>, <users/all>.
	chatMark = regexp.MustCompile(`<([!@#&/:A-Za-z])`)
	// entity is how Markdown, too, writes a character that it would else read as its own.
	entity = regexp.MustCompile(`&(#?[0-9A-Za-z]{1,32};)`)
	// lineMark is what begins a list, an underline or code in Markdown.
	lineMark = regexp.MustCompile(`(?m)^([-+=\t ]|[0-9]{1,9}[.)])`)

	markdownMarks = strings.NewReplacer(`\`, `\\`, "`", "\\`", `*`, `\*`, `_`, `\_`, `~`, `\~`, `|`, `\|`, `>`, `\>`, `#`, `\#`,
		`[`, `\[`, `]`, `\]`, `(`, `\(`, `)`, `\)`, `<`+wordJoiner, `<`+wordJoiner, `<`, `<`+wordJoiner)
	slackMarks = strings.NewReplacer(`&`, `&amp;`, `<`, `&lt;`, `>`, `&gt;`)
)

// plain makes a text that pings nobody and leads nowhere, in a post or a chat.
func plain(text string) string {
	return chatMark.ReplaceAllString(destination.PlainText(text, math.MaxInt), "<"+wordJoiner+"$1")
}

// slack escapes what Slack reads (https://docs.slack.dev/messaging/formatting-message-text, Escaping text).
func slack(text string) string { return slackMarks.Replace(text) }

// hypertext escapes what HTML reads.
func hypertext(text string) string { return html.EscapeString(text) }

// markdown escapes what Discord, Mattermost and others read as Markdown. What cannot be escaped there by a backslash is kept apart by
// a wordJoiner.
func markdown(text string) string {
	text = lineMark.ReplaceAllString(text, wordJoiner+"$1")
	return markdownMarks.Replace(entity.ReplaceAllString(text, "&"+wordJoiner+"$1"))
}

// size counts a text in UTF-16, as JavaScript does; no chat finds more characters in it.
func size(text string) int {
	count := 0
	for _, r := range text {
		count++
		if r > math.MaxUint16 {
			count++
		}
	}
	return count
}
