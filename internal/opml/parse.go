// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package opml

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/feed-operator/feed-operator/internal/feedxml"
)

// feedTypes are what readers call a subscription in the attribute type.
var feedTypes = []string{"", "rss", "atom", "feed", "rdf", "xml", "json", "jsonfeed"}

// Parse reads a list. The error says, for a person, why it is none.
func Parse(body []byte) (*Document, error) {
	if len(body) > MaxBytes {
		return nil, fmt.Errorf("the list is larger than %d MiB", MaxBytes>>20)
	}
	decoder := xml.NewDecoder(bytes.NewReader(feedxml.UTF8(body)))
	decoder.Strict, decoder.Entity = false, xml.HTMLEntity
	decoder.CharsetReader = func(_ string, input io.Reader) (io.Reader, error) { return input, nil } // it is UTF-8 by now
	p := &parser{decoder: decoder}
	if err := p.document(); err != nil {
		return nil, err
	}
	return &p.found, nil
}

// parser is where the reading of a list has come to.
type parser struct {
	decoder  *xml.Decoder
	found    Document
	outlines int
	depth    int
}

// document reads the root, and what is in it.
func (p *parser) document() error {
	root := false
	for {
		token, err := p.decoder.Token()
		switch {
		case errors.Is(err, io.EOF) && root:
			return nil
		case errors.Is(err, io.EOF):
			return errors.New("this is no OPML: there is nothing in it")
		case err != nil && root: // what could be read of a damaged list is used, and the rest told
			p.skip(Skipped{Title: "the rest of the list", Why: "the XML is damaged there", Refused: true})
			return nil
		case err != nil:
			return errors.New("this is no OPML: it is not even XML")
		}
		start, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		name := strings.ToLower(start.Name.Local)
		switch {
		case !root && name != "opml":
			return fmt.Errorf("this is no OPML: it begins with <%.40s>", line(start.Name.Local))
		case !root:
			root = true
		case name == "title" && p.found.Title == "":
			p.found.Title = p.text()
		case name == "outline":
			if err := p.outline(start, nil); err != nil {
				return err
			}
		}
	}
}

// text reads a text up to the end of its element.
func (p *parser) text() string {
	var text strings.Builder
	for {
		token, err := p.decoder.Token()
		if err != nil {
			return line(text.String())
		}
		switch token := token.(type) {
		case xml.CharData:
			text.Write(token)
		case xml.EndElement, xml.StartElement:
			return line(text.String())
		}
	}
}

// outline reads an outline and those in it: a subscription, a folder, or something else.
func (p *parser) outline(start xml.StartElement, folder []string) error {
	if p.outlines++; p.outlines > maxOutlines {
		return fmt.Errorf("the list has more than %d entries", maxOutlines)
	}
	if p.depth++; p.depth > maxDepthRead {
		return fmt.Errorf("the list has more than %d folders in each other", maxDepthRead)
	}
	defer func() { p.depth-- }()
	read := attributesOf(start)
	if read.URL != "" {
		read.Folder = folder
		p.found.Feeds = append(p.found.Feeds, read.Feed)
	}
	within, children := folder, 0
	if read.Title != "" && len(folder) < maxDepth {
		within = append(slices.Clip(folder), read.Title)
	}
	for {
		token, err := p.decoder.Token()
		if err != nil {
			return nil
		}
		switch token := token.(type) {
		case xml.StartElement:
			if strings.EqualFold(token.Name.Local, "outline") {
				children++
				if err := p.outline(token, within); err != nil {
					return err
				}
			}
		case xml.EndElement:
			if strings.EqualFold(token.Name.Local, "outline") {
				if read.URL == "" && children == 0 {
					p.skip(Skipped{Title: read.Title, Why: read.noFeed})
				}
				return nil
			}
		}
	}
}

func (p *parser) skip(entry Skipped) {
	p.found.Skipped = append(p.found.Skipped, entry)
}

// attributes are what an outline says of itself.
type attributes struct {
	Feed
	// noFeed is why it is no subscription.
	noFeed string
}

// attributesOf reads the attributes of an outline. Their names are written in many ways.
func attributesOf(start xml.StartElement) attributes {
	var read attributes
	values := map[string]string{}
	for _, attribute := range start.Attr {
		if attribute.Name.Space == Namespace && attribute.Name.Local == "name" {
			read.Name = attribute.Value
			continue
		}
		values[strings.ToLower(attribute.Name.Local)] = strings.TrimSpace(attribute.Value)
	}
	read.Title = line(values["title"])
	if read.Title == "" {
		read.Title = line(values["text"])
	}
	kind := strings.ToLower(values["type"])
	switch {
	case values["xmlurl"] != "":
		read.URL = values["xmlurl"]
	case values["url"] != "" && slices.Contains(feedTypes, kind):
		read.URL = values["url"]
	case kind != "" && !slices.Contains(feedTypes, kind):
		read.noFeed = fmt.Sprintf("it is no feed, but of the type %q", line(kind))
	default:
		read.noFeed = "it has no URL of a feed (xmlUrl)"
	}
	return read
}

// line makes one line of a text, without what a person cannot see, within bounds.
func line(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), r == utf8.RuneError:
			return -1
		}
		return r
	}, text)
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > maxText {
		text = strings.TrimSpace(string(runes[:maxText]))
	}
	return text
}
