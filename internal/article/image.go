// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package article

import (
	"cmp"
	"net/url"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/plaintext"
)

const (
	// maxImageURL and maxAltText are the bounds of v1alpha1.EntryImage.
	maxImageURL = 4096
	maxAltText  = 1500
	// maxHead is how much of a page is searched for its image, and maxHeadTags in how many tags: heads are much smaller.
	maxHead     = 512 << 10
	maxHeadTags = 2000
)

// imageOf returns the image that the head of a page, which has that address, names for those who show a link to it: by the
// Open Graph protocol (https://ogp.me), else for Twitter. Nil where it names none that can be fetched.
func imageOf(page, address string) *v1alpha1.EntryImage {
	said := headSays(page[:min(len(page), maxHead)])
	link := cmp.Or(said["og:image:secure_url"], said["og:image"], said["og:image:url"], said["twitter:image"], said["twitter:image:src"])
	if link = absolute(link, address); link == "" {
		return nil
	}
	alt := plaintext.Title(cmp.Or(said["og:image:alt"], said["twitter:image:alt"]))
	return &v1alpha1.EntryImage{URL: link, Description: plaintext.Cut(alt, maxAltText)}
}

// headSays returns what the meta elements of a head say of images, the first of each name.
func headSays(page string) map[string]string {
	said := map[string]string{}
	tokens := html.NewTokenizer(strings.NewReader(page))
	for range maxHeadTags {
		switch kind := tokens.Next(); kind {
		case html.ErrorToken:
			return said
		case html.StartTagToken, html.SelfClosingTagToken:
			name, more := tokens.TagName()
			switch atom.Lookup(name) {
			case atom.Body:
				return said
			case atom.Meta:
				noteMeta(said, tokens, more)
			}
		case html.TextToken, html.EndTagToken, html.CommentToken, html.DoctypeToken:
		}
	}
	return said
}

// noteMeta reads the attributes of a meta element.
func noteMeta(said map[string]string, tokens *html.Tokenizer, more bool) {
	var property, content string
	for more {
		var key, value []byte
		key, value, more = tokens.TagAttr()
		switch string(key) {
		case "property", "name":
			property = cmp.Or(property, strings.ToLower(strings.TrimSpace(string(value))))
		case "content":
			content = strings.TrimSpace(string(value))
		}
	}
	if strings.Contains(property, "image") && said[property] == "" && content != "" {
		said[property] = content
	}
}

// absolute returns a link of a page as an absolute address of http or https without user info, or nothing.
func absolute(link, page string) string {
	base, err := url.Parse(page)
	if err != nil || link == "" {
		return ""
	}
	parsed, err := base.Parse(link)
	if err != nil || parsed.Scheme != "http" && parsed.Scheme != "https" || parsed.Hostname() == "" {
		return ""
	}
	parsed.User, parsed.Fragment, parsed.RawFragment = nil, "", ""
	if address := parsed.String(); len(address) <= maxImageURL && utf8.ValidString(address) {
		return address
	}
	return ""
}
