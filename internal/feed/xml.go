// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feed

import (
	"bytes"
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/mmcdole/gofeed"
	"github.com/mmcdole/gofeed/atom"
	ext "github.com/mmcdole/gofeed/extensions"
	"github.com/mmcdole/gofeed/rss"

	"github.com/feed-operator/feed-operator/internal/feedxml"
	"github.com/feed-operator/feed-operator/internal/plaintext"
)

// parseXML reads RSS, RDF or Atom: without its texts, as most documents can be read, or as a whole.
func parseXML(text []byte, base string) (*Document, error) {
	if light := feedxml.Lighten(text); light != nil {
		if document, err := parseFeed(light, base); err == nil {
			return document, nil
		}
	}
	return parseWhole(text, base)
}

func parseWhole(text []byte, base string) (*Document, error) {
	repaired, found, damage := feedxml.Repair(text)
	if found.Kind == feedxml.KindNone && found.IsRSS11() {
		repaired, found, damage = feedxml.Repair(feedxml.FromRSS11(text))
	}
	if found.Kind == feedxml.KindNone {
		return nil, notXMLFeed(text, found.Root, base)
	}
	if repaired == nil {
		return nil, malformed(fmt.Sprintf("The feed is not well-formed and no entry of it could be read: %v.", damage), damage)
	}
	document, err := parseFeed(&feedxml.Light{Outline: found, XML: repaired}, base)
	if err != nil {
		return nil, err
	}
	if damage != nil {
		document.Damage = damage.Error()
	}
	document.Omitted = max(0, found.Entries-MaxEntries)
	return document, nil
}

func parseFeed(light *feedxml.Light, base string) (*Document, error) {
	if light.Kind == feedxml.KindAtom {
		return parseAtom(light, base)
	}
	return parseRSS(light, base)
}

func parseRSS(light *feedxml.Light, base string) (*Document, error) {
	parsed, err := new(rss.Parser).Parse(bytes.NewReader(light.XML))
	if err != nil {
		return nil, malformed(fmt.Sprintf("The feed could not be read: %v.", err), err)
	}
	if err := feedxml.PutBack(light, parsed.Items, func(i *rss.Item) [2]*string { return [...]*string{&i.Description, &i.Content} }); err != nil {
		return nil, err
	}
	translator := &gofeed.DefaultRSSTranslator{DisableContentImageScan: true}
	general, err := translator.Translate(parsed)
	if err != nil {
		return nil, malformed(fmt.Sprintf("The feed could not be read: %v.", err), err)
	}
	if general.Title == "" && general.Link == "" && general.Description == "" && len(general.Items) == 0 {
		return nil, notAFeed("The address answers with an RSS document that holds nothing: no title, no link, no entries.")
	}
	switch {
	case light.IsRSS11():
		parsed.Version = "1.1"
	case light.Kind == feedxml.KindRDF:
		parsed.Version = cmp.Or(parsed.Version, "1.0")
	}
	document := newDocument(general, "RSS", parsed.Version, base)
	document.TTL = ttlOf(parsed.TTL)
	links := newResolver(cmp.Or(document.Link, base))
	for i, item := range general.Items {
		entry := newEntry(item, document.Language)
		entry.Image = imageOf(item, links)
		original := parsed.Items[i]
		if entry.Author == "" {
			entry.Author = plaintext.Cut(plaintext.Title(original.Author), maxAuthor)
		}
		entry.URL = resolver{}.resolve(originalLink(item.Extensions))
		for _, link := range original.Links {
			entry.URL = cmp.Or(entry.URL, links.resolve(link))
		}
		entry.URL = cmp.Or(entry.URL, links.resolve(atomLink(item.Extensions)))
		if original.GUID != nil && !strings.EqualFold(strings.TrimSpace(original.GUID.IsPermalink), "false") {
			entry.URL = cmp.Or(entry.URL, resolver{}.resolve(original.GUID.Value))
		}
		document.Entries = append(document.Entries, entry)
	}
	return document, nil
}

// atomLink returns the link of an RSS item that has it in Atom's form only.
func atomLink(extensions ext.Extensions) string {
	for _, prefix := range []string{"atom", "atom03"} {
		for _, link := range extensions[prefix]["link"] {
			if link.Attrs["rel"] == "" || link.Attrs["rel"] == "alternate" {
				return link.Attrs["href"]
			}
		}
	}
	return ""
}

// originalLink returns the link to the article where FeedBurner has put one to itself in its place.
func originalLink(extensions ext.Extensions) string {
	for _, link := range extensions["feedburner"]["origLink"] {
		return link.Value
	}
	return ""
}

