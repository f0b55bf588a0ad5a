// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package article gets the text of an article: out of the page that an entry links to, or out of
// what the feed itself said.
//
// It knows pages: their types, charsets, navigation and placeholders. It must never know items,
// providers or Kubernetes, and reaches the network through outbound only. It decides nothing about
// trying again: it says what a page was, and the item's life does the rest.
package article

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/outbound"
)

// TypeNotReady is the type of the failure of an article that has no text yet: the page is empty,
// a placeholder or nothing but navigation, and the feed says nothing either.
const TypeNotReady = "PageNotReady"

// enoughFeedText is the length, in characters, from which on the feed's own content is taken for
// the whole article.
const enoughFeedText = 1000

const accept = "text/html, application/xhtml+xml, text/plain;q=0.8, */*;q=0.1"

// Article is a text to be read, or summarized.
type Article struct {
	// Title as the feed gave it, or else as the page does. One line; may be empty.
	Title string
	// Text is plain text, never empty; paragraphs are separated by an empty line.
	Text string
	// Hash is the SHA-256 of Text in hexadecimal. While it stays, the article has not changed.
	Hash string
	// FromFeed says that Text is the feed's own content.
	FromFeed bool
}

// Request says which article is wanted.
type Request struct {
	// URL of the page. May be empty.
	URL string
	// Title that the feed gave. May be empty.
	Title string
	// FeedText is the feed's own content, as plain text. May be empty.
	FeedText string
	// Source decides between the two. Default: Auto.
	Source v1alpha1.ArticleSource
	// MaxBytes bounds the page, decompressed. Default: that of outbound.Request.
	MaxBytes int64
	// Timeout of the download. Default: that of outbound.Request.
	Timeout time.Duration
}

// NeedsPage says whether the article is to be downloaded.
func (r Request) NeedsPage() bool {
	if r.URL == "" {
		return false
	}
	switch r.Source {
	case v1alpha1.ArticleSourcePage:
		return true
	case v1alpha1.ArticleSourceFeed:
		return false
	case v1alpha1.ArticleSourceAuto:
	}
	return utf8.RuneCountInString(strings.TrimSpace(r.FeedText)) < enoughFeedText
}

// Fetcher gets articles. It is safe for concurrent use.
type Fetcher struct {
	client *outbound.Client
}

// NewFetcher returns a fetcher that downloads pages with client.
func NewFetcher(client *outbound.Client) *Fetcher {
	return &Fetcher{client: client}
}

// Fetch returns the article. A page without readable text is replaced by the feed's own content,
// if that has a full sentence.
//
// Every error is a *failure.Error: that of the download as it came (failure.TypeTooLarge for a
// page above MaxBytes), TypeNotReady where there is no text yet, failure.TypeUnsupported where
// the link leads to something that is not a text.
func (f *Fetcher) Fetch(ctx context.Context, r Request) (Article, error) {
	if !r.NeedsPage() {
		text := normalize(r.FeedText)
		if text == "" {
			return Article{}, failure.New(v1alpha1.CategoryAPI, TypeNotReady, noFeedText(r))
		}
		return newArticle(r.Title, text, true), nil
	}
	page, err := f.client.Get(ctx, outbound.Request{URL: r.URL, Accept: accept, MaxBytes: r.MaxBytes, Timeout: r.Timeout})
	if err != nil {
		return Article{}, err
	}
	title, text, err := read(page)
	if err == nil {
		if r.Title != "" {
			title = r.Title
		}
		return newArticle(title, text, false), nil
	}
	if text := normalize(r.FeedText); hasSentence(text) {
		return newArticle(r.Title, text, true), nil
	}
	return Article{}, err
}

// read returns the title and the text of a page that has enough text to be an article.
func read(page *outbound.Response) (title, text string, err error) {
	contentType := page.Header.Get("Content-Type")
	switch kind, name := kindOf(page.Body, contentType); kind {
	case kindHTML:
		title, text, err = extract(decode(page.Body, contentType))
	case kindText:
		text = normalize(decode(page.Body, contentType))
	case kindOther:
		return "", "", failure.New(v1alpha1.CategoryValidation, failure.TypeUnsupported,
			fmt.Sprintf("The link at %s leads to a file of the type %s, which cannot be read as an article.", host(page.URL), name))
	}
	if err != nil {
		return "", "", err
	}
	if !isArticle(text) {
		return "", "", failure.New(v1alpha1.CategoryAPI, TypeNotReady,
			fmt.Sprintf("The page at %s has no readable article text yet, and neither has the feed.", host(page.URL)))
	}
	return title, text, nil
}

func newArticle(title, text string, fromFeed bool) Article {
	sum := sha256.Sum256([]byte(text))
	return Article{Title: oneLine(title), Text: text, Hash: hex.EncodeToString(sum[:]), FromFeed: fromFeed}
}

func noFeedText(r Request) string {
	if r.URL == "" {
		return "The entry has neither a link nor content of its own, so there is nothing to read."
	}
	return "The feed gives no content for this entry, and the source is set to read the feed only."
}

// host returns the part of a URL that may be shown.
func host(raw string) string {
	parsed, err := url.Parse(raw)
	if err != nil {
		return "the linked address"
	}
	return parsed.Host
}
