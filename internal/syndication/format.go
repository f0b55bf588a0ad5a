// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package syndication

import (
	"encoding/json"
	"encoding/xml"
)

// format is a way to write a feed down.
type format struct {
	suffix    string
	mediaType string
	render    func(*document) ([]byte, error)
}

var (
	atom     = &format{suffix: ".atom", mediaType: atomType, render: renderAtom}
	jsonFeed = &format{suffix: ".json", mediaType: jsonFeedType, render: renderJSONFeed}
)

func (f *format) other() *format {
	if f == atom {
		return jsonFeed
	}
	return atom
}

const (
	atomType       = "application/atom+xml"
	jsonFeedType   = "application/feed+json"
	jsonFeedSchema = "https://jsonfeed.org/version/1.1"
)

// The structures of both formats are our own and not those of github.com/gorilla/feeds, which
// cannot be filled to be valid: its Atom feed has room for one link only (self and alternate are
// needed), its Atom categories have no term (RFC 4287, section 4.2.2.1), and its JSON Feed leaves
// out the list of items when it is empty, though it is required.
type (
	atomFeed struct {
		XMLName xml.Name    `xml:"http://www.w3.org/2005/Atom feed"`
		ID      string      `xml:"id"`
		Title   string      `xml:"title"`
		Updated string      `xml:"updated"`
		Author  atomPerson  `xml:"author"`
		Links   []atomLink  `xml:"link"`
		Entries []atomEntry `xml:"entry"`
	}
	atomEntry struct {
		ID         string         `xml:"id"`
		Title      string         `xml:"title"`
		Updated    string         `xml:"updated"`
		Published  string         `xml:"published"`
		Author     *atomPerson    `xml:"author"`
		Links      []atomLink     `xml:"link"`
		Categories []atomCategory `xml:"category"`
		Summary    *atomText      `xml:"summary"`
		Content    *atomText      `xml:"content"`
	}
	atomPerson struct {
		Name string `xml:"name"`
	}
	atomLink struct {
		Rel  string `xml:"rel,attr"`
		Type string `xml:"type,attr,omitempty"`
		Href string `xml:"href,attr"`
	}
	atomCategory struct {
		Term string `xml:"term,attr"`
	}
	atomText struct {
		Type string `xml:"type,attr"`
		Text string `xml:",chardata"`
	}
)

// renderAtom writes Atom 1.0.
func renderAtom(feed *document) ([]byte, error) {
	out := atomFeed{
		ID:      feed.id,
		Title:   feed.title,
		Updated: stamp(feed.updated),
		// An entry without an author takes the feed's (RFC 4287, section 4.2.1), so it must have one.
		Author: atomPerson{Name: feed.title},
		Links:  []atomLink{{Rel: "self", Type: atomType, Href: feed.self}},
	}
	if feed.homePage != "" {
		out.Links = append(out.Links, atomLink{Rel: "alternate", Type: "text/html", Href: feed.homePage})
	}
	out.Links = append(out.Links, atomLink{Rel: "alternate", Type: jsonFeedType, Href: feed.other})
	for _, e := range feed.entries {
		out.Entries = append(out.Entries, e.atom())
	}
	body, err := xml.Marshal(out)
	return append([]byte(xml.Header), body...), err
}

func (e *entry) atom() atomEntry {
	out := atomEntry{
		ID:        e.id,
		Title:     e.title,
		Updated:   stamp(e.ref.Updated),
		Published: stamp(e.ref.Published),
	}
	if e.author != "" {
		out.Author = &atomPerson{Name: e.author}
	}
	for _, category := range e.categories {
		out.Categories = append(out.Categories, atomCategory{Term: category})
	}
	text := &atomText{Type: "text", Text: e.summary}
	if e.link == "" {
		// Without a link to the article there must be content (RFC 4287, section 4.1.2).
		out.Content = text
		return out
	}
	out.Links = []atomLink{{Rel: "alternate", Href: e.link}}
	out.Summary = text
	return out
}

type (
	jsonDocument struct {
		Version  string       `json:"version"`
		Title    string       `json:"title"`
		HomePage string       `json:"home_page_url,omitempty"`
		FeedURL  string       `json:"feed_url"`
		Authors  []jsonAuthor `json:"authors"`
		Items    []jsonItem   `json:"items"`
	}
	jsonItem struct {
		ID        string       `json:"id"`
		URL       string       `json:"url,omitempty"`
		Title     string       `json:"title,omitempty"`
		Text      string       `json:"content_text"`
		Published string       `json:"date_published"`
		Modified  string       `json:"date_modified"`
		Authors   []jsonAuthor `json:"authors,omitempty"`
		Tags      []string     `json:"tags,omitempty"`
	}
	jsonAuthor struct {
		Name string `json:"name"`
	}
)

// renderJSONFeed writes JSON Feed 1.1.
func renderJSONFeed(feed *document) ([]byte, error) {
	out := jsonDocument{
		Version:  jsonFeedSchema,
		Title:    feed.title,
		HomePage: feed.homePage,
		FeedURL:  feed.self,
		Authors:  []jsonAuthor{{Name: feed.title}},
		Items:    []jsonItem{}, // never null: the list is required
	}
	for _, e := range feed.entries {
		item := jsonItem{
			ID:        e.id,
			URL:       e.link,
			Title:     e.title,
			Text:      e.summary,
			Published: stamp(e.ref.Published),
			Modified:  stamp(e.ref.Updated),
			Tags:      e.categories,
		}
		if e.author != "" {
			item.Authors = []jsonAuthor{{Name: e.author}}
		}
		out.Items = append(out.Items, item)
	}
	return json.Marshal(out)
}
