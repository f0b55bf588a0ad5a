// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package destination

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/prose"
)

// What is taken of a field, in code points.
const (
	maxTitle      = 1_000
	maxSummary    = 10_000
	maxName       = 300
	maxCategories = 32
)

// usualTitle is how many characters a title may have in any case.
const usualTitle = 100

// What is left of a text must be worth reading, in characters.
const (
	leastSummary = 40
	leastTitle   = 20
	leastOfAll   = 5
)

// draft is a post while it is made.
type draft struct {
	composer *Composer
	values   fields
	link     string
	warning  string
	limits   Limits
	// bothWays is not set where the link is so long that a server that counts code points could
	// not take it whatever else is in the post.
	bothWays bool
}

func (c *Composer) newDraft(m Material, l Limits) (*draft, error) {
	values := fields{
		Title:     plainLine(m.Title, maxTitle),
		Summary:   PlainText(m.Summary, maxSummary),
		Author:    plainLine(m.Author, maxName),
		Source:    plainLine(m.Source, maxName),
		FeedTitle: plainLine(m.FeedTitle, maxName),
		Language:  c.style.Language,
		Published: newDay(m.Published),
	}
	if values.Language == "" {
		values.Language = plainLine(m.Language, maxName)
	}
	for _, category := range m.Categories[:min(len(m.Categories), maxCategories)] {
		if category = plainLine(category, maxName); category != "" {
			values.Categories = append(values.Categories, category)
		}
	}
	values.Hashtags = c.style.Hashtags.of(values.Categories)
	if rest, repeated := repeats(values.Summary, values.Title); repeated && rest == "" { // where there was nothing else to sum up
		values.Summary = ""
	}
	d := &draft{composer: c, limits: l, link: WebLink(m.URL)}
	if values.Title == "" && values.Summary == "" && d.link == "" {
		return nil, failure.New(v1alpha1.CategoryValidation, failure.TypeEmpty,
			"There is nothing to post: the item has no title, no summary and no link.")
	}
	warning, err := c.warning.render(values)
	if err != nil {
		return nil, failure.Wrap(v1alpha1.CategoryValidation, failure.TypeUnsupported,
			"The content warning cannot be made: "+explain("content warning", err).Error()+".", err)
	}
	d.warning = clipped(oneLine(tidy(warning)), max(l.MaxCharacters/4, 1))
	if d.link != "" {
		values.URL = linkMark
	}
	d.values = values
	d.bothWays = utf8.RuneCountInString(d.link)+utf8.RuneCountInString(d.warning) <= l.MaxCharacters
	return d, nil
}

// fit returns the longest form of the text that fits, with the linkMark in place of the link.
func (d *draft) fit() (string, error) {
	whole := d.composer.text
	full := d.saidOnce()
	text, size, err := d.size(whole, full)
	if err != nil {
		return "", err
	}
	if size <= d.limits.MaxCharacters && text != "" {
		return text, nil
	}
	values, untagged := d.values, full
	untagged.Hashtags = nil
	bare := values
	bare.Hashtags = nil
	heading := values
	if heading.Title == "" {
		heading.Title = heading.Summary
	}
	for _, attempt := range slices.Concat(d.withSummary(full), d.withSummary(untagged), []attempt{
		{whole, without(values, summary), title, math.MaxInt},
		{whole, without(bare, summary), title, leastTitle},
		{d.composer.shortest, heading, title, leastOfAll},
		{d.composer.shortest, without(values, title), title, 0},
	}) {
		if text, ok := d.shorten(attempt.layout, attempt.values, attempt.part, attempt.least); ok {
			return text, nil
		}
	}
	if d.link == "" {
		return "", failure.New(v1alpha1.CategoryValidation, failure.TypeTooLong,
			fmt.Sprintf("The post does not fit the %d characters that the server allows.", d.limits.MaxCharacters))
	}
	return "", failure.New(v1alpha1.CategoryValidation, failure.TypeTooLong,
		fmt.Sprintf("Not even the link fits the %d characters that the server allows.", d.limits.MaxCharacters))
}

// attempt is one way to make a text fit: by cutting a part of it, of which so many characters must be left.
type attempt struct {
	layout *layout
	values fields
	part   func(*fields) *string
	least  int
}

// withSummary are the ways to make a text fit that keep some of the summary. A title that takes more than its share gives way
// to the first sentence of the summary, down to that share: it was a sentence too, if it is that long.
func (d *draft) withSummary(values fields) []attempt {
	share := max(d.limits.MaxCharacters/3, usualTitle)
	whole := d.composer.text
	sentences := prose.Sentences(values.Summary, "")
	if prose.Count(values.Title) <= share || len(sentences) == 0 {
		return []attempt{{whole, values, summary, leastSummary}}
	}
	beside, clippedTitle := values, values
	beside.Summary = sentences[0]
	clippedTitle.Title = clipped(values.Title, share)
	return []attempt{
		{whole, values, summary, max(prose.Count(sentences[0]), leastSummary)},
		{whole, beside, title, share},
		{whole, clippedTitle, summary, leastSummary},
	}
}

