// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"path"
	"strings"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/article"
	"github.com/feed-operator/feed-operator/internal/outbound"
	"github.com/feed-operator/feed-operator/internal/prose"
	"github.com/feed-operator/feed-operator/internal/provider"
	"github.com/feed-operator/feed-operator/internal/provider/extractive"
)

// budget is how long both may be, in characters: what a FeedSource allows unless it says otherwise.
const budget = v1alpha1.DefaultMaxCharacters

//go:embed pages
var pages embed.FS

// pair is what became of a page in the two ways.
type pair struct {
	name, title   string
	lead, summary string
}

// hash tells a pair from others.
func (p pair) hash() string {
	sum := sha256.Sum256([]byte(p.lead + "\x00" + p.summary))
	return hex.EncodeToString(sum[:6])
}

// compare sends every page the whole way that an entry goes: it is downloaded, its text is found, and that is
// summarized. The pairs are in the order of their names.
func compare(ctx context.Context) ([]pair, error) {
	folder, err := fs.Sub(pages, "pages")
	if err != nil {
		return nil, err
	}
	server := httptest.NewServer(http.FileServerFS(folder))
	defer server.Close()
	fetcher := article.NewFetcher(outbound.New(outbound.Config{AllowCIDRs: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}))
	files, err := fs.Glob(folder, "*.html")
	if err != nil {
		return nil, err
	}
	pairs := make([]pair, 0, len(files))
	for _, file := range files {
		found, err := fetcher.Fetch(ctx, article.Request{URL: server.URL + "/" + file, Source: v1alpha1.ArticleSourcePage})
		if err != nil {
			return nil, fmt.Errorf("read the page %s: %w", file, err)
		}
		response, err := extractive.New().Generate(ctx, provider.Request{Title: found.Title, Text: found.Text, MaxCharacters: budget})
		if err != nil {
			return nil, fmt.Errorf("summarize the page %s: %w", file, err)
		}
		name := strings.TrimSuffix(file, path.Ext(file))
		pairs = append(pairs, pair{name, found.Title, lead(found.Text, language(name)), response.Summary})
	}
	return pairs, nil
}

// language of a page: its name begins with it.
func language(name string) string { return name[:2] }

// lead is what a summary has to beat: the first three sentences of the text, cut where they are too long. Headings,
// dates and bylines are no sentences, so it has less to suffer from than what is usually called by this name.
func lead(text, language string) string {
	const count = 3
	space := " "
	if language == "ja" {
		space = ""
	}
	var found []string
	for block := range strings.Lines(text) {
		block = strings.TrimPrefix(block, "Caption: ") // that it is marked is not held against it
		for _, sentence := range prose.Sentences(block, language) {
			if prose.EndsSentence(sentence) && len(found) < count {
				found = append(found, sentence)
			}
		}
	}
	return prose.Cut(strings.Join(found, space), budget)
}
