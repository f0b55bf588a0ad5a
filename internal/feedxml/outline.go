// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package feedxml makes XML that a parser can read, within bounds of time and memory, of what servers send as RSS and Atom.
//
// It knows the tags of these vocabularies, and how they are broken. It must never know what an entry says.
package feedxml

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/feed-operator/feed-operator/internal/dates"
)

// MaxEntries is how many entries of one document are used, the first ones in document order.
const MaxEntries = 10000

// Bounds on XML, beyond what any feed needs. Without them a small document can take the parser
// gigabytes, minutes, or the whole process by recursion.
const (
	maxDepth           = 256
	maxElements        = 250_000
	maxNamespaces      = 32
	maxAttributes      = 256
	maxExtensionTokens = 256
	maxDates           = 3 * MaxEntries
	// In bytes: names of elements with their prefixes, prefixes and names of namespaces. Each is looked through again with each element
	// that it concerns.
	maxName      = 256
	maxNamespace = 1024
	// maxBase is how long the addresses are together that links are relative to, of all elements that are open, in bytes. The
	// parser makes a copy for each link.
	maxBase = 512
	// leastBased is how much all these copies may take, beside twice the document, in bytes.
	leastBased = 1 << 20
)

const xmlNamespace = "http://www.w3.org/XML/1998/namespace"

// Kind is the XML vocabulary of a feed.
type Kind int

// The kinds that are known.
const (
	KindNone Kind = iota
	KindRSS       // 0.9x and 2.0
	KindRDF       // RSS 0.9 and 1.0
	KindAtom
)

var (
	errTooLarge = fmt.Errorf("there are more than %d elements", maxElements)
	errTooDeep  = fmt.Errorf("elements are nested more than %d deep", maxDepth)
)

// errUnbalanced is for end tags that are missing or too many, and entries where none is looked for: see
// balance.
var errUnbalanced = errors.New("end tags are missing or too many")

// A span is a part of the text, [from, to).
type span struct{ from, to int64 }

// Outline is what one pass over the XML of a feed finds, before a parser may read it.
type Outline struct {
	// Kind is the vocabulary.
	Kind Kind
	// Root is the name of the root element, empty when there is none, and space its namespace.
	Root, space string
	// Entries is how many were read to their ends.
	Entries int
	// whole is where the last of the first MaxEntries entries ends, and closing the end tags of
	// what is open there.
	whole   int64
	closing string
	// edits are what the parser must not see as it is: oversized extensions and stray declarations,
	// missing end tags, and what it would not find where it stands.
	edits []edit
	// broken is the entry in which the pass had to stop, up to its end tag; empty when it was not
	// in one or the end tag is missing.
	broken span
	// based is set where an element has an address that links in it are relative to.
	based bool
	// err is why the pass stopped before the end of the root element; nil when it did not.
	err error
}

// role is what an element is to the feed.
type role int

const (
	roleText role = iota // everything that the parser takes as a whole
	roleRoot
	roleChannel
	roleEntry
	roleSource
	roleExtension
)

// An element is open while the pass is inside it.
type element struct {
	role       role
	name       string // as written, with its prefix
	from       int64
	empty      bool // "<a/>"
	tokens     int
	namespaces int
	base       int // bytes of the address that links in it are relative to
}

// native namespaces of both vocabularies, as the parser has them.
var (
	nativeRSS = []string{
		"", "rss", "rdf", "http://www.w3.org/1999/02/22-rdf-syntax-ns#", "http://purl.org/rss/1.0/",
		"http://channel.netscape.com/rdf/simple/0.9/", "http://my.netscape.com/rdf/simple/0.9/",
	}
	nativeAtom = []string{"", "http://www.w3.org/2005/Atom", "http://purl.org/atom/ns#"}
)

// structure says, for Atom or not, which elements inside of which others are more than text.
var structure = map[bool]map[role]map[string]role{
	true: {
		roleRoot:  {"entry": roleEntry},
		roleEntry: {"source": roleSource},
	},
	false: {
		roleRoot:    {"channel": roleChannel, "item": roleEntry},
		roleChannel: {"item": roleEntry},
	},
}

// dateNames are the elements that the parser takes for dates.
var dateNames = setOf("pubdate lastbuilddate date published updated issued modified")

const contentNamespace = "http://purl.org/rss/1.0/modules/content/"

// A scanner makes the Outline.
type scanner struct {
	Outline

	text       []byte
	balanced   bool // what is out of order now stays so
	native     []string
	rootSpace  string
	open       []element
	elements   int
	dates      int
	namespaces int
	base       int    // of all that is open
	copies     int    // what the copies of it may take, in bytes
	extension  int    // index+1 in open of the extension that the pass is in
	endTag     int64  // where the last end tag begins
	endName    string // and its name
}

