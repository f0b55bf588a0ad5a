// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package syndication

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
)

// entry is an item as a feed shows it, in either format: plain text without characters that XML
// forbids, and bounded, because the item is.
type entry struct {
	ref        Ref
	id         string
	title      string
	link       string
	author     string
	categories []string
	summary    string
}

// newEntry makes an entry of a live item. It is nil when the item has no summary (any more).
func newEntry(item *v1alpha1.FeedItem) *entry {
	if item.Status.Phase != v1alpha1.PhaseProcessed || item.Status.Summary == nil {
		return nil
	}
	e := &entry{
		ref:     RefOf(item),
		id:      urn(v1alpha1.OriginalUID(item)),
		title:   oneLine(item.Spec.Title),
		link:    articleLink(item.Spec.URL),
		author:  oneLine(item.Spec.Author),
		summary: strings.TrimSpace(plain(item.Status.Summary.Text)),
	}
	for _, category := range item.Spec.Categories {
		if category = oneLine(category); category != "" && !slices.Contains(e.categories, category) {
			e.categories = append(e.categories, category)
		}
	}
	return e
}

// size estimates the memory that the entry takes, in bytes.
func (e *entry) size() int {
	const fixed = 512 // the structures around the texts
	size := fixed + len(e.ref.Namespace) + len(e.ref.Name) + len(e.title) + len(e.link) + len(e.author) + len(e.summary)
	for _, category := range e.categories {
		size += 16 + len(category)
	}
	return size
}

// oneLine makes plain text for a place that has one line only.
func oneLine(text string) string { return strings.Join(strings.Fields(plain(text)), " ") }

// plain drops the characters that XML 1.0 forbids (section 2.2) or that control terminals, and
// those that reorder the text around them, which could make a title read as something else. What
// right-to-left scripts and emoji need by themselves (their letters, LRM, RLM, ZWJ) stays.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t':
			return r
		case r < 0x20, r >= 0x7f && r <= 0x9f, r == utf8.RuneError, r == 0xfffe, r == 0xffff,
			r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
			return -1
		}
		return r
	}, text)
}

// stamp writes a time in the form of RFC 3339, which both formats ask for.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
