// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feed

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// notXMLFeed is the error for text that is neither JSON nor the XML of a feed; root is the name of
// its root element, empty when there is none. For a web page it names the feed that the page names.
func notXMLFeed(text []byte, root, base string) error {
	switch {
	case strings.EqualFold(root, "html") || htmlStart.Match(text[:min(len(text), 1024)]):
		if address := namedFeed(text, base); address != "" {
			return notAFeed(fmt.Sprintf("The address answers with a web page, not with a feed. The page names this feed: %s", address))
		}
		return notAFeed("The address answers with a web page, not with a feed, and the page names no feed.")
	case root != "":
		return notAFeed(fmt.Sprintf("The address answers with markup whose root is <%s>, not with a feed.", cut(plainLine(root), 64)))
	}
	return notAFeed("The address answers with something that is neither XML nor JSON, not with a feed.")
}

// namedFeed returns the first feed that the head of a web page links to, or nothing.
func namedFeed(page []byte, base string) string {
	const headBytes = 256 << 10
	links := newResolver(base)
	tokenizer := html.NewTokenizer(bytes.NewReader(page[:min(len(page), headBytes)]))
	for {
		switch tokenizer.Next() {
		case html.ErrorToken:
			return ""
		case html.StartTagToken, html.SelfClosingTagToken:
			name, more := tokenizer.TagName()
			if string(name) != "link" || !more {
				continue
			}
			if address := links.resolve(feedLink(tokenizer)); address != "" {
				return address
			}
		case html.TextToken, html.EndTagToken, html.CommentToken, html.DoctypeToken:
		}
	}
}

// feedLink returns the address in the <link> element that the tokenizer is on, if it is a feed's.
func feedLink(tokenizer *html.Tokenizer) string {
	var rel, kind, address string
	for more := true; more; {
		var key, value []byte
		key, value, more = tokenizer.TagAttr()
		switch string(key) {
		case "rel":
			rel = strings.ToLower(string(value))
		case "type":
			kind = strings.ToLower(strings.TrimSpace(string(value)))
		case "href":
			address = string(value)
		}
	}
	if !slices.Contains(strings.Fields(rel), "alternate") {
		return ""
	}
	switch kind {
	case "application/rss+xml", "application/atom+xml", "application/feed+json", "application/rdf+xml":
		return address
	}
	return ""
}
