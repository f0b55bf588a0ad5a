// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/feed-operator/feed-operator/internal/terminal"
)

// lineRunes is how much of a title or a message a list shows.
const lineRunes = 300

// line is what others have written as it is shown in one line: without what would turn the text round, and not for ever.
func line(text string) string {
	const mostBytes = lineRunes * utf8.UTFMax
	if len(text) > mostBytes { // before it is looked through
		text = strings.ToValidUTF8(text[:mostBytes], "")
	}
	text = terminal.Line(text)
	runes := 0
	for at := range text {
		if runes == lineRunes {
			return strings.Clone(text[:at]) + "…"
		}
		runes++
	}
	return text
}

// text is what others have written as it is shown in several lines.
func text(words string) string { return strings.TrimSpace(terminal.Plain(words)) }

// webLink is an address that a person may be sent to: http or https, without credentials; empty for all else.
func webLink(text string) string {
	link, err := url.Parse(strings.TrimSpace(text))
	if err != nil || link.Hostname() == "" || link.Scheme != "http" && link.Scheme != "https" {
		return ""
	}
	link.User = nil
	return link.String()
}

// hostOf is the host of an address, which is all of it that holds no secret for sure.
func hostOf(text string) string {
	address, err := url.Parse(text)
	if err != nil {
		return ""
	}
	return line(address.Host)
}
