// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package opml

import (
	"encoding/xml"
	"io"
	"slices"
)

// list and outline are OPML 2.0 as encoding/xml writes it.
type list struct {
	XMLName   xml.Name  `xml:"opml"`
	Version   string    `xml:"version,attr"`
	Namespace string    `xml:"xmlns:feeds,attr"`
	Title     string    `xml:"head>title"`
	Outlines  []outline `xml:"body>outline"`
}

type outline struct {
	Type     string    `xml:"type,attr,omitempty"`
	Text     string    `xml:"text,attr"`
	Title    string    `xml:"title,attr,omitempty"`
	URL      string    `xml:"xmlUrl,attr,omitempty"`
	Name     string    `xml:"feeds:name,attr,omitempty"`
	Outlines []outline `xml:"outline"`
}

// Write writes a list as OPML 2.0. Folders stand where their first feed does.
func Write(to io.Writer, document Document) error {
	written := list{Version: "2.0", Namespace: Namespace, Title: document.Title}
	for _, entry := range document.Feeds {
		place := folder(&written.Outlines, entry.Folder)
		*place = append(*place, outline{Type: "rss", Text: entry.Title, Title: entry.Title, URL: entry.URL, Name: entry.Name})
	}
	if _, err := io.WriteString(to, xml.Header); err != nil {
		return err
	}
	encoder := xml.NewEncoder(to)
	encoder.Indent("", "  ")
	if err := encoder.Encode(written); err != nil {
		return err
	}
	_, err := io.WriteString(to, "\n")
	return err
}

// folder returns what is in a folder, which is made where it is not there yet.
func folder(outlines *[]outline, path []string) *[]outline {
	for _, name := range path {
		at := slices.IndexFunc(*outlines, func(o outline) bool { return o.URL == "" && o.Text == name })
		if at < 0 {
			*outlines = append(*outlines, outline{Text: name})
			at = len(*outlines) - 1
		}
		outlines = &(*outlines)[at].Outlines
	}
	return outlines
}
