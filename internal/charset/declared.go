// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package charset

import (
	"bytes"
	"mime"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
)

// A declaration is what a document or a header claims.
type declaration struct {
	name string // the one that the WHATWG Encoding Standard gives to the character set
	set  encoding.Encoding
}

func (d declaration) isWide() bool { return strings.HasPrefix(d.name, "utf-16") }

const (
	nameUTF8 = "utf-8"
	// nameWestern is what the standard takes ISO-8859-1 and US-ASCII for: the default of many servers, which
	// says nothing of the document.
	nameWestern = "windows-1252"
)

var (
	// The first element of a document may be something else: a warning of the server's software, or a comment.
	xmlDeclaration = form{"<?xml", regexp.MustCompile(`^[^>]{0,512}?<\?xml[^>]{0,512}?encoding\s*=\s*["']\s*([A-Za-z0-9._:-]{1,40})`)}
	metaElement    = form{"<meta", regexp.MustCompile(`(?i)<meta\s[^>]{0,512}?charset\s*=\s*["']?\s*([a-z0-9_:.\-]{1,40})`)}
)

// form is how a character set is declared. The expression is tried only where its markup is: to be tried takes it tens of kilobytes.
type form struct {
	markup     string
	expression *regexp.Regexp
}

func (f *form) find(text []byte) [][]byte {
	for rest := text; ; rest = rest[1:] {
		at := bytes.IndexByte(rest, '<')
		if at < 0 {
			return nil
		}
		if rest = rest[at:]; len(rest) >= len(f.markup) && strings.EqualFold(string(rest[:len(f.markup)]), f.markup) {
			return f.expression.FindSubmatch(text)
		}
	}
}

// maxPrologue is how far into a page a declaration is looked for. Browsers look at 1 KiB, but pages with a long
// head exist.
const maxPrologue = 8 << 10

// declarations returns the character sets that are declared and known, the document's own first.
func declarations(body []byte, contentType string) []declaration {
	var said []declaration
	add := func(label string, believed func(declaration) bool) {
		set, name := charset.Lookup(strings.TrimSpace(label))
		// "replacement" stands for character sets that the standard refuses to decode, for what they can hide.
		if found := (declaration{name, set}); set != nil && name != "replacement" && believed(found) && !slices.ContainsFunc(said, found.same) {
			said = append(said, found)
		}
	}
	prologue := body[:min(len(body), maxPrologue)]
	for _, form := range []*form{&xmlDeclaration, &metaElement} {
		if match := form.find(prologue); match != nil {
			// A declaration that could be read as ASCII is not in UTF-16.
			add(string(match[1]), func(found declaration) bool { return !found.isWide() })
		}
	}
	if _, parameters, err := mime.ParseMediaType(contentType); err == nil {
		add(parameters["charset"], func(declaration) bool { return true })
	}
	return said
}

func (d declaration) same(other declaration) bool { return d.name == other.name }
