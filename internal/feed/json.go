// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feed

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/mmcdole/gofeed"
	jsonfeed "github.com/mmcdole/gofeed/json"

	"github.com/feed-operator/feed-operator/internal/dates"
	"github.com/feed-operator/feed-operator/internal/plaintext"
)

// maxListed is how many authors or tags of one list are used. It is more than an item holds of either,
// and than any feed has.
const maxListed = 256

// titleMember is the name of the member that both the feed and its entries have.
const titleMember = "title"

// A jsonDocument reads a JSON Feed member by member. It copies what entries are made of, and nothing
// else: a document of 10 MiB may list millions of attachments, and objects made of them would take a
// hundred times the memory.
type jsonDocument struct {
	jsonReader

	feed jsonfeed.Feed // without its items
	// items is where the list of entries begins, -1 where there is none.
	items int
	// damage is the first thing that was wrong or too much.
	damage error
}

// parseJSON reads JSON Feed (https://www.jsonfeed.org/version/1.1/).
func parseJSON(text []byte, base string) (*Document, error) {
	d := &jsonDocument{jsonReader: jsonReader{text: text}, items: -1}
	if text[0] == '{' {
		d.note(d.object(d.takeMember))
	}
	isFeed := strings.Contains(d.feed.Version, "jsonfeed.org/version/") ||
		d.feed.Title != "" && d.items >= 0 && (d.feed.HomePageURL != "" || d.feed.FeedURL != "")
	if !isFeed {
		return nil, notAFeed("The address answers with JSON that is no JSON Feed.")
	}
	general, err := new(gofeed.DefaultJSONTranslator).Translate(&d.feed)
	if err != nil {
		return nil, malformed(fmt.Sprintf("The feed could not be read: %v.", err), err)
	}
	declared := d.feed.Version[strings.LastIndexByte(d.feed.Version, '/')+1:]
	if declared == "1" {
		declared = "1.0"
	}
	document := newDocument(general, "JSON Feed", declared, base)
	if d.items >= 0 {
		d.note(d.readEntries(document, cmp.Or(document.Link, base), authorOf(general.Authors, general.Author)))
	}
	if d.damage != nil {
		if len(document.Entries) == 0 {
			return nil, malformed(fmt.Sprintf("The feed is not well-formed and no entry of it could be read: %v.", d.damage), d.damage)
		}
		document.Damage = d.damage.Error()
	}
	return document, nil
}

// note keeps the first damage.
func (d *jsonDocument) note(damage error) { d.damage = cmp.Or(d.damage, damage) }

// takeMember reads a member of the feed. The entries wait: what they need of the feed may come after
// them.
func (d *jsonDocument) takeMember(name string) error {
	const of = "the feed"
	feed := &d.feed
	switch name {
	case "version":
		return d.readText(&feed.Version, name, of)
	case titleMember:
		return d.readText(&feed.Title, name, of)
	case "home_page_url":
		return d.readText(&feed.HomePageURL, name, of)
	case "feed_url":
		return d.readText(&feed.FeedURL, name, of)
	case "language":
		return d.readText(&feed.Language, name, of)
	case "author":
		return d.readAuthor(&feed.Author, of)
	case "authors":
		return d.readAuthors(&feed.Authors, of)
	case "items":
		switch d.text[d.at] {
		case '[':
			d.items = d.at
		case 'n': // null: there are none
		default:
			d.unfit(name, of, "a list")
		}
	}
	return d.skip()
}

// readEntries reads the list of entries into the document. Of those after the first MaxEntries it
// counts how many there are.
func (d *jsonDocument) readEntries(document *Document, base, author string) error {
	d.at = d.items
	links := newResolver(base)
	listed := 0
	return d.list(func() error {
		switch c := d.text[d.at]; {
		case listed == MaxEntries:
			err := d.skip()
			if err == nil {
				document.Omitted++
			}
			return err
		case c == 'n':
			return d.skip()
		case c != '{':
			d.unfit("an entry", "the list", "an object")
			return d.skip()
		}
		item := &jsonfeed.Item{}
		if err := d.object(func(name string) error { return d.takeItemMember(item, name) }); err != nil {
			return err
		}
		listed++
		// The parser tries a hundred forms, with a copy of the date for each.
		item.DatePublished, item.DateModified = plaintext.Prefix(item.DatePublished, dates.Longest+1), plaintext.Prefix(item.DateModified, dates.Longest+1)
		// One at a time: all that is made of an entry on the way is given back before the next.
		general, err := new(gofeed.DefaultJSONTranslator).Translate(&jsonfeed.Feed{Items: []*jsonfeed.Item{item}})
		if err != nil {
			return err
		}
		entry := newEntry(general.Items[0], document.Language)
		entry.Author, entry.Image = cmp.Or(entry.Author, author), imageOf(general.Items[0], links)
		for _, link := range general.Items[0].Links {
			entry.URL = cmp.Or(entry.URL, links.resolve(link))
		}
		// The format wishes for ids that are URLs.
		entry.URL = cmp.Or(entry.URL, resolver{}.resolve(item.ID))
		document.Entries = append(document.Entries, entry)
		return nil
	})
}

