// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"

	"github.com/feed-operator/feed-operator/internal/feed"
	"github.com/feed-operator/feed-operator/internal/plaintext"
)

// The variables of an expression.
const (
	title      = "title"
	url        = "url"
	author     = "author"
	categories = "categories"
	content    = "content"
	published  = "published"
)

// Bounds of what an expression sees, in characters. All but that of the content are those of a
// feed.Entry.
const (
	maxTitle      = 1024
	maxURL        = 4096
	maxAuthor     = 256
	maxCategories = 32
	maxCategory   = 128
	maxContent    = 32768
)

// values are what the variables stand for in one entry. It is used by one evaluation at a time.
type values struct {
	entry feed.Entry
	// text is the content without markup, made when it is first asked for: most filters look at
	// the title only.
	text *string
}

// ResolveName implements cel.Activation.
func (v *values) ResolveName(name string) (any, bool) {
	switch name {
	case title:
		return within(v.entry.Title, maxTitle), true
	case url:
		return within(v.entry.URL, maxURL), true
	case author:
		return within(v.entry.Author, maxAuthor), true
	case categories:
		all := make([]string, 0, len(v.entry.Categories))
		for _, category := range v.entry.Categories[:min(len(v.entry.Categories), maxCategories)] {
			all = append(all, within(category, maxCategory))
		}
		return all, true
	case content:
		if v.text == nil {
			v.text = new(textOf(v.entry))
		}
		return *v.text, true
	case published:
		if v.entry.Published.IsZero() {
			return types.NullValue, true
		}
		return types.Timestamp{Time: v.entry.Published.UTC()}, true
	}
	return nil, false
}

// Parent implements cel.Activation.
func (v *values) Parent() cel.Activation { return nil }

// textOf is all that a feed says of an entry beside its title, without markup: feeds differ in
// whether they put an abstract into the description and the article into the content, or
// everything into one of them.
func textOf(entry feed.Entry) string {
	const perCharacter = 64 // more bytes of markup than that are more than the text can be worth
	text := plaintext.Text(bytesOf(entry.Content, perCharacter*maxContent))
	if entry.Description != "" {
		text = plaintext.Text(bytesOf(entry.Description, perCharacter*maxContent)) + "\n\n" + text
	}
	return within(strings.TrimSpace(text), maxContent)
}

// bytesOf returns at most so many bytes of a text, cut on the border of a character.
func bytesOf(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "")
}

// within returns at most so many characters of a text, as CEL counts them.
func within(text string, most int) string {
	if len(text) > most {
		count := 0
		for at := range text {
			if count == most {
				text = text[:at]
				break
			}
			count++
		}
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}
