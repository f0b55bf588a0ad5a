// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package destination

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"
)

// Style is how the posts of a destination look.
//
// Template and ContentWarning are Go templates (https://pkg.go.dev/text/template) over these
// fields, all of them plain text, and empty where the item has no such thing:
//
//	.Title, .Summary, .Author   of the item
//	.URL                        the item's link; empty in a content warning, where no link works
//	.Categories                 a list; {{.Categories}} alone gives it with commas
//	.Hashtags                   a list; {{.Hashtags}} alone gives it with spaces
//	.Published                  a day, such as 2026-05-04; {{.Published.Format "2 Jan"}} has it otherwise
//	.Source, .FeedTitle         the name of the FeedSource, and what the feed calls itself
//	.Language                   of the post, as a BCP 47 tag
//
// They have if, with, range over the two lists (not nested), variables, and the functions and, or,
// not, eq, ne, lt, le, gt and ge. A line in which nothing is left because a field is empty
// disappears.
type Style struct {
	// Template of the text. Empty: title, summary, link and hashtags.
	Template string
	// ContentWarning hides the text behind a line of its own. Empty: none.
	ContentWarning string
	Hashtags       Hashtags
	// Language of the posts as a BCP 47 tag. Empty: that of the item.
	Language string
	// Visibility, as the destination's API calls it. May be empty.
	Visibility string
}

// NamesFeed reports whether a post may say what the feed calls itself: Material.FeedTitle.
func (s Style) NamesFeed() bool {
	return strings.Contains(s.Template, ".FeedTitle") || strings.Contains(s.ContentWarning, ".FeedTitle")
}

// Material is what a post is made of. All of it is untrusted, but for the names of objects.
type Material struct {
	Title, Summary, URL, Author, FeedTitle, Language string
	Categories                                       []string
	Published                                        time.Time
	// GUID by which the feed knows the entry. May be empty.
	GUID string
	// Namespace, and the names of the FeedSource and the FeedItem in it.
	Namespace, Source, Item string
	// Provider and Model that have written the summary.
	Provider, Model string
	// Key is the idempotency key of the delivery.
	Key string
}

// Writer makes what a destination is sent: of an item, and of a failure. Its errors are *failure.Error of the category
// Validation. It may be used by many goroutines at a time.
type Writer interface {
	// Compose makes the post of an item, within the limits; the same material always gives the same post.
	Compose(m Material, l Limits) (Post, error)
	// ComposeNotice makes the post of a notice, within the limits.
	ComposeNotice(n Notice, l Limits) (Post, error)
}

// Limits are a server's own. Both ways in which servers count are kept to, see length.go.
type Limits struct {
	// MaxCharacters of content warning and text together. 0 = 500.
	MaxCharacters int
	// CharactersPerURL is what a link counts for, however long it is. 0 = 23.
	CharactersPerURL int
	// MaxImageBytes of an image, ImageTypes that are taken, and MaxDescription of the alternative text. 0, and none, where the
	// server does not say.
	MaxImageBytes  int64
	ImageTypes     []string
	MaxDescription int
}

func (l Limits) orDefault() Limits {
	if l.MaxCharacters <= 0 {
		l.MaxCharacters = defaultMaxCharacters
	}
	if l.CharactersPerURL <= 0 {
		l.CharactersPerURL = defaultCharactersPerURL
	}
	return l
}

const (
	defaultMaxCharacters    = 500
	defaultCharactersPerURL = 23
	defaultTemplate         = "{{.Title}}\n\n{{.Summary}}\n\n{{.URL}}\n\n{{.Hashtags}}"
	titleAndLink            = "{{.Title}}\n\n{{.URL}}"
)

var _ Writer = (*Composer)(nil)

// Composer makes the texts of posts. It may be used by many goroutines at a time.
type Composer struct {
	style         Style
	text, warning *layout
	shortest      *layout
}

// NewComposer checks the templates of a style. The error explains which one is wrong,
// and where.
func NewComposer(style Style) (*Composer, error) {
	if style.Template == "" {
		style.Template = defaultTemplate
	}
	c := &Composer{style: style}
	for _, part := range []struct {
		name, source string
		layout       **layout
	}{
		{"template", style.Template, &c.text},
		{"content warning", style.ContentWarning, &c.warning},
		{"template", titleAndLink, &c.shortest},
	} {
		parsed, err := newLayout(part.name, part.source)
		if err != nil {
			return nil, err
		}
		*part.layout = parsed
	}
	return c, nil
}

// Compose makes the post of an item, within the limits. What the title says is not said again at the
// beginning of the summary. What does not fit goes in this order: the end of the summary, the end of a
// title that takes more than a third and leaves no room for a sentence, the hashtags, the rest of the
// summary (then the hashtags may fit again), the end of the title, whatever else the template has, the
// title. The link stays whole, and stands in the text once; Post.Link is how it stands there, which may be encoded otherwise than m.URL.
//
// The error is a *failure.Error of the category Validation: not even the link fits, there is
// nothing to say, or the template fails on this item.
func (c *Composer) Compose(m Material, l Limits) (Post, error) {
	d, err := c.newDraft(m, l.orDefault())
	if err != nil {
		return Post{}, err
	}
	text, err := d.fit()
	if err != nil {
		return Post{}, err
	}
	post := Post{ContentWarning: d.warning, Language: d.values.Language, Visibility: c.style.Visibility}
	post.Text, post.Link = d.withLink(text)
	return post, nil
}

// TextHash returns 16 hexadecimal digits that tell the text of a post, with its content warning,
// from others.
func TextHash(post Post) string {
	sum := sha256.Sum256([]byte(post.ContentWarning + "\x00" + post.Text))
	return hex.EncodeToString(sum[:8])
}
