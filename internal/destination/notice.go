// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package destination

import "strings"

// Notice is the text of a notification. Title and Error are untrusted; all of it is shown as
// plain text without mentions, hashtags or further links.
type Notice struct {
	// Subject is what has failed, such as an item by its namespace and name.
	Subject string
	// Title of the item. May be empty.
	Title string
	// Error is what went wrong last.
	Error string
	// Facts about it, on one line.
	Facts string
	// Namespace of what has failed, and where that is an item, its name and that of its FeedSource.
	Namespace, Source, Item string
	// Key is the idempotency key of the notification.
	Key string
	// URL of the item. May be empty.
	URL string
	// Advice is what to do, on one line.
	Advice string
}

// noticeTemplate puts a Notice into the fields of a post: Source is the subject, Summary the error,
// Author the facts and FeedTitle the advice. So the error is what is cut first.
const noticeTemplate = "{{.Source}}\n{{.Title}}\n\n{{with .Summary}}Last error: {{.}}{{end}}\n\n{{.Author}}\n{{.URL}}\n\n{{.FeedTitle}}"

// What is left of the parts of a notice where there is no room, in characters.
const (
	shortNoticeTitle = 40
	leastError       = 60
)

// ComposeNotice makes the post of a notice, within the limits. What does not fit goes in this order: the end of the error, the end of
// the title, the title, the advice; then as with any post. The link stays whole.
//
// The error is a *failure.Error of the category Validation: not even the link fits, or there is
// nothing to say.
func (c *Composer) ComposeNotice(n Notice, l Limits) (Post, error) {
	composer, err := NewComposer(Style{Template: noticeTemplate, Language: "en", Visibility: c.style.Visibility})
	if err != nil {
		return Post{}, err
	}
	d, err := composer.newDraft(Material{
		Source: n.Subject, Title: n.Title, Summary: n.Error, Author: n.Facts, URL: n.URL, FeedTitle: n.Advice,
	}, l.orDefault())
	if err != nil {
		return Post{}, err
	}
	// Advice is the operator's own, and a command in it must be whole where it is copied.
	d.values.FeedTitle = strings.ReplaceAll(d.values.FeedTitle, string(wordJoiner), "")
	text, err := d.fitNotice()
	if err != nil {
		return Post{}, err
	}
	post := Post{Language: d.values.Language, Visibility: c.style.Visibility}
	post.Text, post.Link = d.withLink(text)
	return post, nil
}

// fitNotice returns the form of a notice that fits and says most.
func (d *draft) fitNotice() (string, error) {
	short := d.values
	short.Title = clipped(short.Title, shortNoticeTitle)
	untitled := without(d.values, title)
	bare := untitled
	bare.FeedTitle = ""
	for _, values := range []fields{d.values, short, untitled, bare} {
		if text, ok := d.shorten(d.composer.text, values, summary, leastError); ok {
			return text, nil
		}
	}
	return d.fit()
}
