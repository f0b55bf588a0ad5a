// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package plaintext

import (
	"html"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	nethtml "golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

var (
	anyTag     = regexp.MustCompile(`<[A-Za-z/!?]`)
	escapedTag = regexp.MustCompile(`&lt;/?[A-Za-z][^<>]*?&gt;`)
)

// Text makes plain readable text of HTML: paragraphs separated by a blank line, other lines by a
// line break, references decoded, without scripts, styles, marks and the readings of ruby. Text
// without markup keeps its lines.
func Text(content string) string {
	content = Printable(content)
	if strings.Contains(content, "\r") {
		content = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(content)
	}
	if !anyTag.MatchString(content) && escapedTag.MatchString(content) {
		content = html.UnescapeString(content) // escaped once too often
	}
	if !anyTag.MatchString(content) {
		return tidy(html.UnescapeString(content))
	}
	var text textWriter
	tokenizer := nethtml.NewTokenizer(strings.NewReader(content))
	for {
		switch tokenizer.Next() {
		case nethtml.ErrorToken:
			return tidy(text.String())
		case nethtml.TextToken:
			text.write(string(tokenizer.Text()))
		case nethtml.StartTagToken:
			name, _ := tokenizer.TagName()
			text.start(atom.Lookup(name))
		case nethtml.SelfClosingTagToken:
			name, _ := tokenizer.TagName()
			text.lineFor(atom.Lookup(name))
		case nethtml.EndTagToken:
			name, _ := tokenizer.TagName()
			text.end(atom.Lookup(name))
		case nethtml.CommentToken, nethtml.DoctypeToken:
		}
	}
}

// A textWriter puts together the text of an HTML document.
type textWriter struct {
	strings.Builder

	// skip is the element whose content is left out, depth how often it is open.
	skip  atom.Atom
	depth int
}

func (w *textWriter) start(name atom.Atom) {
	if w.skip != 0 {
		if name == w.skip {
			w.depth++
		}
		return
	}
	switch name {
	case atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Iframe, atom.Noembed, atom.Noframes, atom.Head,
		atom.Svg, atom.Rt, atom.Rp:
		w.skip, w.depth = name, 1
		return
	}
	w.lineFor(name)
}

func (w *textWriter) end(name atom.Atom) {
	if w.skip != 0 {
		if name == w.skip {
			if w.depth--; w.depth == 0 {
				w.skip = 0
			}
		} else if name == atom.Ruby { // the end tags of readings may be left out
			w.skip = 0
		}
		return
	}
	if name != atom.Br {
		w.lineFor(name)
	}
}

// lineFor breaks the line where the element does.
func (w *textWriter) lineFor(name atom.Atom) {
	if w.skip != 0 {
		return
	}
	switch name {
	case atom.Br, atom.Li, atom.Tr, atom.Dt, atom.Dd, atom.Option:
		w.WriteString("\n")
	case atom.P, atom.Div, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Ul, atom.Ol, atom.Dl, atom.Table,
		atom.Blockquote, atom.Pre, atom.Hr, atom.Section, atom.Article, atom.Aside, atom.Header, atom.Footer, atom.Main, atom.Nav,
		atom.Figure, atom.Figcaption, atom.Form, atom.Fieldset, atom.Address, atom.Details, atom.Summary, atom.Center:
		w.WriteString("\n\n")
	case atom.Td, atom.Th:
		w.WriteString(" ")
	}
}

// write takes text in which lines are only wrapped. Between characters of scripts without spaces
// a line break is nothing, elsewhere it is a space.
func (w *textWriter) write(text string) {
	if w.skip != 0 {
		return
	}
	for i := 0; ; i++ {
		line, rest, more := strings.Cut(text, "\n")
		if i > 0 {
			line = strings.TrimLeftFunc(line, unicode.IsSpace)
			if before, after := lastOf(w.String()), firstOf(line); !spaceless(before) || !spaceless(after) {
				w.WriteString(" ")
			}
		}
		if more {
			line = strings.TrimRightFunc(line, unicode.IsSpace)
		}
		w.WriteString(line)
		if !more {
			return
		}
		text = rest
	}
}

func firstOf(text string) rune { r, _ := utf8.DecodeRuneInString(text); return r }
func lastOf(text string) rune  { r, _ := utf8.DecodeLastRuneInString(text); return r }

// spaceless reports whether a character belongs to a script that puts no spaces between words.
func spaceless(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) ||
		r >= 0x3000 && r <= 0x303F || // CJK punctuation
		r >= 0xFF00 && r <= 0xFFEF // full-width forms
}

// tidy makes single spaces, and at most one blank line between two others.
func tidy(text string) string {
	var tidied strings.Builder
	blank := false
	for line := range strings.SplitSeq(text, "\n") {
		line = Line(line)
		switch {
		case line == "":
			blank = true
			continue
		case tidied.Len() == 0:
		case blank:
			tidied.WriteString("\n\n")
		default:
			tidied.WriteString("\n")
		}
		blank = false
		tidied.WriteString(line)
	}
	return tidied.String()
}
