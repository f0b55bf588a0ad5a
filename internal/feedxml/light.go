// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feedxml

import (
	"bytes"
	"crypto/rand"
	"errors"
	"html"
	"strconv"
	"strings"
)

// A Light document is a feed without the long texts of its entries. They are most of a document, and a parser that reads XML byte
// by byte takes most of its time for them, though there is nothing in them that it has to understand.
type Light struct {
	Outline

	// XML is the document, well-formed, with a word in the place of each text that was taken out.
	XML []byte
	// word begins the words, and the number of a text ends its own.
	word  string
	texts []longText
}

// longText is a text that is not decoded yet, which takes memory a second time: where the document is read as a whole after all, no text was.
type longText struct {
	raw     []byte
	isCDATA bool
}

func (t longText) decode() string {
	if t.isCDATA {
		return string(t.raw)
	}
	return html.UnescapeString(string(t.raw))
}

// errNotWhole is of a document of which a parser has put a text elsewhere.
var errNotWhole = errors.New("a text is not where it was taken out")

// PutBack puts the texts of a document into its items, where a parser has put words that stand for them. If one of the words is in none of
// these places, or in two, it returns an error, and has changed nothing.
func PutBack[T any](light *Light, items []T, texts func(T) [2]*string) error {
	found := make([]*string, len(light.texts))
	missing := len(found)
	for _, item := range items {
		for _, place := range texts(item) {
			digits, is := strings.CutPrefix(*place, light.word)
			number, err := strconv.Atoi(digits)
			if !is || err != nil || number < 0 || number >= len(found) {
				continue
			}
			if found[number] != nil {
				return errNotWhole
			}
			found[number] = place
			missing--
		}
	}
	if missing > 0 {
		return errNotWhole
	}
	for number, place := range found {
		*place = light.texts[number].decode()
	}
	return nil
}

// shortestLong is how long a text is at least, in bytes, that is taken out: it is worth what has to be remembered of it.
const shortestLong = 512

// Lighten takes the texts out of a document that Readable returned. It returns nil where there are none, or where the document is
// not well-formed and within all bounds, or has addresses that the links in a text are relative to: then Repair has to look at all of it.
//
// A text is taken out of any element of its name behind the beginning of the first entry. Who parses the XML puts them back where the
// parser has put the text of such an element, of an entry. Where one is in another place, texts are decoded in other ways: then the document
// has to be parsed as it is.
func Lighten(text []byte) *Light {
	// No document can have the words in it: nobody knows them before.
	light := &Light{word: rand.Text()}
	copied := 0
	walkLongTexts(text, func(from, to int, found longText) {
		light.XML = append(append(light.XML, text[copied:from]...), light.word...)
		light.XML = strconv.AppendInt(light.XML, int64(len(light.texts)), 10)
		light.texts = append(light.texts, found)
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
func walkLongTexts(text []byte, take func(from, to int, found longText)) {
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
				if to, found := longTextBefore(text, from, endTagOf(start)); to > 0 {
					take(from, to, found)
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

// longTextBefore returns the text between a place and the next end tag, and where that begins, if it is the one of the element: a section of CDATA, or
// text in which nothing is escaped but characters that XML itself knows, or that have a number. Else it returns 0.
func longTextBefore(text []byte, from int, endTag []byte) (to int, found longText) {
	inner := bytes.TrimLeft(text[from:], xmlSpace)
	if section, isCDATA := bytes.CutPrefix(inner, cdataStart); isCDATA {
		section, rest, ended := bytes.Cut(section, cdataEnd)
		rest = bytes.TrimLeft(rest, xmlSpace)
		if !ended || len(section) < shortestLong || !bytes.HasPrefix(rest, endTag) {
			return 0, longText{}
		}
		return len(text) - len(rest), longText{section, true}
	}
	end := bytes.IndexByte(text[from:], '<')
	if end < shortestLong || !bytes.HasPrefix(text[from+end:], endTag) {
		return 0, longText{}
	}
	raw := text[from : from+end]
	if !hasOnlyKnownReferences(raw) || bytes.Contains(raw, cdataEnd) { // which must not stand in text
		return 0, longText{}
	}
	return from + end, longText{bytes.TrimSpace(raw), false}
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
