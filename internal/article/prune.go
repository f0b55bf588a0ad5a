// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package article

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// neverText are elements that hold no text of an article.
var neverText = map[atom.Atom]bool{
	atom.Applet: true, atom.Aside: true, atom.Audio: true, atom.Button: true, atom.Canvas: true, atom.Datalist: true,
	atom.Dialog: true, atom.Menu: true, atom.Object: true, atom.Select: true, atom.Svg: true,
	atom.Template: true, atom.Video: true,
}

// neverTextRoles are what elements say of themselves (WAI-ARIA) that hold no text of an article.
var neverTextRoles = map[string]bool{
	"alertdialog": true, "banner": true, "complementary": true, "contentinfo": true, "dialog": true, "menu": true,
	"menubar": true, "navigation": true, "search": true, "toolbar": true,
}

var (
	// Names are compared as a whole, without hyphens and underscores.
	navigationName = regexp.MustCompile(`^(?:(?:m|l|c|p|js|site|page|global|main|sub|side|local|header|footer|head|foot|g|h|f)?(?:nav|navi|navigation|menu)(?:bar|list|box|area|wrap|wrapper)?` +
		`|(?:bread)?crumbs?(?:list|nav|area|wrap|box)?|breadcrumb.*|topicspath|topicpath|pankuzu(?:list)?|skip(?:link|nav|tocontent)?s?` +
		`|(?:sns|share)s?|(?:sns|share|social)(?:area|box|bar|btns?|buttons?|icons|links|list|media|share)|sharedaddy` +
		`|(?:page|back|go|return)?to(?:page)?top|pagetop(?:link)?|cookies?` +
		`|cookies?(?:law|banner|consent|notice|bar|policy|popup|modal|message|warning|alert|overlay|wall)\w*|cc(?:window|banner)` +
		`|(?:onetrust|cybotcookiebot|didomi|usercentrics|truste|qccmp|gdpr|consent)\w*|copyrights?)$`)
	// Heads and feet of a site.
	frameName = regexp.MustCompile(`^(?:(?:site|page|global|main|g|l|common)?(?:header|footer|foot)(?:area|wrap|wrapper|inner|container)?)$`)
	// captionName is what sites call a caption that is none by its element.
	captionName = regexp.MustCompile(`^(?:(?:photo|image|img|figure|fig|media|pic|picture)?captions?|(?:wp|photo|image|img|figure|media|pic|picture)captiontext|captiontext|cutline)$`)
	displayNone = regexp.MustCompile(`(?i)(?:display\s*:\s*none|visibility\s*:\s*hidden)`)
)

// tooMuchAround is how many characters beside links make a block more than what is around an
// article, whatever its name: some sites put all of an article into their "header".
const tooMuchAround = 1000

// measure is what is known of the text below a node.
type measure struct {
	text, linked, links int
	// only is the child that has all of it; nil where there is none, or there are several or a text.
	only *html.Node
}

// prune removes from the tree what is around an article: navigation, heads and feet of the site,
// hidden things, and blocks of links. It does so before the article is looked for, because on a page
// with little text the search would settle for them. It looks at each node once.
func prune(root *html.Node) { pruneChildren(root, false, false) }

func pruneChildren(parent *html.Node, inArticle, inLink bool) measure {
	var sum measure
	pieces := 0
	for child := parent.FirstChild; child != nil; {
		next := child.NextSibling
		switch child.Type {
		case html.TextNode:
			letters := countVisible(child.Data)
			sum.text += letters
			if inLink {
				sum.linked += letters
			}
			if letters > 0 {
				sum.only = nil
				pieces++
			}
		case html.ElementNode:
			if isHidden(child) {
				parent.RemoveChild(child)
				break
			}
			within := inArticle || child.DataAtom == atom.Article || child.DataAtom == atom.Main
			below := pruneChildren(child, within, inLink || child.DataAtom == atom.A)
			if isAround(child, inArticle) && below.text-below.linked < tooMuchAround {
				parent.RemoveChild(child)
				break
			}
			if isLinkBlock(child, below) {
				if !isListOfArticle(child) {
					parent.RemoveChild(child)
					break
				}
				below.linked, below.links = 0, 0 // they are no reason to remove what they stand in
			}
			if isCaption(child) && below.text <= longestCaption {
				child.Data, child.DataAtom = atom.Figcaption.String(), atom.Figcaption
			}
			if shown := unwrap(child, below.only); below.text > 0 {
				if pieces++; pieces == 1 {
					sum.only = shown
				} else {
					sum.only = nil
				}
			}
			if child.DataAtom == atom.A {
				below.links++
			}
			sum.text += below.text
			sum.linked += below.linked
			sum.links += below.links
		default:
		}
		child = next
	}
	return sum
}

// isHidden reports whether an element is not shown, or is of a sort that holds no text of an article.
func isHidden(node *html.Node) bool {
	return neverText[node.DataAtom] || isConcealed(node)
}

// isConcealed reports whether an element is not shown, by what it says of itself.
func isConcealed(node *html.Node) bool {
	return slices.ContainsFunc(node.Attr, func(attribute html.Attribute) bool {
		return attribute.Key == "hidden" || attribute.Key == "style" && displayNone.MatchString(attribute.Val)
	})
}

func hasAttribute(node *html.Node, name string) bool {
	return slices.ContainsFunc(node.Attr, func(attribute html.Attribute) bool { return attribute.Key == name })
}

// isAround reports whether an element is around an article, by what it says of itself. Heads and feet
// within an article are its own.
func isAround(node *html.Node, inArticle bool) bool {
	switch node.DataAtom {
	case atom.Nav:
		return true
	case atom.Header, atom.Footer:
		return !inArticle
	case atom.Html, atom.Body, atom.Article, atom.Main:
		return false
	}
	for _, attribute := range node.Attr {
		switch attribute.Key {
		case "role":
			if neverTextRoles[strings.ToLower(attribute.Val)] {
				return true
			}
		case "id", "class":
			for name := range strings.FieldsSeq(attribute.Val) {
				name = strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(name))
				if navigationName.MatchString(name) || !inArticle && frameName.MatchString(name) {
					return true
				}
			}
		}
	}
	return false
}

// longestCaption is in characters. What is longer is an article, whatever its block is called.
const longestCaption = 400

// isCaption reports whether an element is a caption by its name.
func isCaption(node *html.Node) bool {
	if node.DataAtom != atom.P && node.DataAtom != atom.Div && node.DataAtom != atom.Span && node.DataAtom != atom.Dd {
		return false
	}
	for _, attribute := range node.Attr {
		if attribute.Key != "class" {
			continue
		}
		for name := range strings.FieldsSeq(attribute.Val) {
			if captionName.MatchString(strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(name))) {
				return true
			}
		}
	}
	return false
}

// isLinkBlock reports whether a block is a list of links and little else.
func isLinkBlock(node *html.Node, m measure) bool {
	switch node.DataAtom {
	case atom.Ul, atom.Ol, atom.Dl, atom.Div, atom.P, atom.Section, atom.Table, atom.Td:
		return m.links >= 3 && m.linked*10 >= m.text*9
	default:
		return false
	}
}

// countVisible counts the characters that leave ink.
func countVisible(text string) int {
	count := 0
	for _, r := range text {
		if !unicode.IsSpace(r) {
			count++
		}
	}
	return count
}