func parseAtom(light *feedxml.Light, base string) (*Document, error) {
	parsed, err := new(atom.Parser).Parse(bytes.NewReader(light.XML))
	if err != nil {
		return nil, malformed(fmt.Sprintf("The feed could not be read: %v.", err), err)
	}
	general, err := new(gofeed.DefaultAtomTranslator).Translate(parsed)
	if err != nil {
		return nil, malformed(fmt.Sprintf("The feed could not be read: %v.", err), err)
	}
	if parsed.ID == "" && general.Title == "" && len(general.Links) == 0 && len(general.Items) == 0 {
		return nil, notAFeed("The address answers with an Atom document that holds nothing: no id, no title, no entries.")
	}
	document := newDocument(general, "Atom", parsed.Version, base)
	links := newResolver(cmp.Or(base, document.Link))
	author := authorOf(general.Authors, general.Author)
	if err := feedxml.PutBack(light, general.Items, func(i *gofeed.Item) [2]*string { return [...]*string{&i.Description, &i.Content} }); err != nil {
		return nil, err
	}
	for i, item := range general.Items {
		original := parsed.Entries[i]
		if original.Content != nil && binary(original.Content.Type) {
			item.Content = ""
		}
		if original.Published == "" { // else it is the date of the update, before any other of publication
			item.Published, item.PublishedParsed = "", nil
		}
		entry := newEntry(item, document.Language)
		entry.Image = imageOf(item, links)
		entry.Author = cmp.Or(entry.Author, author)
		entry.URL = cmp.Or(resolver{}.resolve(originalLink(item.Extensions)), alternateOf(original.Links, links))
		if entry.URL == "" && original.Content != nil && !binary(original.Content.Type) {
			entry.URL = links.resolve(original.Content.Src)
		}
		// An id that is an address of the web is that of the page, unless the entry has a document of its own.
		if entry.URL == "" && !slices.ContainsFunc(original.Links, func(l *atom.Link) bool { return strings.EqualFold(l.Rel, "self") }) {
			entry.URL = resolver{}.resolve(original.ID)
		}
		document.Entries = append(document.Entries, entry)
	}
	return document, nil
}

// alternateOf returns the first link to the article itself, rather to a page than to a document of
// another type.
func alternateOf(all []*atom.Link, links resolver) string {
	other := ""
	for _, link := range all {
		// The registry of relations allows for the long form.
		if rel := strings.ToLower(strings.TrimSpace(link.Rel)); rel != "alternate" && !strings.HasSuffix(rel, "/relation/alternate") {
			continue
		}
		address := links.resolve(link.Href)
		if address != "" && (link.Type == "" || strings.Contains(strings.ToLower(link.Type), "html")) {
			return address
		}
		other = cmp.Or(other, address)
	}
	return other
}

// binary reports whether an Atom content of this type is no text that anyone could read.
func binary(kind string) bool {
	kind, _, _ = strings.Cut(strings.ToLower(kind), "/")
	return kind == "image" || kind == "audio" || kind == "video" || kind == "application"
}

var version = regexp.MustCompile(`^[0-9][0-9.]{0,7}$`)

func newDocument(general *gofeed.Feed, format, declared, base string) *Document {
	if declared = strings.TrimSpace(declared); version.MatchString(declared) {
		format += " " + declared
	}
	return &Document{
		Title:    plaintext.Title(general.Title),
		Format:   format,
		Link:     newResolver(base).resolve(general.Link),
		Language: general.Language,
	}
}

// newEntry takes what all formats have in common, in a feed in that language. The URL is missing.
func newEntry(item *gofeed.Item, language string) Entry {
	entry := Entry{
		GUID:        boundedGUID(item.GUID),
		Title:       plaintext.Cut(plaintext.Title(cmp.Or(item.Title, mediaText(item.Extensions, "title"))), maxTitle),
		Author:      authorOf(item.Authors, item.Author),
		Categories:  plainCategories(item.Categories),
		Published:   published(item, language),
		Content:     plaintext.Printable(item.Content),
		Description: plaintext.Printable(cmp.Or(item.Description, mediaText(item.Extensions, "description"))),
	}
	if entry.Content == "" || entry.Content == entry.Description {
		entry.Content, entry.Description = cmp.Or(entry.Content, entry.Description), ""
	}
	return entry
}

// authorOf joins the names of the authors; who has no name stands with their address.
func authorOf(authors []*gofeed.Person, author *gofeed.Person) string {
	if len(authors) == 0 && author != nil {
		authors = []*gofeed.Person{author}
	}
	var names []string
	for _, person := range authors {
		if person == nil {
			continue
		}
		if name := plaintext.Title(cmp.Or(person.Name, person.Email)); name != "" {
			names = append(names, name)
		}
	}
	return plaintext.Cut(strings.Join(names, ", "), maxAuthor)
}
