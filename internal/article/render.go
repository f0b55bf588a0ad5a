// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package article

import (
	"strings"
	"unicode"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// gap is what stands between two words, the widest that was asked for.
type gap int

const (
	gapNone gap = iota
	gapSpace
	// gapBreak is a line break of the source. It is a space, except in writing without spaces.
	gapBreak
	gapLine
	gapParagraph
)

// unread are elements whose text is not read out. Of ruby, the annotation repeats the word.
var unread = map[atom.Atom]bool{atom.Head: true, atom.Title: true, atom.Rt: true, atom.Rp: true}

// renderer writes the text below a node as a reader sees it.
type renderer struct {
	out  strings.Builder
	gap  gap
	last rune
	// caption is set if what is written belongs to a picture.
	caption bool
}

// captionMark stands before each paragraph of a caption, so that it is not taken for one of the story: out of its place it says
// something else, and whoever reads a text does not see the picture.
const captionMark = "Caption: "

// sampleMark stands before each preformatted line, so that code is not taken for a menu. No page can have this character in
// its text.
const sampleMark = "\x02"

// render returns plain text with paragraphs separated by an empty line.
func render(node *html.Node) string {
	var r renderer
	r.node(node, false)
	return r.out.String()
}

func (r *renderer) node(node *html.Node, preformatted bool) {
	switch node.Type {
	case html.TextNode:
		r.text(node.Data, preformatted)
		return
	case html.ElementNode, html.DocumentNode:
	default:
		return
	}
	tag := node.DataAtom
	if tag == 0 { // the search makes elements, and knows them by their names only
		tag = atom.Lookup([]byte(node.Data))
	}
	if unread[tag] {
		return
	}
	around := gapAround(tag)
	r.gap = max(r.gap, around)
	switch tag {
	case atom.Br:
		if r.gap == gapLine {
			r.gap = gapParagraph
		}
		r.gap = max(r.gap, gapLine)
	case atom.Pre, atom.Listing:
		preformatted = true
	}
	before := r.caption
	r.caption = before || tag == atom.Figcaption
	for child := node.FirstChild; child != nil; child = child.NextSibling {
		r.node(child, preformatted)
	}
	r.caption = before
	r.gap = max(r.gap, around)
}

// gapAround is what an element puts before and after itself.
func gapAround(element atom.Atom) gap {
	switch element {
	case atom.Address, atom.Article, atom.Blockquote, atom.Body, atom.Caption, atom.Center, atom.Details, atom.Dir, atom.Div,
		atom.Dl, atom.Fieldset, atom.Figcaption, atom.Figure, atom.Footer, atom.Form, atom.H1, atom.H2, atom.H3, atom.H4,
		atom.H5, atom.H6, atom.Header, atom.Hgroup, atom.Hr, atom.Listing, atom.Main, atom.Ol, atom.P, atom.Pre,
		atom.Section, atom.Summary, atom.Table, atom.Ul:
		return gapParagraph
	case atom.Dd, atom.Dt, atom.Li, atom.Tr:
		return gapLine
	case atom.Td, atom.Th, atom.Legend, atom.Option:
		return gapSpace
	default:
		return gapNone
	}
}

func (r *renderer) text(data string, preformatted bool) {
	for _, c := range data {
		switch {
		case c == '\n' && preformatted && r.gap == gapLine:
			r.gap = gapParagraph
		case c == '\n' && preformatted:
			r.gap = max(r.gap, gapLine)
		case c == '\n':
			r.gap = max(r.gap, gapBreak)
		case unicode.IsSpace(c):
			r.gap = max(r.gap, gapSpace)
		case isPrintable(c):
			r.write(c, preformatted)
		}
	}
}

func (r *renderer) write(c rune, preformatted bool) {
	begins := r.out.Len() == 0 || r.gap >= gapLine
	if r.out.Len() > 0 {
		switch r.gap {
		case gapNone:
		case gapSpace:
			r.out.WriteByte(' ')
		case gapBreak:
			if !isWide(r.last) || !isWide(c) {
				r.out.WriteByte(' ')
			}
		case gapLine:
			r.out.WriteByte('\n')
		case gapParagraph:
			r.out.WriteString("\n\n")
		}
	}
	if begins && preformatted {
		r.out.WriteString(sampleMark)
	}
	if begins && r.caption {
		r.out.WriteString(captionMark)
	}
	r.gap, r.last = gapNone, c
	r.out.WriteRune(c)
}
