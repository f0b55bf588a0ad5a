// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package mastodon

import (
	"net/url"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/net/html"
	"golang.org/x/text/unicode/norm"
)

// rendered is a status as people read it.
type rendered struct {
	// text with each link in full. Spaces stand where its lines may have ended, and elsewhere.
	text string
	// links that the server found in the text.
	links []string
}

// render reads the HTML of a status.
func render(content string) rendered {
	var text strings.Builder
	var links []string
	tokens := html.NewTokenizer(strings.NewReader(content))
	inLink := false
	for {
		switch tokens.Next() {
		case html.ErrorToken:
			return rendered{text.String(), links}
		case html.TextToken:
			if !inLink {
				text.Write(tokens.Text())
			}
		case html.StartTagToken:
			token := tokens.Token()
			switch token.Data {
			case "a":
				// Of a mention or a hashtag the text is what was written, of any other link the address.
				if address, ok := target(token); ok {
					text.WriteString(address)
					links = append(links, address)
					inLink = true
				}
			case "p", "br", "div", "li", "blockquote":
				text.WriteByte(' ')
			}
		case html.SelfClosingTagToken:
			text.WriteByte(' ')
		case html.EndTagToken:
			if name, _ := tokens.TagName(); string(name) == "a" {
				inLink = false
			}
		case html.CommentToken, html.DoctypeToken:
		}
	}
}

// target returns where a link leads, unless it was made of a mention or a hashtag.
func target(anchor html.Token) (string, bool) {
	var address string
	for _, attribute := range anchor.Attr {
		switch attribute.Key {
		case "href":
			address = attribute.Val
		case "class", "rel":
			words := strings.Fields(attribute.Val)
			if slices.Contains(words, "mention") || slices.Contains(words, "hashtag") || slices.Contains(words, "tag") {
				return "", false
			}
		}
	}
	return address, address != ""
}

// sameText compares what servers keep of a text: not always the spaces, nor the word joiners, which
// older versions did not write either, nor how its characters are composed.
func sameText(a, b string) bool { return squeeze(a) == squeeze(b) }

func squeeze(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || r == '\u2060' {
			return -1
		}
		return r
	}, norm.NFC.String(text))
}

// hasLink reports whether a status has a link, however the server has escaped it. A server that makes
// no links of addresses leaves them as words.
func (r rendered) hasLink(link string) bool {
	link = unescaped(link)
	if link == "" {
		return false
	}
	same := func(word string) bool {
		return unescaped(strings.TrimRight(word, ".,;:!?)")) == strings.TrimRight(link, ".,;:!?)")
	}
	return slices.ContainsFunc(r.links, same) || slices.ContainsFunc(strings.Fields(r.text), same)
}

// unescaped is a text in a form in which equal links look equal.
func unescaped(text string) string {
	text = strings.ToLower(squeeze(text))
	// One sign of percent that escapes nothing leaves all as it is.
	if plain, err := url.PathUnescape(text); err == nil {
		text = plain
	}
	return squeeze(text)
}

// sameWords reports whether two texts are the same but for punctuation, which servers that know a
// markup take for it.
func sameWords(a, b string) bool {
	words := func(text string) string {
		return strings.Map(func(r rune) rune {
			if unicode.IsLetter(r) || unicode.IsNumber(r) {
				return r
			}
			return -1
		}, unescaped(text))
	}
	return words(a) == words(b)
}