// saidOnce are the values in which the summary does not repeat a title that the layout shows: without its first sentence, if the
// title is all of that. Where the sentence goes on, it reports what the title does, and the title goes, if it has a line for itself.
func (d *draft) saidOnce() fields {
	rest, repeated := repeats(d.values.Summary, d.values.Title)
	if !repeated {
		return d.values
	}
	heading, err := d.composer.text.render(without(d.values, summary))
	if err != nil {
		return d.values // the text fails too, and reports why
	}
	once := d.values
	if rest != d.values.Summary {
		if strings.Contains(heading, d.values.Title) {
			once.Summary = rest
		}
		return once
	}
	untitled := without(d.values, title)
	text, err := d.composer.text.render(untitled)
	if err == nil && hasLine(heading, d.values.Title) && strings.Contains(text, d.values.Summary) {
		return untitled
	}
	return d.values
}

// hasLine reports whether a line of a rendered text is this one and nothing else.
func hasLine(rendered, wanted string) bool {
	for line := range strings.SplitSeq(rendered, "\n") {
		if strings.TrimSpace(strings.ReplaceAll(line, lineMark, "")) == wanted {
			return true
		}
	}
	return false
}

// clipped is a line of at most limit characters.
func clipped(line string, limit int) string {
	if prose.Count(line) <= limit {
		return line
	}
	return unlinkedEnd(prose.Clip(line, max(limit-1, 1))) // room for what parts a domain
}

func summary(values *fields) *string { return &values.Summary }

func title(values *fields) *string { return &values.Title }

func without(values fields, part func(*fields) *string) fields {
	*part(&values) = ""
	return values
}

// shorten makes a text fit by cutting one part of it. It returns false when that would leave less
// than the least number of characters of the part, or does not help.
func (d *draft) shorten(l *layout, values fields, part func(*fields) *string, least int) (string, bool) {
	cut := part(&values)
	whole := *cut
	sizeWith := func(kept string) int {
		*cut = kept
		if kept != whole {
			*cut = unlinkedEnd(kept)
		}
		_, size, err := d.size(l, values)
		if err != nil {
			return math.MaxInt
		}
		return size
	}
	limit := d.limits.MaxCharacters
	if size := sizeWith(whole); size > limit && whole != "" {
		one := sizeWith("x")
		room := limit - one + 1
		if one > limit || room < least {
			return "", false
		}
		*cut = unlinkedEnd(prose.CutBy(whole, room, func(kept string) int { return sizeWith(kept) - one + 1 }))
	}
	text, size, err := d.size(l, values)
	return text, err == nil && size <= limit && text != ""
}

// size returns the text and how many characters it has, content warning included, by that way of
// counting which finds more.
func (d *draft) size(l *layout, values fields) (string, int, error) {
	rendered, err := l.render(values)
	switch {
	case errors.Is(err, errTooMuch):
		return "", math.MaxInt, nil
	case err != nil:
		return "", 0, failure.Wrap(v1alpha1.CategoryValidation, failure.TypeUnsupported,
			"The text of the post cannot be made: "+explain("template", err).Error()+".", err)
	}
	text := tidy(rendered)
	raw := rawLength(text, d.warning, d.link)
	if !d.bothWays {
		raw = 0
	}
	if raw > d.limits.MaxCharacters { // quick to find, and the answer more often than not
		return text, raw, nil
	}
	return text, max(raw, readLength(text, d.warning, d.link, d.limits.CharactersPerURL)), nil
}

// withLink puts the link in, and returns it if it is there.
func (d *draft) withLink(text string) (full, link string) {
	if !strings.Contains(text, linkMark) {
		return text, ""
	}
	return strings.Replace(text, linkMark, d.link, 1), d.link
}

// tidy makes what a template wrote a text: without the lines that turned out empty, with at most
// one empty line in a row, the link once and by itself.
func tidy(rendered string) string {
	before, after, found := strings.Cut(rendered, linkMark)
	if found {
		after = strings.ReplaceAll(after, linkMark, lineMark)
		rendered = before + linkMark + after
	}
	var lines []string
	for line := range strings.SplitSeq(printable(rendered), "\n") {
		text := strings.TrimSpace(strings.ReplaceAll(line, lineMark, ""))
		if text == "" && (strings.Contains(line, lineMark) || len(lines) == 0 || lines[len(lines)-1] == "") {
			continue
		}
		lines = append(lines, text)
	}
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = slices.Delete(lines, len(lines)-1, len(lines))
	}
	return apart(strings.Join(lines, "\n"))
}
