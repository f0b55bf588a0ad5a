// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feedxml

import (
	"bytes"
	"crypto/rand"
	"html"
	"strconv"
)

// A Light document is a feed without the long texts of its entries. They are most of a document, and a parser that reads XML byte
// by byte takes most of its time for them, though there is nothing in them that it has to understand.
type Light struct {
	Outline

	// XML is the document, well-formed, with a word in the place of each text that was taken out.
	XML []byte
	// texts are what was taken out and is not put back, decoded, by the words in their places.
	texts map[string]string
}

// PutBack puts texts into places where a parser has put words that stand for them.
func (l *Light) PutBack(places ...*string) {
	for _, place := range places {
		if text, taken := l.texts[*place]; taken {
			delete(l.texts, *place)
			*place = text
		}
	}
}

// IsWhole reports whether all texts are put back.
func (l *Light) IsWhole() bool { return len(l.texts) == 0 }

// longText is how long a text is at least, in bytes, that is taken out.
const longText = 128

// Lighten takes the texts out of a document that Readable returned. It returns nil where there are none, or where the document is
// not well-formed and within all bounds, or has addresses that the links in a text are relative to: then Repair has to look at all of it.
//
// A text is taken out of any element of its name behind the beginning of the first entry. Who parses the XML puts them back where the
// parser has put the text of such an element, of an entry. If the document is not whole then, one was in another place, where texts are
// decoded in other ways: the document has to be parsed as it is.
func Lighten(text []byte) *Light {
	// No document can have the words in it: nobody knows them before.
	light := &Light{texts: map[string]string{}}
	prefix := rand.Text()
	copied := 0
	walkLongTexts(text, func(from, to int, decoded string) {
		word := prefix + strconv.Itoa(len(light.texts))
		light.texts[word] = decoded
		light.XML = append(append(light.XML, text[copied:from]...), word...)
		copied = to
	})
	if copied == 0 {
		return nil
	}
	light.XML = append(light.XML, text[copied:]...)
	light.Outline = outlineOf(light.XML, false)
	if light.err != nil || light.Kind == KindNone || light.Entries > MaxEntries || light.based {
		return nil
	}
	light.XML = edited(light.XML, light.edits)
	return light
}

// An entryTag is how entries begin, and texts are the start tags of those of their elements that have long texts.
type entryTag struct {
	start []byte
	texts [][]byte
}

// entryTags are those of RSS and of Atom. Atom's texts have types: of these, a parser decodes all in the same way.
var entryTags = [...]entryTag{
	{[]byte("<item"), [][]byte{[]byte("<description>"), []byte("<content:encoded>")}},
	{[]byte("<entry"), [][]byte{
		[]byte("<content>"), []byte(`<content type="html">`), []byte(`<content type='html'>`), []byte(`<content type="text">`),
		[]byte("<summary>"), []byte(`<summary type="html">`), []byte(`<summary type='html'>`), []byte(`<summary type="text">`),
	}},
}

var cdataStart, cdataEnd = []byte("<![CDATA["), []byte("]]>")

// walkLongTexts calls take for what seem to be the long texts of entries. It goes from one "<" to the next, and looks for the ends of
// CDATA, comments and instructions, in which "<" begins nothing.
func walkLongTexts(text []byte, take func(from, to int, decoded string)) {
	var texts [][]byte
	for at := 0; ; {
		next := bytes.IndexByte(text[at:], '<')
		if next < 0 {
			return
		}
		at += next
		length := lengthOfMarkup(text[at:])
		if length < 0 {
			return
		}
		if texts == nil {
			texts = textsIn(text[at:])
		}
		for _, start := range texts {
			if bytes.HasPrefix(text[at:], start) {
				from := at + len(start)
				if to, decoded, ok := longTextBefore(text, from, endTagOf(start)); ok {
					take(from, to, decoded)
					length = to - at
				}
			}
		}
		at += length
	}
}

// textsIn returns the start tags of texts, if an entry begins here.
func textsIn(text []byte) [][]byte {
	for _, tag := range entryTags {
		if rest, found := bytes.CutPrefix(text, tag.start); found && len(rest) > 0 && (rest[0] == '>' || rest[0] == ' ') {
			return tag.texts
		}
	}
	return nil
}

func endTagOf(start []byte) []byte { return []byte("</" + writtenName(start) + ">") }

// lengthOfMarkup returns how many bytes to pass over of what begins with "<", or -1 where it has no end. Of a tag it is the first.
func lengthOfMarkup(text []byte) int {
	for _, kind := range [...]struct{ start, end string }{{"<![CDATA[", "]]>"}, {"<!--", "-->"}, {"<?", "?>"}} {
		if bytes.HasPrefix(text, []byte(kind.start)) {
			end := bytes.Index(text[len(kind.start):], []byte(kind.end))
			if end < 0 {
				return -1
			}
			return len(kind.start) + end + len(kind.end)
		}
	}
	return len("<")
}

// longTextBefore returns the text between a place and the next end tag, where that is the one of the element: a section of CDATA, or
// text in which nothing is escaped but characters that XML itself knows, or that have a number.
func longTextBefore(text []byte, from int, endTag []byte) (to int, decoded string, ok bool) {
	inner := bytes.TrimLeft(text[from:], xmlSpace)
	if section, isCDATA := bytes.CutPrefix(inner, cdataStart); isCDATA {
		section, rest, ended := bytes.Cut(section, cdataEnd)
		rest = bytes.TrimLeft(rest, xmlSpace)
		if !ended || len(section) < longText || !bytes.HasPrefix(rest, endTag) {
			return 0, "", false
		}
		return len(text) - len(rest), string(section), true
	}
	end := bytes.IndexByte(text[from:], '<')
	if end < longText || !bytes.HasPrefix(text[from+end:], endTag) {
		return 0, "", false
	}
	raw := text[from : from+end]
	if !hasOnlyKnownReferences(raw) || bytes.Contains(raw, cdataEnd) { // which must not stand in text
		return 0, "", false
	}
	return from + end, html.UnescapeString(string(bytes.TrimSpace(raw))), true
}

// xmlSpace is what XML takes for space (XML 1.0, section 2.3).
const xmlSpace = " \t\r\n"

// hasOnlyKnownReferences reports whether each "&" begins a reference that has one meaning, to all who decode it.
func hasOnlyKnownReferences(text []byte) bool {
	for {
		at := bytes.IndexByte(text, '&')
		if at < 0 {
			return true
		}
		length := knownReference(text[at:])
		if length == 0 {
			return false
		}
		text = text[at+length:]
	}
}

// knownReference returns how many bytes such a reference has with which text begins, or 0.
func knownReference(text []byte) int {
	for _, known := range [...]string{"&lt;", "&gt;", "&amp;", "&quot;", "&apos;"} {
		if bytes.HasPrefix(text, []byte(known)) {
			return len(known)
		}
	}
	if !bytes.HasPrefix(text, []byte("&#")) {
		return 0
	}
	length, isLegal := numericReference(text)
	if !isLegal || text[length-1] != ';' {
		return 0
	}
	return length
}
