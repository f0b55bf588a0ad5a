// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feedxml

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/feed-operator/feed-operator/internal/plaintext"
)

// balance puts the tags of a feed in order, so that what follows a tag that is missing or too many is
// still found. An end tag without a start tag, as of a paragraph that was pasted in, is dropped: it
// would close all that is open. One that differs from its start tag in capitals or in its prefix is
// spelled like it. An entry ends where the next one begins.
//
// What stands next to the entries, or in one, and has no end tag would swallow all that follows, as
// <title>, <image> and <itunes:category> do. It ends before the first element that belongs next to it,
// and missing says so, for a person. What is closed is left as it is, whatever is in it, but for a list
// around the entries: there they would not be found.
func balance(text []byte) (balanced []byte, missing error) {
	b := balancer{text: text, closed: closedTags(text), balanced: make([]byte, 0, len(text)+len(text)/8)}
	walkTags(text, maxDepth, b.visit)
	return append(b.balanced, text[b.copied:]...), b.missing
}

// A balancer goes through the tags a second time, when it is known which are closed.
type balancer struct {
	openTags

	text     []byte
	closed   []bool
	balanced []byte // of what of the text is copied
	copied   int64
	missing  error
}

// put puts another text in the place of a part of the document, behind all before.
func (b *balancer) put(at span, text string) {
	b.balanced = append(append(b.balanced, b.text[b.copied:at.from]...), text...)
	b.copied = at.to
}

// isClosed reports whether the element has an end tag of its own. Of those that the first pass did not
// reach it is taken for granted.
func (b *balancer) isClosed(tag openTag) bool {
	return tag.number >= len(b.closed) || b.closed[tag.number]
}

// openTags are the elements that are open while a pass is inside them.
type openTags struct {
	open       []openTag
	names      map[string]int // how many of a name are open, in lower case
	structural int            // how many are root, channel or entry; they come before the others
	started    int            // start tags so far
}

type openTag struct {
	name   string // as written, with its prefix
	number int    // of its start tag in the document
	role   role
}

// begin opens an element, with the role that its place gives it.
func (o *openTags) begin(name string) {
	tag := openTag{name: name, number: o.started}
	switch top := len(o.open) - 1; {
	case top < 0:
		tag.role = roleRoot
	case o.structural <= top || o.open[top].role == roleEntry:
	case isEntry(name):
		tag.role = roleEntry
	case o.open[top].role == roleRoot && localName(name) == "channel":
		tag.role = roleChannel
	}
	o.started++
	o.open = append(o.open, tag)
	if tag.role != roleText {
		o.structural = len(o.open)
	}
	if o.names == nil {
		o.names = map[string]int{}
	}
	o.names[strings.ToLower(name)]++
}

// cut closes all but the first elements that are open.
func (o *openTags) cut(first int) {
	for _, tag := range o.open[first:] {
		o.names[strings.ToLower(tag.name)]--
	}
	o.open, o.structural = o.open[:first], min(o.structural, first)
}

// matching returns which open element an end tag closes, or -1.
func (o *openTags) matching(name string) int {
	top := len(o.open) - 1
	if o.names[strings.ToLower(name)] > 0 {
		for i := top; i >= 0; i-- {
			if strings.EqualFold(o.open[i].name, name) {
				return i
			}
		}
	}
	if top >= 0 && localName(o.open[top].name) == localName(name) {
		return top
	}
	return -1
}

// inEntry reports whether what is open last is an entry of this name.
func (o *openTags) inEntry(name string) bool {
	top := len(o.open) - 1
	return top >= 0 && o.open[top].role == roleEntry && o.open[top].name == name
}

// walkTags calls take for all start and end tags, until more than limit are open. A tag that cannot be
// read is passed over, as often as the document is worth repairs; and so is one whose name is too long: it would be looked through
// again with each that comes after it.
func walkTags(text []byte, limit int, take func(name string, start bool, at span) (open int)) {
	offset := int64(0)
	for range repairsOf(text) {
		decoder := newDecoder(text[offset:])
		for {
			from := decoder.InputOffset()
			token, err := decoder.RawToken()
			if errors.Is(err, io.EOF) {
				return
			}
			at := span{offset + from, offset + decoder.InputOffset()}
			if err != nil {
				offset = at.from + 1
				break
			}
			written := text[at.from:at.to]
			switch token.(type) {
			case xml.StartElement:
				name := writtenName(written)
				if len(name) > maxName {
					continue
				}
				if take(name, true, at) > limit {
					return
				}
				if written[len(written)-2] == '/' {
					take(name, false, span{at.to, at.to})
				}
			case xml.EndElement:
				if name := endName(written); name != "" && len(name) <= maxName {
					take(name, false, at)
				}
			}
		}
	}
}

