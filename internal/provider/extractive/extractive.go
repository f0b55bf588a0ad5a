// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package extractive is the built-in summarizer: it picks the sentences of an article that say
// most about it, and changes nothing in them. It knows Japanese and English best, and manages
// with other languages.
//
// It runs in the process, costs nothing and is deterministic: the same request has the same
// summary. It reaches no network, knows no model, and must never write a word of its own.
package extractive

import (
	"context"
	"strings"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/prose"
	"github.com/feed-operator/feed-operator/internal/provider"
)

// Model is the name under which summaries of this package are reported.
const Model = "extractive"

// Provider picks sentences. The zero value is ready for use, by many goroutines at a time.
type Provider struct{}

var _ provider.Provider = (*Provider)(nil)

// New returns the built-in summarizer.
func New() *Provider { return &Provider{} }

// Generate returns the sentences that say most about the article, in their order, as one line of
// plain text without links, markup or control characters. It looks at the first 200,000
// characters of the text.
//
// What it takes, the first that there is: the feed's description when that is a summary already;
// whole sentences of the text, or of the description; the best lines of a list; the best line of either; the title; any
// line with a letter outside of a link. Of sentences, one that cannot be understood without another is left to that.
// A sentence is cut, with "…" and after a clause if possible, only when it says most and is longer than the summary may be.
//
// Errors: API/Empty when there is nothing to take, Validation/Unsupported when
// request.MaxCharacters is below 1, and ctx's own error.
func (*Provider) Generate(ctx context.Context, request provider.Request) (provider.Response, error) {
	if request.MaxCharacters < 1 {
		return provider.Response{}, failure.New(v1alpha1.CategoryValidation, failure.TypeUnsupported,
			"A summary must be allowed at least one character.")
	}
	request, err := request.WithoutDocument()
	if err != nil {
		return provider.Response{}, err
	}
	a := newArticle(request)
	for _, attempt := range []func(*article, int) string{
		fromDescription, fromSentences, fromLines, fromTitle, fromAnything,
	} {
		if err := ctx.Err(); err != nil {
			return provider.Response{}, err
		}
		if summary := attempt(a, request.MaxCharacters); summary != "" {
			return provider.Response{Summary: summary, Model: Model}, nil
		}
	}
	return provider.Response{}, failure.New(v1alpha1.CategoryAPI, failure.TypeEmpty,
		"The article has no text to make a summary of.")
}

// article is a request, made ready to be read.
type article struct {
	title       string
	text        []string // blocks, see blocks.go
	description []string
	language    string
	cjk         bool // written in Chinese, Japanese or Korean characters
}

func newArticle(request provider.Request) *article {
	title, text, description := clean(request.Title, maxTitle), clean(request.Text, maxText), clean(request.Description, maxDescription)
	sample := text
	if sample == "" {
		sample = description
	}
	a := &article{
		title:       oneLine(title),
		text:        blocks(text),
		description: blocks(description),
		language:    detectLanguage(title + "\n" + firstRunes(sample, sampleRunes)),
	}
	a.cjk = a.language == "ja" || a.language == "zh" || a.language == "ko"
	return a
}

// fromDescription takes the feed's own description if it is one to three good sentences that
// speak of the article, and were not cut off.
func fromDescription(a *article, limit int) string {
	const most = 3
	var found []sentence
	for _, block := range a.description {
		for _, text := range split(block, a.language) {
			if creditLine.MatchString(text) {
				continue
			}
			s, ok := a.candidate(text, len(found), enough)
			if len(found) == most || !ok {
				return ""
			}
			found = append(found, s)
		}
	}
	if len(found) == 0 || !a.isSpokenOf(found) {
		return ""
	}
	if summary := join(found, a.language); prose.Count(summary) <= limit {
		return summary
	}
	return ""
}

// fromSentences takes whole sentences, of the description only if the text has none that fits.
func fromSentences(a *article, limit int) string { return a.pick(a.candidates, limit, 3+limit/400) }

// fromLines takes lines that are no sentences by the rules: too short, or without a full stop. Where
// there is nothing but a list, one item of it says little: some are taken, with slashes between, because
// they would not read well one after the other.
func fromLines(a *article, limit int) string {
	const (
		least, most = 3, 4
		between     = " / "
	)
	if found := a.lines(a.text); len(found) >= least {
		a.score(found)
		if chosen := choose(found, limit-(most-1)*(len(between)-1), most); len(chosen) > 1 {
			texts := make([]string, 0, len(chosen))
			for _, line := range chosen {
				texts = append(texts, line.text)
			}
			return strings.Join(texts, between)
		}
	}
	return a.pick(a.lines, limit, 1)
}

// pick chooses count of what find finds in the text, else in the description. What says most is cut where it is too
// long, and not left out: the first sentence of the news is the one that is read most.
func (a *article) pick(find func(source []string) []sentence, limit, count int) string {
	for _, source := range [][]string{a.text, a.description} {
		found := find(source)
		if len(found) == 0 {
			continue
		}
		a.score(found)
		if first := best(found); prose.Count(first.text) > limit {
			first.text = cutAtClause(first.text, roomForLong(limit))
		}
		return join(choose(found, limit, count), a.language)
	}
	return ""
}

// roomForLong is what a sentence gets that is longer than the summary may be. Where there is room for two, there is
// more to tell than the rest of it.
func roomForLong(limit int) int {
	const roomForTwo = 200
	if limit < roomForTwo {
		return limit
	}
	return limit * 3 / 4
}

func fromTitle(a *article, limit int) string {
	if title := plain(a.title); isReadable(title) {
		return prose.Clip(title, limit)
	}
	return ""
}

func fromAnything(a *article, limit int) string {
	for _, source := range [][]string{a.text, a.description} {
		for _, block := range source {
			if line := plain(block); isReadable(line) {
				return prose.Clip(line, limit)
			}
		}
	}
	return ""
}
