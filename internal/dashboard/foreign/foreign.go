// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package foreign makes what strangers have written fit to be seen on the page.
//
// It is pure; it knows nothing of what it is about.
package foreign

import (
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/feed-operator/feed-operator/internal/terminal"
)

// lineRunes is how much of a title or a message a list shows.
const lineRunes = 300

// Line is what others have written as it is shown in one line: without what would turn the text round, and not for ever.
func Line(text string) string {
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

// Shown is a line of which something can be seen; empty where that is all invisible characters and marks on nothing.
func Shown(title string) string {
	title = Line(title)
	if strings.ContainsFunc(title, func(r rune) bool {
		const blank = '\u2800' // of Braille
		return unicode.In(r, unicode.L, unicode.N, unicode.P, unicode.S) && !unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) && r != blank
	}) {
		return title
	}
	return ""
}

// Text is what others have written as it is shown in several lines.
func Text(words string) string { return strings.TrimSpace(terminal.Plain(words)) }

// WebLink is an address that a person may be sent to: http or https, without credentials; empty for all else.
func WebLink(text string) string {
	link, err := url.Parse(strings.TrimSpace(text))
	if err != nil || link.Hostname() == "" || link.Scheme != "http" && link.Scheme != "https" {
		return ""
	}
	link.User = nil
	return link.String()
}

// HostOf is the host of an address, which is all of it that holds no secret for sure.
func HostOf(text string) string {
	address, err := url.Parse(text)
	if err != nil {
		return ""
	}
	return Line(address.Host)
}