func outlineOf(text []byte, balanced bool) Outline {
	s := &scanner{text: text, balanced: balanced}
	decoder := newDecoder(text)
	for done := false; !done; {
		from := decoder.InputOffset()
		token, err := decoder.Token()
		to := decoder.InputOffset()
		if err == nil {
			done, err = s.handle(token, span{from, to})
		}
		if err != nil {
			if !errors.Is(err, io.EOF) || len(s.open) > 0 {
				s.stop(err)
			}
			break
		}
	}
	return s.Outline
}

// handle notes one token; it is done at the end of the root element, and at once if that is no feed's.
func (s *scanner) handle(token xml.Token, at span) (done bool, err error) {
	if s.extension > 0 {
		s.open[s.extension-1].tokens++
	}
	switch token := token.(type) {
	case xml.StartElement:
		return s.begin(token, at)
	case xml.EndElement:
		return s.end(at)
	case xml.ProcInst:
		if token.Target == "xml" { // would switch the parser to another character set
			s.edits = append(s.edits, edit{span: at})
		}
	}
	return false, nil
}

func (s *scanner) begin(start xml.StartElement, at span) (done bool, err error) {
	if len(s.open) == 0 {
		s.Root, s.space = start.Name.Local, strings.TrimSpace(start.Name.Space)
		switch strings.ToLower(s.Root) {
		case "rss":
			s.Kind, s.native = KindRSS, nativeRSS
			// Some feeds have a namespace of their own on the root, and so on all that is RSS.
			s.rootSpace = s.space
		case "rdf":
			s.Kind, s.native = KindRDF, nativeRSS
			s.rootSpace = s.space
		case "feed":
			s.Kind, s.native = KindAtom, nativeAtom
			s.rootSpace = s.space
			s.spellNamespace(at)
		default:
			return true, nil
		}
	}
	e := element{role: s.roleOf(start.Name), name: writtenName(s.text[at.from:at.to]), from: at.from, empty: s.text[at.to-2] == '/'}
	if err := e.note(start.Attr); err != nil {
		return false, err
	}
	if !s.balanced && s.hidden(start.Name, e) {
		return false, errUnbalanced
	}
	s.identify(start, e, at)
	if s.Entries < MaxEntries { // what follows does not reach the parser
		s.elements++
	}
	s.namespaces += e.namespaces
	s.base += e.base
	s.based = s.based || s.base > 0
	s.copies += s.base * max(1, len(start.Attr))
	s.open = append(s.open, e)
	if e.role == roleExtension && s.extension == 0 {
		s.extension = len(s.open)
	}
	switch {
	case len(s.open) > maxDepth:
		return false, errTooDeep
	case s.elements > maxElements:
		return false, errTooLarge
	case len(start.Attr) > maxAttributes:
		return false, fmt.Errorf("an element has more than %d attributes", maxAttributes)
	case s.namespaces > maxNamespaces:
		return false, fmt.Errorf("there are more than %d namespaces", maxNamespaces)
	case s.base > maxBase, s.copies > s.mostBased():
		return false, errors.New("the addresses that links are relative to are too long")
	}
	return false, nil
}

// note notes what an element says of all that is in it. What is too long is an error.
func (e *element) note(attributes []xml.Attr) error {
	if len(e.name) > maxName {
		return fmt.Errorf("the name of an element is longer than %d bytes", maxName)
	}
	for _, attribute := range attributes {
		switch {
		case attribute.Name.Space == "xmlns", attribute.Name.Space == "" && attribute.Name.Local == "xmlns":
			e.namespaces++
			if len(attribute.Name.Local) > maxName || len(attribute.Value) > maxNamespace {
				return fmt.Errorf("the name of a namespace is longer than %d bytes, or its prefix than %d", maxNamespace, maxName)
			}
		case attribute.Name.Space == xmlNamespace && attribute.Name.Local == "base":
			e.base += len(attribute.Value)
		}
	}
	return nil
}

func (s *scanner) roleOf(name xml.Name) role {
	if len(s.open) == 0 {
		return roleRoot
	}
	parent := s.open[len(s.open)-1].role
	if parent == roleText || parent == roleExtension {
		return parent
	}
	space := strings.TrimSpace(name.Space)
	native := slices.Contains(s.native, space)
	if native || space == s.rootSpace {
		if r, ok := structure[s.Kind == KindAtom][parent][strings.ToLower(name.Local)]; ok {
			return r
		}
	}
	if native || space == contentNamespace {
		return roleText
	}
	// The parser takes the namespace of the root for an extension if it knows it as one.
	return roleExtension
}

