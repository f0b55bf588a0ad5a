// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feed

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/net/html"

	"github.com/feed-operator/feed-operator/internal/feedxml"
	"github.com/feed-operator/feed-operator/internal/plaintext"
)

// notXMLFeed is the error for text that is neither JSON nor the XML of a feed; root is the name of
// its root element, empty when there is none. For a web page it reports what kind of page it is, and
// which feeds the page names.
func notXMLFeed(text []byte, root, base string) error {
	switch {
	case isPage(root) || feedxml.HTMLStart.Match(text[:min(len(text), 1024)]):
		return notAFeed(describePage(readPage(text, base)))
	case otherFormats[strings.ToLower(root)] != "":
		return notAFeed(otherFormats[strings.ToLower(root)])
	case root != "":
		return notAFeed(fmt.Sprintf("The address answers with markup whose root is <%s>, not with a feed.", plaintext.CutWords(plaintext.Line(root), 64)))
	}
	return notAFeed("The address answers with something that is neither XML nor JSON, not with a feed.")
}

// otherFormats are what is to be done about documents that people take for feeds, by root element.
var otherFormats = map[string]string{
	"channel": "The address answers with a channel in Microsoft's Channel Definition Format (CDF), and not with a feed " +
		"that can be read. Use the RSS or Atom feed of the site.",
	"opml": "The address answers with OPML, a list of feeds, and not with a feed. " +
		"Make a FeedSource for each feed of the list: its address is in the attribute xmlUrl.",
	"urlset": "The address answers with a sitemap, which lists all pages of a site for search engines, and not with a feed. " +
		"Use the feed of the site.",
	"sitemapindex": "The address answers with an index of sitemaps for search engines, and not with a feed. Use the feed of the site.",
	"entry":        "The address answers with a single entry in Atom, and not with the feed that it is in.",
	"service":      "The address answers with an AtomPub service document, and not with a feed. Use the address of one of its collections.",
}

func isPage(root string) bool {
	switch strings.ToLower(root) {
	case "html", "head", "body", "title", "meta":
		return true
	}
	return false
}

const (
	// namedFeeds is how many feeds of a web page are named.
	namedFeeds = 3
	// challengeBytes is more than a page has that only asks whether one is a person.
	challengeBytes = 16 << 10
)

// A page is what a web page says of itself.
type page struct {
	title    string
	feeds    []string
	password bool // it asks for one
	text     string
}

// readPage reads the beginning of a web page.
func readPage(text []byte, base string) page {
	const enough = 256 << 10
	var found page
	text = text[:min(len(text), enough)]
	links := newResolver(base)
	tokenizer := html.NewTokenizer(bytes.NewReader(text))
	for inTitle := false; ; {
		switch tokenizer.Next() {
		case html.ErrorToken:
			found.title = plaintext.CutWords(plaintext.Title(found.title), 80)
			found.text = strings.ToLower(string(text))
			return found
		case html.StartTagToken, html.SelfClosingTagToken:
			name, more := tokenizer.TagName()
			inTitle = string(name) == "title" && found.title == ""
			switch {
			case !more:
			case string(name) == "base":
				if address := links.resolve(attributeOf(tokenizer, "href")); address != "" {
					links = newResolver(address)
				}
			case string(name) == "input":
				found.password = found.password || strings.EqualFold(attributeOf(tokenizer, "type"), "password")
			case string(name) == "link":
				address := links.resolve(feedLink(tokenizer))
				if address != "" && len(found.feeds) < namedFeeds && !slices.Contains(found.feeds, address) {
					found.feeds = append(found.feeds, address)
				}
			}
		case html.TextToken:
			if inTitle {
				found.title += string(tokenizer.Text())
			}
		case html.EndTagToken:
			inTitle = false
		case html.CommentToken, html.DoctypeToken:
		}
	}
}

// describePage says, for a person, what kind of page answers in the place of a feed.
func describePage(found page) string {
	has := func(words ...string) bool {
		return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(found.text, word) })
	}
	title := strings.ToLower(found.title)
	titled := func(words ...string) bool {
		return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(title, word) })
	}
	called := ""
	if found.title != "" {
		called = fmt.Sprintf(" (%q)", found.title)
	}
	switch {
	case len(found.feeds) == 1:
		return "The address answers with a web page, not with a feed. The page names this feed: " + found.feeds[0]
	case len(found.feeds) > 1:
		return "The address answers with a web page, not with a feed. The page names these feeds: " + strings.Join(found.feeds, " ")
	case titled("just a moment", "attention required", "are you a robot", "captcha"),
		has("_cf_chl_opt", "captcha-delivery.com", "awswafintegration", "px-captcha", "/_incapsula_resource"),
		// Contact forms have these too.
		len(found.text) < challengeBytes && has("g-recaptcha", "h-captcha", "cf-turnstile"):
		return "The address answers with a page that lets only people pass, not with a feed" + called +
			": a protection against bots. Ask the site to let the operator read its feed, or use another address for it."
	case found.password || titled("log in", "login", "sign in", "anmelden", "connexion", "ログイン"):
		return "The address answers with a page to log in, not with a feed" + called +
			". If the feed needs credentials, give them with spec.secretRef."
	case titled("for sale", "parked", "domain expired", "suspended") || has("sedoparking", "parkingcrew", "hugedomains.com", "dan.com/buy-domain"):
		return "The address answers with the page of a domain that is for sale, or of a site that was closed, not with a feed" + called + "."
	case titled("not found", "404"):
		return "The address answers with a page that says the feed was not found" + called + "."
	}
	return "The address answers with a web page" + called + ", not with a feed, and the page names no feed."
}

// attributeOf returns an attribute of the tag that the tokenizer is on.
func attributeOf(tokenizer *html.Tokenizer, name string) string {
	for {
		key, value, more := tokenizer.TagAttr()
		if string(key) == name {
			return strings.TrimSpace(string(value))
		}
		if !more {
			return ""
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
