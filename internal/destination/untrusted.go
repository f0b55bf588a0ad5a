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

// Text of feeds and models must not ping anybody, link anywhere, be found under a hashtag, hide
// anything, or change the direction of what stands around it. Right-to-left text needs nothing for that: each paragraph of
// a post finds its own direction by its first letter.

// maxCluster is more bytes than any character that people write needs. Without a bound, one
// "character" could be megabytes of accents.
const maxCluster = 64

const (
	atSigns   = "@＠﹫"
	hashSigns = "#＃﹟"
	signs     = atSigns + hashSigns
)

const (
	linkStart = `(?:[a-z0-9+.-]*://|\bwww\.|(?:\b|_)(?:mailto|xmpp|magnet):)`
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
	return unlinked(oneLine(harmless(text, limit)))
}

// PlainText does the same, and keeps lines and paragraphs.
func PlainText(text string, limit int) string {
	text = harmless(text, limit)
	if strings.Contains(text, "  ") || strings.ContainsFunc(text, isOtherSpace) {
		text = spaces.ReplaceAllString(text, " ")
	}
	if strings.Contains(text, "\n") {
		text = emptyLines.ReplaceAllString(text, "\n\n")
	}
	text = strings.ReplaceAll(strings.ReplaceAll(text, " \n", "\n"), "\n ", "\n")
	return unlinked(strings.TrimSpace(text))
}

// isOtherSpace reports whether spaces are to become plain ones.
func isOtherSpace(r rune) bool { return r == '\t' || r > ' ' && unicode.In(r, unicode.Z) }

// oneLine puts text on one line with single spaces.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// Legible makes of outside text, of at most limit code points, one that says what it shows: without control characters but for the
// ends of lines, and without what hides text or changes its direction. Mentions, hashtags and links stay.
func Legible(text string, limit int) string {
	count := 0
	for i := range text {
		if count == limit {
			text = text[:i]
			break
		}
		count++
	}
	return strings.TrimSpace(visible(printable(text)))
}

// LegibleLine does the same, and puts it on one line.
func LegibleLine(text string, limit int) string { return oneLine(Legible(text, limit)) }

// CutPlain shortens a plain text as prose.CutBy does, and what is left of a name where it was cut is no link either.
func CutPlain(text string, room int, measure func(string) int) string {
	if measure(text) <= room {
		return text
	}
	return unlinkedEnd(prose.CutBy(text, min(room, max(room-1, 1)), measure)) // room for what parts a domain
}

func harmless(text string, limit int) string {
	text = Legible(text, limit)
	// What is taken out may bring together what must go as well.
	for range 3 {
		before := text
		if text = withoutLinks(withoutSigns(text)); text == before {
			break
		}
	}
	return withoutSigns(text)
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

// withoutSigns removes the @ of everything that a server may take for a mention, and the # of what it may
// take for a hashtag. Servers differ in what they let stand before them; an address like
// name@example.com is none for any of them, nor is C#, nor a number such as #1.
func withoutSigns(text string) string {
	if !strings.ContainsAny(text, signs) {
		return text
	}
	var out joined
	for cluster := graphemes.FromString(text); cluster.Next(); {
		value := cluster.Value()
		if strings.ContainsAny(value, signs) {
			sign, size := utf8.DecodeRuneInString(value)
			last, _ := utf8.DecodeLastRuneInString(out.String())
			if size != len(value) || !isPlain(sign, last <= unicode.MaxASCII && isWord(last), text[cluster.End():]) {
				out.skip()
				continue
			}
		}
		out.add(value)
	}
	return out.String()
}

// isPlain reports for a sign that it begins neither a mention nor a hashtag. afterWord says that it follows a
// word of ASCII, and rest is what follows it.
func isPlain(sign rune, afterWord bool, rest string) bool {
	next, _ := utf8.DecodeRuneInString(rest)
	switch {
	case strings.ContainsRune(hashSigns, sign):
		return afterWord || rest != "" && !strings.ContainsRune(signs, next) && !beginsHashtag(rest)
	case strings.ContainsRune(atSigns, sign):
		return afterWord && isWord(next) || rest != "" && !isWord(next) && !strings.ContainsRune(signs, next)
	}
	return false
}

// beginsHashtag reports whether a text begins with the name of a hashtag: digits alone are none
// (https://github.com/mastodon/mastodon/blob/main/app/models/tag.rb).
func beginsHashtag(text string) bool {
	for _, r := range text {
		switch {
		case !isWord(r) && !strings.ContainsRune("·・‧", r):
			return false
		case !unicode.Is(unicode.Nd, r):
			return true
		}
	}
	return false
}

// joined puts together the characters that are kept of a text.
type joined struct {
	strings.Builder
	last string
	gap  bool
}

// skip reports that something was left out.
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
