// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feed

import (
	"strings"

	ext "github.com/mmcdole/gofeed/extensions"
)

// mediaText returns the title or the description in the form of Media RSS
// (https://www.rssboard.org/media-rss), where video sites have it: of the entry, of a group, or of
// the medium itself.
func mediaText(extensions ext.Extensions, name string) string {
	media := extensions["media"]
	places := []map[string][]ext.Extension{media}
	for _, group := range media["group"] {
		places = append(places, group.Children)
		for _, content := range group.Children["content"] {
			places = append(places, content.Children)
		}
	}
	for _, content := range media["content"] {
		places = append(places, content.Children)
	}
	for _, place := range places {
		for _, element := range place[name] {
			if text := strings.TrimSpace(element.Value); text != "" {
				return text
			}
		}
	}
	return ""
}
