// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feed

import (
	"path"
	"strings"

	"github.com/mmcdole/gofeed"
	ext "github.com/mmcdole/gofeed/extensions"

	"github.com/feed-operator/feed-operator/internal/plaintext"
)

// imageOf returns the first image that a feed gives an entry: a medium in the form of Media RSS
// (https://www.rssboard.org/media-rss), which alone may have an alternative text, an enclosure, the image of a JSON Feed, or a
// thumbnail, in this order.
func imageOf(item *gofeed.Item, links resolver) Image {
	media := item.Extensions["media"]
	places := []map[string][]ext.Extension{media}
	for _, group := range media["group"] {
		places = append(places, group.Children)
	}
	for _, place := range places {
		for _, medium := range place["content"] {
			address := medium.Attrs["url"]
			if !isImage(medium.Attrs["medium"], medium.Attrs["type"], address) {
				continue
			}
			if address = links.resolve(address); address != "" {
				return Image{URL: address, Description: altText(medium.Children)}
			}
		}
	}
	for _, enclosure := range item.Enclosures {
		if enclosure == nil || !isImage("", enclosure.Type, enclosure.URL) {
			continue
		}
		if address := links.resolve(enclosure.URL); address != "" {
			return Image{URL: address}
		}
	}
	if item.Image != nil && !strings.HasSuffix(strings.ToLower(item.Image.URL), ".svg") {
		if address := links.resolve(item.Image.URL); address != "" {
			return Image{URL: address, Description: plaintext.Cut(plaintext.Title(item.Image.Title), maxAltText)}
		}
	}
	for _, content := range media["content"] { // of a video, say
		places = append(places, content.Children)
	}
	for _, place := range places {
		for _, thumbnail := range place["thumbnail"] {
			if address := links.resolve(thumbnail.Attrs["url"]); address != "" {
				return Image{URL: address}
			}
		}
	}
	return Image{}
}

// altText is what a medium itself says of what is to be seen. The description of the entry is none.
func altText(medium map[string][]ext.Extension) string {
	for _, description := range medium["description"] {
		if strings.EqualFold(description.Attrs["type"], "html") {
			description.Value = plaintext.Text(description.Value)
		}
		if text := plaintext.Cut(plaintext.Title(description.Value), maxAltText); text != "" {
			return text
		}
	}
	return ""
}

// isImage reports whether a medium is an image that servers take, by what the feed says of it; by the end of its address where the feed says nothing.
func isImage(medium, kind, address string) bool {
	medium, kind = strings.ToLower(strings.TrimSpace(medium)), strings.ToLower(strings.TrimSpace(kind))
	switch {
	case kind != "":
		return strings.HasPrefix(kind, "image/") && !strings.HasPrefix(kind, "image/svg")
	case medium != "":
		return medium == "image"
	}
	address, _, _ = strings.Cut(address, "?")
	switch strings.ToLower(path.Ext(address)) {
	case ".jpg", ".jpeg", ".png", ".gif", ".webp", ".avif":
		return true
	}
	return false
}