// closedTags reports for each start tag, in their order, whether it has an end tag of its own.
func closedTags(text []byte) []bool {
	const limit = 64 * maxDepth // what is not closed seems to be nested
	var tags openTags
	var closed []bool
	walkTags(text, limit, func(name string, start bool, _ span) int {
		if start {
			if tags.inEntry(name) { // see makeRoom
				tags.cut(len(tags.open) - 1)
			}
			tags.begin(name)
			closed = append(closed, false)
		} else if i := tags.matching(name); i >= 0 {
			closed[tags.open[i].number] = true
			tags.cut(i)
		}
		return len(tags.open)
	})
	return closed
}

func (b *balancer) visit(name string, start bool, at span) (open int) {
	if start {
		b.makeRoom(name, at.from)
		b.begin(name)
		return len(b.open)
	}
	i := b.matching(name)
	if i < 0 {
		b.put(at, "")
		return len(b.open)
	}
	b.end(i+1, at.from)
	if b.open[i].name != name {
		b.put(at, "</"+b.open[i].name+">")
	}
	b.cut(i)
	return len(b.open)
}

// makeRoom ends what is open and cannot have an element of this name inside of it.
func (b *balancer) makeRoom(name string, at int64) {
	if member := b.structural; member > 0 && member < len(b.open) && b.swallows(member, name) {
		b.end(member, at)
	}
	if b.inEntry(name) {
		b.end(len(b.open)-1, at)
	}
}

// swallows reports whether the open element that stands next to entries, or in one, would take in a start
// tag that belongs next to it.
func (b *balancer) swallows(at int, name string) bool {
	member, parent := b.open[at], b.open[at-1]
	if isEntry(name) && parent.role != roleEntry && !strings.Contains(member.name, ":") {
		return true // a list around the entries, closed or not
	}
	if !isEntry(name) {
		expected := localName(name)
		switch local := localName(member.name); {
		case strings.Contains(member.name, ":") && !strings.Contains(parent.name, ":"):
			expected = strings.ToLower(name) // an extension, with such elements of its own
		case local == "image", local == "textinput", local == "source": // have titles and links of their own
			return false
		}
		atoms := expected == "summary" && localName(parent.name) != "item" // else HTML's
		if !neighbours[expected] && !atoms {
			return false
		}
	}
	// What is closed, and all that is in it, stays as it is.
	return !slices.ContainsFunc(b.open[at:], b.isClosed)
}

// neighbours are the elements of RSS and Atom, and those that stand next to them most often, by which
// one sees that an element before them has ended. None is one of HTML that may well stand in a text.
var neighbours = setOf(`author category comments content copyright creator description docs enclosure encoded generator guid icon id
	image issued items language lastbuilddate link logo managingeditor modified pubdate published rights subtitle tagline title ttl updated
	webmaster`)

func setOf(words string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(words) {
		set[word] = true
	}
	return set
}

// end closes what is open from first on.
func (b *balancer) end(first int, at int64) {
	var tags strings.Builder
	for _, tag := range slices.Backward(b.open[first:]) {
		tags.WriteString("</" + tag.name + ">")
	}
	for i, tag := range b.open[first:] {
		member := tag.role == roleText && b.open[first+i-1].role != roleText
		if member && !b.isClosed(tag) && b.missing == nil {
			b.missing = fmt.Errorf("the end tag of <%s> is missing", plaintext.CutWords(plaintext.Line(tag.name), 64))
		}
	}
	if tags.Len() > 0 {
		b.put(span{at, at}, tags.String())
	}
	b.cut(first)
}

func isEntry(name string) bool {
	local := localName(name)
	return local == "item" || local == "entry"
}
