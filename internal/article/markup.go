// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package article

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Bounds of the tree that a page may become. What is above them is cut off. They keep the worst page
// within seconds and tens of megabytes; an article of book length is well below.
const (
	maxTags   = 30_000
	maxMarkup = 1 << 20
)

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
	tags, muted := 0, false
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
				out.Write(raw)
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