// takeItemMember reads a member of an entry. Of a name that is there twice the last value counts.
func (d *jsonDocument) takeItemMember(item *jsonfeed.Item, name string) error {
	const of = "an entry"
	name = strings.ToLower(name)
	if text := itemText(item, name); text != nil {
		return d.readText(text, name, of)
	}
	switch name {
	case "id":
		if c := d.text[d.at]; c == '[' || c == '{' { // the format asks for a text to be made of it
			from := d.at
			err := d.skip()
			item.ID = string(d.text[from:d.at])
			return err
		}
		return d.readText(&item.ID, name, of)
	case "author":
		return d.readAuthor(&item.Author, of)
	case "authors":
		return d.readAuthors(&item.Authors, of)
	case "tags":
		item.Tags = nil
		return d.readList(name, of, func() error {
			var tag string
			err := d.readText(&tag, name, of)
			item.Tags = append(item.Tags, tag)
			return err
		})
	}
	return d.skip()
}

// itemText returns where the member of an entry belongs, if it is one that must be a text.
func itemText(item *jsonfeed.Item, name string) *string {
	switch name {
	case "url":
		return &item.URL
	case "external_url":
		return &item.ExternalURL
	case titleMember:
		return &item.Title
	case "content_html":
		return &item.ContentHTML
	case "content_text":
		return &item.ContentText
	case "summary":
		return &item.Summary
	case "image":
		return &item.Image
	case "date_published":
		return &item.DatePublished
	case "date_modified":
		return &item.DateModified
	}
	return nil
}

// readText reads a value that should be a text. Of a number or a truth value it is clear what was
// meant; anything else costs only itself.
func (d *jsonDocument) readText(into *string, name, of string) error {
	if c := d.text[d.at]; c == '[' || c == '{' {
		d.unfit(name, of, "a text")
		return d.skip()
	}
	text, err := d.scalar()
	if err == nil {
		*into = text
	}
	return err
}

// readList calls take before each of the first maxListed elements of a list. One value is a list of one.
func (d *jsonDocument) readList(name, of string, take func() error) error {
	switch d.text[d.at] {
	case 'n':
		return d.skip()
	case '[':
	default:
		return take()
	}
	listed := 0
	return d.list(func() error {
		if listed++; listed <= maxListed {
			return take()
		}
		if d.damage == nil {
			d.damage = fmt.Errorf("%s lists more than %d %s, the others are left out", of, maxListed, name)
		}
		return d.skip()
	})
}

func (d *jsonDocument) readAuthors(into *[]*jsonfeed.Author, of string) error {
	*into = nil
	return d.readList("authors", of, func() error {
		var author *jsonfeed.Author
		err := d.readAuthor(&author, of)
		if author != nil {
			*into = append(*into, author)
		}
		return err
	})
}

// readAuthor reads who has a name, written as an object or alone.
func (d *jsonDocument) readAuthor(into **jsonfeed.Author, of string) error {
	author := &jsonfeed.Author{}
	var err error
	if d.text[d.at] == '{' {
		err = d.object(func(name string) error {
			if strings.EqualFold(name, "name") {
				return d.readText(&author.Name, "the name of an author", of)
			}
			return d.skip()
		})
	} else {
		err = d.readText(&author.Name, "author", of)
	}
	*into = nil
	if author.Name != "" {
		*into = author
	}
	return err
}

// unfit notes that the value that comes next is not of the kind that the format has.
func (d *jsonDocument) unfit(name, of, expected string) {
	if d.damage == nil { // there may be millions
		d.damage = fmt.Errorf("%s of %s is not as the format has it: it is %s, not %s", name, of, d.kind(), expected)
	}
}

// kind names the kind of the value that comes next.
func (d *jsonDocument) kind() string {
	switch d.text[d.at] {
	case '"':
		return "a text"
	case '[':
		return "a list"
	case '{':
		return "an object"
	case 't', 'f':
		return "true or false"
	}
	return "a number"
}
