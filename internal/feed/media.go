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
	holders := []ext.Extension{{Children: media}}
	for _, group := range media["group"] {
		holders = append(append(holders, group), group.Children["content"]...)
	}
	for _, holder := range append(holders, media["content"]...) {
		for _, element := range holder.Children[name] {
			if text := strings.TrimSpace(element.Value); text != "" {
				return text
			}
		}
	}
	return ""
}
