// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package article

import (
	"net/url"
	"runtime/debug"
	"strings"

	"codeberg.org/readeck/go-readability/v2"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/feed-operator/feed-operator/internal/failure"
)

// enoughMainText is the length, in characters, of a text that the search for the main text is
// content with. The library's own is 500, which the same news in Japanese does not reach.
const enoughMainText = 200

// maxSearchedDepth is how deep a page may be nested for the search, which reads the text below each
// element again for each of its ancestors. Pages that people write have some thirty levels.
const maxSearchedDepth = 120

// anywhere stands for the address of the page: links are not kept, so theirs do not matter.
var anywhere = &url.URL{Scheme: "https", Host: "page.invalid", Path: "/"}

// extract returns the title and the readable text of an HTML page; both may be empty. A page that
// makes a library panic is a failure of the type failure.TypePanic.
func extract(page string) (title, text string, err error) {
	defer func() {
		if value := recover(); value != nil {
			title, text, err = "", "", failure.Panicked(value, debug.Stack())
		}
	}()
	document, err := html.Parse(strings.NewReader(slim(page)))
	if err != nil {
		// Nested deeper than the parser goes. Nobody reads that.
		return "", "", nil
	}
	notice := findGate(document)
	prune(document)

	if isShallow(document, maxSearchedDepth) {
		parser := readability.NewParser()
		parser.CharThresholds = enoughMainText
		parser.DisableJSONLD = true
		found, err := parser.ParseDocument(document, anywhere)
		if err == nil && found.Node != nil {
			title, text = found.Title(), withoutNavigation(render(found.Node))
		}
	}
	if !isArticle(text) {
		// A page of a few lines has no main part that stands out.
		text = withoutNavigation(render(document))
	}
	whole := documentTitle(document) // the search may have left the name of the site out
	if title == "" {
		title = whole
	}
	return oneLine(title), notice.before(oneLine(whole), text), nil
}

// isShallow reports whether a tree is at most so many levels deep.
func isShallow(node *html.Node, levels int) bool {
	for child := range node.ChildNodes() {
		if levels == 0 || !isShallow(child, levels-1) {
			return false
		}
	}
	return true
}

// documentTitle returns the text of the first title element.
func documentTitle(document *html.Node) string {
	for node := range document.Descendants() {
		if node.DataAtom == atom.Title && node.FirstChild != nil {
			return node.FirstChild.Data
		}
	}
	return ""
}
