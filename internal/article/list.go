// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package article

import (
	"regexp"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

var (
	// elsewhere is what a site says above links to other articles.
	elsewhere = regexp.MustCompile(`(?i)(?:read|see|learn|find out) (?:more|also|next)|more (?:on|from|about|stories|news)|related|recommended|most (?:read|popular)|you (?:may|might) (?:also )?like|` +
		`see also|tags?\s*[:：]?$|topics\s*[:：]?$|関連|おすすめ|あわせて読|併せて読|もっと(?:読|見)|こちらも|人気(?:の)?記事|ランキング|タグ`)
	elsewhereName = regexp.MustCompile(`(?i)related|recommend|more|popular|tag|share|social|sidebar|widget|promo|teaser|toc`)
)

// isListOfArticle reports whether a list of links is a part of an article: a sentence announces it, or it stands between
// two paragraphs. Lists of tags, of other articles and of the chapters of a page are none.
func isListOfArticle(list *html.Node) bool {
	if list.DataAtom != atom.Ul && list.DataAtom != atom.Ol || !leadsOut(list) {
		return false
	}
	for _, node := range []*html.Node{list, list.Parent} {
		for _, attribute := range node.Attr {
			if (attribute.Key == "class" || attribute.Key == "id") && elsewhereName.MatchString(attribute.Val) {
				return false
			}
		}
	}
	above := neighbour(list, func(node *html.Node) *html.Node { return node.PrevSibling })
	below := neighbour(list, func(node *html.Node) *html.Node { return node.NextSibling })
	if above == nil || above.DataAtom != atom.P {
		return false
	}
	said := strings.TrimSpace(render(above))
	switch {
	case elsewhere.MatchString(said) && ink(said) < maxNavigationLine:
		return false
	case strings.HasSuffix(said, ":") || strings.HasSuffix(said, "："):
		return true
	}
	return endsSentence(said) && below != nil && below.DataAtom == atom.P && endsSentence(render(below))
}

// neighbour returns the element that comes next in a direction; nil where there is none, or text comes before it.
func neighbour(node *html.Node, next func(*html.Node) *html.Node) *html.Node {
	for node = next(node); node != nil; node = next(node) {
		switch {
		case node.Type == html.ElementNode:
			return node
		case node.Type == html.TextNode && countVisible(node.Data) > 0:
			return nil
		}
	}
	return nil
}

// leadsOut reports whether a list has a link that is neither a tag nor leads to a place on the same page.
func leadsOut(list *html.Node) bool {
	for node := range list.Descendants() {
		if node.DataAtom != atom.A {
			continue
		}
		inside := false
		for _, attribute := range node.Attr {
			inside = inside || attribute.Key == "rel" && strings.Contains(strings.ToLower(attribute.Val), "tag") ||
				attribute.Key == "href" && strings.HasPrefix(attribute.Val, "#")
		}
		if !inside {
			return true
		}
	}
	return false
}

// unwrap puts a sample of code, or a list, in the place of a block that holds nothing else: the search for the main text drops
// short blocks, whatever is in them. A block with a name may be anything, and keeps its lists.
// Only is the child that has all of its text, if there is one. It returns what stands in the place of the block then.
func unwrap(block, only *html.Node) *html.Node {
	if only == nil || block.DataAtom != atom.Div && block.DataAtom != atom.Figure {
		return block
	}
	if only.DataAtom != atom.Pre && (len(block.Attr) > 0 || only.DataAtom != atom.Ul && only.DataAtom != atom.Ol) {
		return block
	}
	block.RemoveChild(only)
	block.Parent.InsertBefore(only, block)
	block.Parent.RemoveChild(block)
	return only
}
