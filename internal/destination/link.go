// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package destination

import (
	"fmt"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// WebLink returns a link as it can stand in a text and be found there by every server: ASCII,
// without credentials, and with an end that is not taken for the end of a sentence. What needed no
// change is not changed. It is empty for what is not a link to a page.
func WebLink(raw string) string {
	raw = strings.TrimSpace(raw)
	parsed, err := url.Parse(raw)
	if err != nil || parsed.Hostname() == "" || parsed.Scheme != "http" && parsed.Scheme != "https" {
		return ""
	}
	host := parsed.Host
	if strings.ContainsFunc(host, func(r rune) bool { return r > unicode.MaxASCII }) {
		if host, err = idna.Lookup.ToASCII(parsed.Hostname()); err != nil {
			return ""
		}
		if port := parsed.Port(); port != "" {
			host += ":" + port
		}
	}
	if strings.ContainsAny(host, "<>\"@ ") {
		return ""
	}
	_, rest, _ := strings.Cut(raw, "://")
	rest = rest[min(len(rest), authorityEnd(rest)):]
	return parsed.Scheme + "://" + host + firmEnd(escape(rest))
}

func authorityEnd(rest string) int {
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		return end
	}
	return len(rest)
}

// escape encodes what no link should have, an @ that would be taken for a mention, and the first character after a # that would be taken
// for a hashtag: a server that looks for these looks into links as well.
func escape(rest string) string {
	var out strings.Builder
	previous, before := rune(-1), rune(-1)
	for _, r := range rest {
		mention := r == '@' && !(goesOnWithin(previous) || previous == '_')
		tag := previous == '#' && isWord(r) && !(goesOnWithin(before) || before == ')')
		previous, before = r, previous
		if mention || tag || r <= ' ' || r > '~' || strings.ContainsRune("<>\"\\^`{|}", r) {
			for _, b := range utf8.AppendRune(nil, r) {
				fmt.Fprintf(&out, "%%%02X", b)
			}
		} else {
			out.WriteRune(r)
		}
	}
	return out.String()
}

// goesOnWithin reports for a character of a link that neither a mention nor a hashtag begins after it.
func goesOnWithin(previous rune) bool {
	return previous == '/' || previous == '=' || previous >= 0 && previous <= unicode.MaxASCII && previous != '_' && isWord(previous)
}

// firmEnd encodes the punctuation that a link ends with.
func firmEnd(rest string) string {
	kept := strings.TrimRight(rest, ".!'*~,;:")
	var out strings.Builder
	out.WriteString(kept)
	for _, b := range []byte(rest[len(kept):]) {
		fmt.Fprintf(&out, "%%%02X", b)
	}
	return out.String()
}

// apart puts space between a linkMark and what a server would take for a part of the link.
func apart(text string) string {
	before, after, found := strings.Cut(text, linkMark)
	if !found {
		return text
	}
	if last, _ := utf8.DecodeLastRuneInString(before); before != "" && !unicode.IsSpace(last) && !strings.ContainsRune("([<\"'（「『【", last) {
		before += " "
	}
	if next, _ := utf8.DecodeRuneInString(after); after != "" && !unicode.IsSpace(next) && next != ')' && next != '>' {
		after = " " + after
	}
	return before + linkMark + after
}
