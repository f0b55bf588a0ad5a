// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package article

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// maxBehindGate is how much ink there is at most in what a site puts below each of its pages. What is longer is an
// article, whatever notice it has.
const maxBehindGate = 4000

var (
	gateLine   = signs.Guard(regexp.MustCompile(`(?i)`+gateWords), gateSigns)
	loginTitle = regexp.MustCompile(`(?i)^(?:(?:member |subscriber )?(?:log ?in|sign ?in)|please (?:log|sign) ?in|(?:会員)?ログイン(?:ページ|画面)?|会員(?:の)?認証)$`)
	titleParts = regexp.MustCompile(`\s[-–—:|·»]\s|\s*[｜|]\s*`)
)

// gate is the notice of a page that does not show its article to everybody: to subscribe, or to log in. It stands in the page
// as that came, but not always in what is extracted: the search for the main text goes by length, and settles for the
// foot of the site where the article is not there.
type gate struct {
	// notice is what it says; empty where there is none.
	notice string
	// above are the lines of the page that stand before it.
	above map[string]bool
}

// findGate finds the first notice of a page, in what is shown of it. A page has often links and a form to log in, on top of it or
// beside the article. So a form counts only in one piece, and nothing counts by itself: see before.
func findGate(document *html.Node) gate {
	const fewest = 3 // lines of a form
	found := gate{above: map[string]bool{}}
	var form []string
	for line := range strings.Lines(render(withoutHidden(document))) {
		line = oneLine(line)
		unquoted := replaceQuoted(line, func(string) string { return "" })
		shown := signs.Find(strings.ToLower(unquoted))
		switch {
		case line == "":
			continue
		case len(line) <= 2*maxNavigationLine && gateLine.In(unquoted, shown):
			found.notice = line
			return found
		case loginWords.In(unquoted, shown):
			if form = append(form, line); len(form) == fewest {
				for _, part := range form {
					delete(found.above, part)
				}
				found.notice = strings.Join(form, "\n")
				return found
			}
		default:
			form = nil
		}
		found.above[line] = true
	}
	return gate{}
}

// withoutHidden returns a copy of what is shown of a page. A box that scripts open is not.
func withoutHidden(node *html.Node) *html.Node {
	shown := &html.Node{Type: node.Type, Data: node.Data, DataAtom: node.DataAtom}
	for child := range node.ChildNodes() {
		if child.Type == html.ElementNode && (isConcealed(child) || child.DataAtom == atom.Template ||
			child.DataAtom == atom.Dialog && !hasAttribute(child, "open")) {
			continue
		}
		shown.AppendChild(withoutHidden(child))
	}
	return shown
}

// before returns what of an extracted text is the article. Where a page has a notice, that is what stands above it, and the
// notice, unless what follows goes on with the article: then it is all of the text. What follows does so if it speaks of what the
// title says, or is too long to be anything else.
func (g gate) before(title, text string) string {
	if g.notice == "" {
		return text
	}
	headline, site := headlineOf(title)
	var above, below strings.Builder
	for line := range strings.Lines(text) {
		switch bare := strings.TrimSpace(line); {
		case g.above[bare]:
			above.WriteString(line)
		case bare != headline:
			below.WriteString(line)
		}
	}
	if ink(above.String()) > maxStub || ink(below.String()) > maxBehindGate {
		return text
	}
	isLogin := slices.ContainsFunc(titleParts.Split(title, -1), loginTitle.MatchString)
	if !isLogin && speaksOf(withoutLine(below.String(), g.notice), headline, site) {
		return text
	}
	return strings.TrimSpace(strings.TrimSpace(above.String()) + "\n\n" + g.notice)
}

// withoutLine returns a text without the lines of a notice.
func withoutLine(text, notice string) string {
	for line := range strings.Lines(notice) {
		text = strings.ReplaceAll(text, strings.TrimSpace(line), "")
	}
	return text
}

// headlineOf returns the longest part of a title. The others name the site.
func headlineOf(title string) (headline, site string) {
	parts := titleParts.Split(title, -1)
	for _, part := range parts {
		if ink(part) > ink(headline) {
			headline = part
		}
	}
	return headline, strings.Replace(title, headline, "", 1)
}

// speaksOf reports whether a text has some of the words of a headline, other than those of the site. Without such words nobody can say,
// and it does.
func speaksOf(text, headline, site string) bool {
	words, own := significant(headline), significant(site)
	maps.DeleteFunc(words, func(word string, _ bool) bool { return own[word] })
	text = strings.ToLower(text)
	found := 0
	for word := range words {
		if strings.Contains(text, word) {
			found++
		}
	}
	const some, of = 2, 5
	return found*of >= len(words)*some
}

// significant returns what of a headline tells it from others, in lower case: the stems of words of some length, and, where no
// spaces are between words, pairs of characters that are not kana of the grammar.
func significant(headline string) map[string]bool {
	const shortest, ending = 4, 2
	words := map[string]bool{}
	for _, word := range strings.FieldsFunc(strings.ToLower(headline), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		letters := []rune(word)
		if !strings.ContainsFunc(word, isWide) {
			if len(letters) >= shortest {
				words[string(letters[:max(shortest, len(letters)-ending)])] = true
			}
			continue
		}
		for at := 1; at < len(letters); at++ {
			if !unicode.Is(unicode.Hiragana, letters[at-1]) && !unicode.Is(unicode.Hiragana, letters[at]) {
				words[string(letters[at-1:at+1])] = true
			}
		}
	}
	return words
}
