// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package article gets the text of an article: out of the page that an entry links to, or out of
// what the feed itself said.
//
// It knows pages: their types, navigation and placeholders. It must never know items,
// providers or Kubernetes, and reaches the network through outbound only. It decides nothing about
// trying again: it says what a page was, and the item's life does the rest.
package article

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/budget"
	"github.com/feed-operator/feed-operator/internal/charset"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/outbound"
)

// TypeNoContent is the type of the failure of an article that has no text and never will have one: there is no page to
// look at, and what the feed says does not change after an entry has become an item.
const TypeNoContent = "NoContent"

// TypeNotReady is the type of the failure of an article that has no text yet: the page is empty,
// a placeholder, a notice to subscribe or nothing but navigation, and the feed says nothing either.
const TypeNotReady = "PageNotReady"

// enoughFeedText is the length, in characters, from which on the feed's own content is taken for
// the whole article.
const enoughFeedText = 1000

const accept = "text/html, application/xhtml+xml, application/pdf;q=0.9, text/plain;q=0.8, */*;q=0.1"

// Article is a text to be read, or summarized.
type Article struct {
	// Title as the feed gave it, or else as the page does. One line; may be empty.
	Title string
	// Text is plain text; paragraphs are separated by an empty line. It is empty only where there is a
	// Document without a text, and Request.Documents.
	Text string
	// Document is the PDF document that Text was read out of, if it is one and may be passed on.
	Document []byte
	// Hash is the SHA-256 of Text in hexadecimal, or of Document where there is no text. While it stays, the
	// article has not changed.
	Hash string
	// Image that the page names as its own (og:image); nil where it names none, or no page was read.
	Image *v1alpha1.EntryImage
	// FromFeed is set if Text is the feed's own content.
	FromFeed bool
	// HeadlineOnly is set if Text is the title, because the feed has nothing else.
	HeadlineOnly bool
}

// Request is which article is wanted.
type Request struct {
	// URL of the page. May be empty.
	URL string
	// Title that the feed gave. May be empty.
	Title string
	// FeedText is the feed's own content, as plain text. May be empty.
	FeedText string
	// Source decides between the two. Default: Auto.
	Source v1alpha1.ArticleSource
	// Documents is set if whoever reads the article can read PDF documents that have no text, such as
	// scanned ones.
	Documents bool
	// MaxBytes bounds the page, decompressed. Default: that of outbound.Request.
	MaxBytes int64
	// Timeout of the download. Default: that of outbound.Request.
	Timeout time.Duration
	// Room is what the article takes of the memory for documents. Fetch leaves in it the Weight of the article
	// that it returns. Default: that of outbound.Request, and nothing is left.
	Room *budget.Room
	// Received is called when the page is there, or the document, and the network is not needed any more.
	Received func()
}

// NeedsPage reports whether the article is to be downloaded.
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

// Budget is the memory that articles take while they are read, and until they are used.
func (f *Fetcher) Budget() *budget.Budget { return f.client.Budget() }