// hidden reports whether this is an entry that would not be found where it stands: in another one, or in
// something else that stands next to entries.
func (s *scanner) hidden(name xml.Name, e element) bool {
	if e.role != roleText && e.role != roleExtension || !isEntry(e.name) {
		return false
	}
	parent := s.open[len(s.open)-1]
	if parent.role == roleEntry {
		return e.role == roleText && e.name == parent.name
	}
	space := strings.TrimSpace(name.Space)
	return (slices.Contains(s.native, space) || space == s.rootSpace) &&
		!slices.ContainsFunc(s.open, func(e element) bool { return e.role == roleEntry })
}

// standsNextToEntries reports whether an element that has just ended is a part of an entry, of a channel, or
// of the root, and not itself one of them.
func (s *scanner) standsNextToEntries(closed element) bool {
	if closed.role == roleEntry || closed.role == roleChannel || len(s.open) == 0 {
		return false
	}
	parent := s.open[len(s.open)-1].role
	return parent == roleRoot || parent == roleChannel || parent == roleEntry
}

func (s *scanner) end(at span) (done bool, err error) {
	closed := s.open[len(s.open)-1]
	s.open = s.open[:len(s.open)-1]
	s.namespaces -= closed.namespaces
	defer func() { s.base -= closed.base }()
	if name := endName(s.text[at.from:at.to]); name != "" {
		s.endTag, s.endName = at.from, name
		if name != closed.name && !slices.ContainsFunc(s.open, func(e element) bool { return e.name == name }) {
			return false, errUnbalanced
		}
	}
	// The decoder invents end tags for what is open in an element that ends.
	itself := closed.empty || s.endName == closed.name
	if !itself && !s.balanced && s.standsNextToEntries(closed) {
		return false, errUnbalanced
	}
	if closed.role == roleText && !itself {
		// Else the parser takes the end tag of the outer element for a part of its text.
		s.edits = append(s.edits, edit{span{s.endTag, s.endTag}, "</" + closed.name + ">"})
	}
	if s.costsTooMuch(closed, at) {
		s.edits = append(s.edits, edit{span: span{closed.from, at.to}})
	}
	if s.extension > len(s.open) {
		s.extension = 0
		if closed.tokens > maxExtensionTokens {
			s.edits = append(s.edits, edit{span: span{closed.from, at.to}})
		}
	}
	if closed.role == roleEntry && itself {
		s.Entries++
		if s.Entries <= MaxEntries {
			s.whole, s.closing = at.to, s.closeAll()
		}
	}
	return len(s.open) == 0, nil
}

// costsTooMuch counts what an element that has ended takes of the parser, and reports whether it is left out for that.
func (s *scanner) costsTooMuch(closed element, at span) bool {
	tooMuch := false
	if dateNames[localName(closed.name)] {
		// The parser tries a hundred forms, with a copy of the date for each.
		s.dates++
		tooMuch = s.dates > maxDates || at.to-closed.from > 4*dates.Longest
	}
	if closed.role == roleText && s.base > 0 && s.Kind == KindAtom && s.standsNextToEntries(closed) {
		// The parser takes the text for HTML, if it says so, and makes a copy of the address for each link in it.
		copies := s.base * linksIn(s.text[closed.from:at.to])
		if s.copies += copies; s.copies > s.mostBased() {
			s.copies -= copies
			tooMuch = true
		}
	}
	return tooMuch
}

// mostBased is how much the copies of the addresses may take that links are relative to.
func (s *scanner) mostBased() int { return 2*len(s.text) + leastBased }

// linksIn counts what may come to be the name of an attribute that is a link, however it is written.
func linksIn(text []byte) (links int) {
	text = bytes.ToLower(text)
	for _, name := range []string{
		"action", "background", "cite", "codebase", "data", "href", "poster", "profile", "scheme", "src", "uri", "usemap", "&#", "<!",
	} {
		links += bytes.Count(text, []byte(name))
	}
	return links
}

// stop notes why the pass ends early, and in which entry.
func (s *scanner) stop(err error) {
	s.err = err
	for _, e := range s.open {
		if e.role == roleEntry {
			s.broken = s.upToEndTag(e)
			return
		}
	}
}

// upToEndTag returns where an element is, up to its end tag; nothing when that is missing.
func (s *scanner) upToEndTag(e element) span {
	endTag := []byte("</" + e.name)
	for at := e.from; ; {
		next := bytes.Index(s.text[at:], endTag)
		if next < 0 {
			return span{}
		}
		at += int64(next + len(endTag))
		// Else it is the tag of a longer name.
		if rest := bytes.TrimLeft(s.text[at:], " \t\r\n"); bytes.HasPrefix(rest, []byte(">")) {
			return span{e.from, int64(len(s.text)-len(rest)) + 1}
		}
	}
}

// closeAll returns the end tags of all that is open.
func (s *scanner) closeAll() string {
	var tags strings.Builder
	for _, e := range slices.Backward(s.open) {
		tags.WriteString("</" + e.name + ">")
	}
	return tags.String()
}
