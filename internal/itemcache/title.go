// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package itemcache

import (
	"strings"
	"unicode/utf8"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
)

const (
	// titleBytes is how much of a finished item's title is kept, so that people find it by that: whole titles, nearly always. At the most it is
	// 26 MB of 100,000 items.
	titleBytes = 256
	ellipsis   = "…"
)

// shortTitle is what the cached form of a finished item keeps of its title.
func shortTitle(title string) string {
	if len(title) <= titleBytes {
		return title
	}
	cut := titleBytes - len(ellipsis)
	for cut > 0 && !utf8.RuneStart(title[cut]) {
		cut--
	}
	return strings.Clone(title[:cut]) + ellipsis // and not the whole of it in memory
}

// WholeTitle is the title of a cached item, or empty where that may have been cut: then it does not tell the item from others.
func WholeTitle(item *v1alpha1.FeedItem) string {
	if item.Terminal() && len(item.Spec.Title) > titleBytes-utf8.UTFMax && strings.HasSuffix(item.Spec.Title, ellipsis) {
		return ""
	}
	return item.Spec.Title
}
