// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package syndication

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"net/url"
	"strings"
	"time"

	"github.com/mmcdole/gofeed"
	"pgregory.net/rapid"
)

// parse reads a feed as any reader would.
func parse(t rapid.TB, body []byte) *gofeed.Feed {
	t.Helper()
	feed, err := gofeed.NewParser().Parse(bytes.NewReader(body))
	if err != nil {
		t.Fatalf("a feed reader cannot read it: %v\n%s", err, body)
	}
	return feed
}

// node is any XML element.
type node struct {
	XMLName  xml.Name
	Attrs    []xml.Attr `xml:",any,attr"`
	Text     string     `xml:",chardata"`
	Children []node     `xml:",any"`
}

func (n node) all(name string) []node {
	var found []node
	for _, child := range n.Children {
		if child.XMLName == (xml.Name{Space: "http://www.w3.org/2005/Atom", Local: name}) {
			found = append(found, child)
		}
	}
	return found
}

func (n node) attr(name string) string {
	for _, attr := range n.Attrs {
		if attr.Name.Local == name {
			return attr.Value
		}
	}
	return ""
}

// checkAtom reports what RFC 4287 forbids or misses in a feed.
func checkAtom(t rapid.TB, body []byte) node {
	t.Helper()
	var feed node
	if err := xml.Unmarshal(body, &feed); err != nil {
		t.Fatalf("not XML: %v\n%s", err, body)
	}
	if feed.XMLName != (xml.Name{Space: "http://www.w3.org/2005/Atom", Local: "feed"}) {
		t.Errorf("the document element is %v", feed.XMLName)
	}
	once := func(in node, names ...string) {
		for _, name := range names {
			if n := len(in.all(name)); n != 1 {
				t.Errorf("%s has %d %s, want exactly one", in.XMLName.Local, n, name)
			}
		}
	}
	dates := func(in node, names ...string) {
		for _, name := range names {
			for _, date := range in.all(name) {
				if _, err := time.Parse(time.RFC3339, date.Text); err != nil {
					t.Errorf("%s is no date: %v", name, err)
				}
			}
		}
	}
	links := func(in node) (alternates int) {
		seen := map[string]bool{}
		for _, link := range in.all("link") {
			if _, err := url.Parse(link.attr("href")); err != nil || link.attr("href") == "" {
				t.Errorf("a link leads to %q", link.attr("href"))
			}
			if link.attr("rel") == "alternate" {
				alternates++
			}
			// Section 4.1.1: no two alternates of the same type.
			kind := link.attr("rel") + " " + link.attr("type")
			if seen[kind] {
				t.Errorf("two links are %s", kind)
			}
			seen[kind] = true
		}
		return alternates
	}
	ids := map[string]bool{}
	id := func(in node) {
		for _, id := range in.all("id") {
			if ids[id.Text] || !strings.HasPrefix(id.Text, "urn:uuid:") || len(id.Text) != len("urn:uuid:")+36 {
				t.Errorf("the id %q is not unique, or no UUID", id.Text)
			}
			ids[id.Text] = true
		}
	}
	once(feed, "id", "title", "updated", "author")
	once(feed.all("author")[0], "name")
	dates(feed, "updated")
	id(feed)
	links(feed)
	for _, entry := range feed.all("entry") {
		once(entry, "id", "title", "updated", "published")
		dates(entry, "updated", "published")
		id(entry)
		if links(entry) == 0 && len(entry.all("content")) != 1 {
			t.Errorf("an entry has neither an alternate link nor content")
		}
		for _, author := range entry.all("author") {
			once(author, "name")
		}
		for _, category := range entry.all("category") {
			if category.attr("term") == "" {
				t.Errorf("a category without term")
			}
		}
		for _, child := range entry.Children {
			if child.XMLName.Space != "http://www.w3.org/2005/Atom" {
				t.Errorf("an element of a foreign namespace: %v", child.XMLName)
			}
		}
	}
	return feed
}

// checkJSONFeed reports what JSON Feed 1.1 forbids or misses.
func checkJSONFeed(t rapid.TB, body []byte) {
	t.Helper()
	var feed struct {
		Version string            `json:"version"`
		Title   string            `json:"title"`
		Items   *[]map[string]any `json:"items"`
	}
	if err := json.Unmarshal(body, &feed); err != nil {
		t.Fatalf("not JSON: %v\n%s", err, body)
	}
	if feed.Version != "https://jsonfeed.org/version/1.1" || feed.Title == "" || feed.Items == nil {
		t.Fatalf("version, title or items are missing: %s", body)
	}
	for _, item := range *feed.Items {
		if id, _ := item["id"].(string); id == "" {
			t.Errorf("an item without id")
		}
		if _, ok := item["content_text"].(string); !ok {
			t.Errorf("an item without content_text")
		}
	}
}
