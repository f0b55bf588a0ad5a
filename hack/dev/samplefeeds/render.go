// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package samplefeeds

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"html"
	htmltemplate "html/template"
	"strings"
	"text/template"
	"time"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
)

var japan = time.FixedZone("JST", 9*60*60)

var (
	feedTemplates = template.Must(template.New("").Funcs(template.FuncMap{
		"xml": func(text string) (string, error) {
			var escaped strings.Builder
			err := xml.EscapeText(&escaped, []byte(text))
			return escaped.String(), err
		},
		"w3c":     func(t time.Time) string { return t.In(japan).Format("2006-01-02T15:04:05-07:00") },
		"rfc3339": func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
	}).ParseFS(files, "templates/press-releases.rdf", "templates/advisories.atom"))

	pageTemplates = htmltemplate.Must(htmltemplate.ParseFS(files, "templates/*.html"))
)

// document writes a feed in its format.
func (f *Feeds) document(of *feed) (body []byte, contentType string, err error) {
	if of.file == "feed.json" {
		body, err = f.jsonFeed(of)
		return body, "application/feed+json", err
	}
	name, contentType := "press-releases.rdf", "application/rdf+xml"
	if of.file == "feed.atom" {
		name, contentType = "advisories.atom", "application/atom+xml; charset=utf-8"
	}
	var text bytes.Buffer
	err = feedTemplates.ExecuteTemplate(&text, name, map[string]any{
		"Base": f.base, "Updated": of.updated, "Entries": of.entries,
	})
	return text.Bytes(), contentType, err
}

// jsonFeed writes JSON Feed 1.1 (https://www.jsonfeed.org/version/1.1/).
func (f *Feeds) jsonFeed(of *feed) ([]byte, error) {
	type item struct {
		ID        string `json:"id"`
		URL       string `json:"url"`
		Title     string `json:"title"`
		Summary   string `json:"summary"`
		Image     string `json:"image,omitempty"`
		HTML      string `json:"content_html,omitempty"`
		Text      string `json:"content_text,omitempty"`
		Published string `json:"date_published"`
	}
	items := make([]item, 0, len(of.entries))
	for _, e := range of.entries {
		written := item{
			ID: e.Path, URL: e.URL, Title: e.Title, Summary: e.Description,
			Published: e.Published.UTC().Format(time.RFC3339),
		}
		if e.Inline {
			written.Image = f.base + "/" + pictureFile
			written.HTML = "<p>" + strings.Join(escaped(e.Body), "</p>\n<p>") + "</p>"
		} else {
			written.Text = e.Description
		}
		items = append(items, written)
	}
	return json.MarshalIndent(map[string]any{
		"version":       "https://jsonfeed.org/version/1.1",
		"title":         "Lindenfels Hosting status",
		"language":      "en",
		"home_page_url": f.base + "/status/",
		"feed_url":      f.base + "/status/feed.json",
		"items":         items,
	}, "", "  ")
}

// page writes the page of an entry, in the encoding that the entry asks for.
func page(of *feed, e entry) (body []byte, contentType string, err error) {
	charset, date := "utf-8", e.Published.UTC().Format("2 January 2006")
	if e.Encoding != "" {
		charset = e.Encoding
	}
	if of.name == "press-releases" {
		date = e.Published.In(japan).Format("2006年1月2日")
	}
	var text bytes.Buffer
	err = pageTemplates.ExecuteTemplate(&text, of.name+".html", map[string]any{
		"Charset": charset, "Date": date, "Entry": e,
	})
	if err != nil || e.Encoding == "" {
		return text.Bytes(), "text/html; charset=utf-8", err
	}
	old, err := htmlindex.Get(e.Encoding)
	if err != nil {
		return nil, "", fmt.Errorf("the encoding of %s: %w", e.Path, err)
	}
	// What the encoding lacks, such as ©, is written as a character reference.
	body, err = encoding.HTMLEscapeUnsupported(old.NewEncoder()).Bytes(text.Bytes())
	// As on many old servers, only the page itself says which encoding it is in.
	return body, "text/html", err
}

func escaped(paragraphs []string) []string {
	safe := make([]string, 0, len(paragraphs))
	for _, paragraph := range paragraphs {
		safe = append(safe, html.EscapeString(paragraph))
	}
	return safe
}
