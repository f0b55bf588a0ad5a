// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package destination

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/feed-operator/feed-operator/internal/prose"
)

// Hashtags are which hashtags a post has.
type Hashtags struct {
	// FromCategories makes hashtags of the item's categories.
	FromCategories bool
	// Always are hashtags of every post, with or without the # sign. They come first.
	Always []string
	// Max is how many there are at most. 0 = 5.
	Max int
}

const (
	defaultMaxHashtags = 5
	// longestHashtag is in characters. What is longer is a sentence.
	longestHashtag = 40
)

// of returns the hashtags of an item, each with its # sign, none twice.
func (h Hashtags) of(categories []string) []string {
	most := h.Max
	if most <= 0 {
		most = defaultMaxHashtags
	}
	names := h.Always
	if h.FromCategories {
		names = append(slices.Clip(names), categories...)
	}
	var out []string
	seen := map[string]bool{}
	for _, name := range names {
		tag := hashtag(name)
		key := strings.ToLower(tag)
		if tag == "" || seen[key] {
			continue
		}
		if len(out) == most {
			break
		}
		seen[key] = true
		out = append(out, "#"+tag)
	}
	return out
}

// hashtag makes the name of a hashtag, without #, out of a few words: "supply chain" becomes
// SupplyChain. It has letters, digits and underscores alone, which is what all servers take. It is
// empty where that would say nothing, or something else: for "2026", "C++", or a whole sentence.
func hashtag(words string) string {
	words = norm.NFKC.String(plainLine(words, maxName))
	words = strings.NewReplacer("'", "", "’", "").Replace(words)
	parts := strings.FieldsFunc(words, func(r rune) bool { return !isWord(r) })
	if len(parts) > 1 {
		for i, part := range parts {
			parts[i] = capitalized(part)
		}
	}
	tag := strings.Join(parts, "")
	tag = strings.TrimLeftFunc(tag, func(r rune) bool { return unicode.Is(unicode.M, r) })
	count := prose.Count(tag)
	first, _ := utf8.DecodeRuneInString(tag)
	if !strings.ContainsFunc(tag, unicode.IsLetter) || count > longestHashtag || count < 2 && !prose.IsCJK(first) {
		return ""
	}
	return tag
}

// isWord reports whether a character is part of a word: letters, their accents, digits, underscores.
func isWord(r rune) bool {
	return r == '_' || unicode.In(r, unicode.L, unicode.M, unicode.Nd)
}

// capitalized begins a word with a capital, except where it has its own, like "iOS".
func capitalized(word string) string {
	if strings.ContainsFunc(word, unicode.IsUpper) {
		return word
	}
	first, size := utf8.DecodeRuneInString(word)
	return string(unicode.ToTitle(first)) + word[size:]
}