// Fetch returns the article. A page without readable text is replaced by the feed's own content,
// if that has a full sentence.
//
// Where there is no page to read and no content either, the headline is the article, if it says something: who has a
// source read the feed only, and the feed has headlines only, wants those.
//
// Every error is a *failure.Error: that of the download as it came (failure.TypeTooLarge for a
// page above MaxBytes; errors.Is(err, budget.ErrFull) where there was no room in memory), TypeNotReady where there is
// no text yet, TypeNoContent where there never will be one, failure.TypeUnsupported where the link leads to something
// that is not a text.
func (f *Fetcher) Fetch(ctx context.Context, r Request) (Article, error) {
	if !r.NeedsPage() {
		if text := normalize(r.FeedText); text != "" {
			return r.reserved(Article{Title: r.Title, Text: text, FromFeed: true}.finished())
		}
		if title := oneLine(r.Title); isHeadline(title) {
			return r.reserved(Article{Title: title, Text: title, FromFeed: true, HeadlineOnly: true}.finished())
		}
		return Article{}, failure.New(v1alpha1.CategoryValidation, TypeNoContent, noFeedText(r))
	}
	var found Article
	var document []byte // one that is still to be read
	var from string
	received := false
	err := f.client.Read(ctx, outbound.Request{
		URL: r.URL, Accept: accept, MaxBytes: r.MaxBytes, Timeout: r.Timeout, Room: r.Room, Weigh: weigh, Received: r.Received,
	}, func(page *outbound.Response) (err error) {
		received = true
		if kind, _ := kindOf(page.Body, page.Header.Get("Content-Type")); kind == kindPDF {
			document, from = page.Body, page.URL
			return r.reserve(int64(len(document)))
		}
		if found, err = read(page); err != nil {
			return err
		}
		if r.Title != "" {
			found.Title = r.Title
		}
		found, err = r.reserved(found.finished())
		return err
	})
	if err == nil && document != nil {
		found, err = r.document(ctx, document, from)
	}
	switch {
	case err == nil:
		return found, nil
	case !received || errors.Is(err, budget.ErrFull) || failure.Classify(err).Type == TypeNoReader:
		return Article{}, err
	case ctx.Err() != nil:
		return Article{}, failure.Classify(ctx.Err())
	}
	if text := normalize(r.FeedText); hasSentence(text) {
		return r.reserved(Article{Title: r.Title, Text: text, FromFeed: true, Image: found.Image}.finished())
	}
	return Article{}, err
}

// reserved returns an article whose memory has been taken.
func (r Request) reserved(found Article) (Article, error) {
	if err := r.reserve(found.Weight()); err != nil {
		return Article{}, err
	}
	return found, nil
}

// reserve takes so much memory for the article, in bytes.
func (r Request) reserve(bytes int64) error {
	switch err := r.Room.Grow(bytes); {
	case errors.Is(err, budget.ErrTooLarge):
		return failure.Wrap(v1alpha1.CategoryValidation, failure.TypeTooLarge,
			"The article takes more memory than the operator may use for one (--document-memory).", err)
	case err != nil:
		return failure.Wrap(v1alpha1.CategoryNetwork, "", "There is no room in memory for the article at the moment.", err)
	}
	return nil
}

// read returns what a page has, if that is enough to be an article; else its image alone. PDF documents are read elsewhere.
func read(page *outbound.Response) (found Article, err error) {
	contentType := page.Header.Get("Content-Type")
	switch kind, name := kindOf(page.Body, contentType); kind {
	case kindHTML:
		markup := string(charset.Decode(beginning(page.Body), contentType))
		found.Image = imageOf(markup, page.URL)
		found.Title, found.Text, err = extract(markup)
	case kindText:
		found.Text = normalize(string(charset.Decode(page.Body[:min(len(page.Body), maxText)], contentType)))
	case kindPDF, kindOther:
		return Article{}, failure.New(v1alpha1.CategoryValidation, failure.TypeUnsupported,
			fmt.Sprintf("The link at %s leads to a file of the type %s, which cannot be read as an article.", host(page.URL), name))
	}
	if err != nil {
		return Article{Image: found.Image}, err
	}
	if !isArticle(found.Text) {
		return Article{Image: found.Image}, failure.New(v1alpha1.CategoryAPI, TypeNotReady, notReady(page.URL, found.Text))
	}
	return found, nil
}

// finished returns an article with its hash, and its title on one line.
func (a Article) finished() Article {
	content := []byte(a.Text)
	if a.Text == "" {
		content = a.Document
	}
	sum := sha256.Sum256(content)
	a.Title, a.Hash = oneLine(a.Title), hex.EncodeToString(sum[:])
	return a
}

func notReady(from, text string) string {
	message := fmt.Sprintf("The page at %s has no readable article text yet, and neither has the feed", host(from))
	if stub := StubOf(text); stub != "" {
		return message + ": there is only " + stub + "."
	}
	return message + "."
}

func noFeedText(r Request) string {
	if r.URL == "" {
		return "The entry has neither a link nor content of its own, and no headline that says something, so there is nothing to read."
	}
	return "The feed gives no content and no headline for this entry, and the source is set to read the feed only. " +
		"Set spec.article.source to Auto or Page, to have the linked page read."
}

// host returns the part of a URL that may be shown.
func host(raw string) string {
	parsed, err := url.Parse(raw)
	if err != nil {
		return "the linked address"
	}
	return parsed.Host
}
