// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package destination

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"

	"github.com/feed-operator/feed-operator/internal/prose"
)

// Text of feeds and models must not ping anybody, link anywhere, hide anything, or change the
// direction of what stands around it. Right-to-left text needs nothing for that: each paragraph of
// a post finds its own direction by its first letter.

// maxCluster is more bytes than any character that people write needs. Without a bound, one
// "character" could be megabytes of accents.
const maxCluster = 64

const atSigns = "@＠﹫"

const (
	linkStart = `(?:[a-z0-9+.-]*://|\bwww\.|\b(?:mailto|xmpp|magnet):)`
	linkRest  = `[!-~]*[\pM\x{200c}\x{200d}]*` // an accent goes with its letter
	sentence  = `.!?。！？\n`
)

var (
	foreignLink = regexp.MustCompile(`(?i)[^\S\n]*` + linkStart + linkRest)
	// bracketedLink leaves nothing to read in its brackets: "(see https://…)".
	bracketedLink = regexp.MustCompile(`(?i)\s*[(\[<（［【][^()\[\]<>（）［］【】\n]{0,30}` + linkStart + `[^\s()\[\]<>（）［］【】]*\s*[)\]>）］】]\pM*`)
	// labelledLink is a sentence that only introduces a link: "Details: https://…".
	labelledLink = regexp.MustCompile(`(?i)(^|[` + sentence + `])[^` + sentence + `]{1,40}[:：]\s*` + linkStart + linkRest + `(?:\.\s|。\pM*|\s*\n|\s*$)`)
	spaces       = regexp.MustCompile(`[\t\pZ]+`)
	emptyLines   = regexp.MustCompile(`\s*\n\s*\n\s*`)
)

// plainLine makes outside text a line that is safe to show, of at most limit code points.
func plainLine(text string, limit int) string {
	return oneLine(harmless(text, limit))
}

// plainText does the same, and keeps lines and paragraphs.
func plainText(text string, limit int) string {
	text = spaces.ReplaceAllString(harmless(text, limit), " ")
	text = emptyLines.ReplaceAllString(text, "\n\n")
	text = strings.ReplaceAll(strings.ReplaceAll(text, " \n", "\n"), "\n ", "\n")
	return strings.TrimSpace(text)
}

// oneLine puts text on one line with single spaces.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

func harmless(text string, limit int) string {
	count := 0
	for i := range text {
		if count == limit {
			text = text[:i]
			break
		}
		count++
	}
	text = visible(printable(text))
	// What is taken out may bring together what must go as well.
	for range 3 {
		before := text
		if text = withoutLinks(withoutMentions(text)); text == before {
			break
		}
	}
	return withoutMentions(text)
}

// printable removes control characters, and what is no character at all.
func printable(text string) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, ""), "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case strings.ContainsRune("\n\r\v\f\u0085\u2028\u2029", r):
			return '\n'
		case r == '\t':
			return ' '
		case unicode.Is(unicode.Cc, r):
			return -1
		}
		return r
	}, text)
}

// withoutLinks removes links, with what only introduces or surrounds them, but not the full stop
// after one.
func withoutLinks(text string) string {
	if !foreignLink.MatchString(text) {
		return text
	}
	text = labelledLink.ReplaceAllStringFunc(text, func(found string) string {
		first, size := utf8.DecodeRuneInString(found)
		if !strings.ContainsRune(".!?。！？\n", first) {
			size = 0
		}
		if strings.HasSuffix(found, "\n") {
			return found[:size] + "\n"
		}
		return found[:size] + " "
	})
	return withoutMatches(withoutMatches(text, bracketedLink), foreignLink)
}

// withoutMatches leaves a space for a link, where the script has any between words.
func withoutMatches(text string, links *regexp.Regexp) string {
	var out strings.Builder
	end := 0
	for _, found := range links.FindAllStringIndex(text, -1) {
		out.WriteString(text[end:found[0]])
		match := text[found[0]:found[1]]
		end = found[1]
		if links == foreignLink {
			end -= len(match) - len(strings.TrimRight(match, `.,;!?)]}>'"`))
		}
		last, _ := utf8.DecodeLastRuneInString(text[:found[0]])
		next, _ := utf8.DecodeRuneInString(text[end:])
		if end == found[1] && !strings.ContainsRune(".,;:!?)", next) && !(prose.IsWide(last) && prose.IsWide(next)) {
			out.WriteByte(' ')
		}
	}
	return out.String() + text[end:]
}

// withoutMentions removes the @ of everything that a server may take for a mention. Servers differ
// in what they let stand before it; an address like name@example.com is none for any of them.
func withoutMentions(text string) string {
	if !strings.ContainsAny(text, atSigns) {
		return text
	}
	var out joined
	for cluster := graphemes.FromString(text); cluster.Next(); {
		value := cluster.Value()
		if strings.ContainsAny(value, atSigns) {
			first, size := utf8.DecodeRuneInString(value)
			next, _ := utf8.DecodeRuneInString(text[cluster.End():])
			last, _ := utf8.DecodeLastRuneInString(out.String())
			address := last <= unicode.MaxASCII && isWord(last) && isWord(next)
			alone := next != utf8.RuneError && !isWord(next) && !strings.ContainsRune(atSigns, next)
			if size != len(value) || !strings.ContainsRune(atSigns, first) || !address && !alone {
				out.skip()
				continue
			}
		}
		out.add(value)
	}
	return out.String()
}

// joined puts together the characters that are kept of a text.
type joined struct {
	strings.Builder
	last string
	gap  bool
}

// skip says that something was left out.
func (j *joined) skip() { j.gap = true }

// add appends a character, after a space if it would merge with one that was not its neighbour:
// two halves of flags make a third.
func (j *joined) add(character string) {
	if j.gap && j.last != "" && prose.Count(j.last+character) < 2 {
		j.WriteByte(' ')
	}
	j.gap, j.last = false, character
	j.WriteString(character)
}
