// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package article

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Bounds of the tree that a page may become. What is above them is cut off. They keep the worst page
// within seconds and tens of megabytes; an article of book length is well below.
const (
	maxTags   = 30_000
	maxMarkup = 1 << 20
	// maxSeparators is how much there may be in all tags of a page that an attribute can stand behind: white
	// space, slashes and quotation marks. Tags above it lose their attributes.
	maxSeparators = 60_000
)

// Bounds, in bytes, of what is looked at of a body: of a page with its scripts, of one that is not UTF-8 and has to be
// tried in several charsets, and of a plain text. No model reads, and no summary is made of, as much as that.
const (
	maxPage        = 4 << 20
	maxForeignPage = 2 << 20
	maxText        = 1 << 20
	// maxPageSeparators is how many separators there may be, also outside of tags. Each may make an attribute
	// of a tag that never ends, which takes memory before it is known that it does not.
	maxPageSeparators = 400_000
)

// beginning returns as much of a page as is looked at.
func beginning(page []byte) []byte {
	if page = page[:min(len(page), maxPage)]; !isUTF8(page) {
		page = page[:min(len(page), maxForeignPage)]
	}
	left := maxPageSeparators
	for at, c := range page {
		if !isSeparator(c) {
			continue
		}
		if left--; left < 0 {
			return page[:at]
		}
	}
	return page
}

// isSeparator reports whether an attribute of a tag may stand behind a character.
func isSeparator(c byte) bool {
	switch c {
	case ' ', '\t', '\n', '\r', '\f', '/', '"', '\'':
		return true
	}
	return false
}

// separators counts what may stand before each attribute of a tag. In a text it is more than there are.
func separators(markup []byte) (count int) {
	for _, c := range markup {
		if isSeparator(c) {
			count++
		}
	}
	return count
}

// isUTF8 reports whether a page is in UTF-8, but for a character that may be cut at the end.
func isUTF8(page []byte) bool { return utf8.Valid(page[:max(0, len(page)-utf8.UTFMax)]) }

// wasteful elements are left out before the page is parsed, tags only. The first of them are the
// formatting elements of the HTML standard: a parser opens those that were not closed again in
// each block that follows, so that a few kilobytes become gigabytes. The others have no text.
var wasteful = map[atom.Atom]bool{
	atom.B: true, atom.Big: true, atom.Code: true, atom.Em: true, atom.Font: true, atom.I: true, atom.Nobr: true,
	atom.S: true, atom.Small: true, atom.Strike: true, atom.Strong: true, atom.Tt: true, atom.U: true,

	atom.Area: true, atom.Embed: true, atom.Frame: true, atom.Frameset: true, atom.Img: true, atom.Input: true,
	atom.Link: true, atom.Param: true, atom.Picture: true, atom.Source: true, atom.Track: true, atom.Wbr: true,
}

// mute elements are left out with their text, which the tokenizer gives in one piece.
var mute = map[atom.Atom]bool{
	atom.Iframe: true, atom.Noembed: true, atom.Noframes: true, atom.Noscript: true, atom.Plaintext: true,
	atom.Script: true, atom.Style: true, atom.Textarea: true, atom.Xmp: true,
}

// slim returns what of a page matters for its text, bounded.
func slim(page string) string {
	var out strings.Builder
	tokenizer := html.NewTokenizer(strings.NewReader(page))
	tags, attributes, muted := 0, 0, false
	for out.Len() < maxMarkup && tags < maxTags {
		kind := tokenizer.Next()
		raw := tokenizer.Raw()
		switch kind {
		case html.ErrorToken:
			return out.String()
		case html.TextToken:
			if !muted {
				out.Write(raw[:min(len(raw), maxMarkup-out.Len())])
			}
			muted = false
		case html.StartTagToken, html.SelfClosingTagToken, html.EndTagToken:
			// Raw is valid until the tag's name is read: reading it lowers its case in place, no more.
			name, _ := tokenizer.TagName()
			tag := atom.Lookup(name)
			muted = mute[tag] && kind != html.EndTagToken
			switch {
			case mute[tag] || wasteful[tag]:
			case tag == atom.Html || tag == atom.Body:
				// Each of them would add its attributes to the first, looking through all it has.
				if kind != html.EndTagToken {
					out.WriteString("<" + tag.String() + ">")
				}
			case len(raw) > maxMarkup-out.Len():
				return out.String()
			default:
				tags++
				if attributes += separators(raw); attributes <= maxSeparators || kind == html.EndTagToken {
					out.Write(raw)
				} else {
					out.WriteString("<" + string(name) + ">")
				}
			}
		case html.DoctypeToken:
			if out.Len() == 0 {
				out.Write(raw[:min(len(raw), 256)])
			}
		case html.CommentToken:
		}
	}
	return out.String()
}
