// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package opml

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/feed-operator/feed-operator/internal/feed"
)

const (
	// longestName leaves room for a suffix in a label, which has 63 characters.
	longestName = 50
	// leastName is as short as a name may be that is made of a title.
	leastName = 3
	// leastOf a title must be in letters that a name can have, in percent: of 国土交通省 RSS, "rss" would be left.
	leastOf = 60
)

// spelled are letters that do not fall apart into a plain one and an accent.
var spelled = strings.NewReplacer("ß", "ss", "ø", "o", "æ", "ae", "œ", "oe", "ł", "l", "đ", "d", "ð", "d", "þ", "th", "ı", "i",
	"ä", "ae", "ö", "oe", "ü", "ue")

// Name makes the name of a FeedSource out of the title of a feed or, where that has too few Latin letters,
// out of its URL. The same arguments always give the same name.
func Name(title, address string) string {
	if name, whole := slug(title); whole && len(name) >= leastName && strings.ContainsFunc(name, unicode.IsLetter) {
		return name
	}
	if parsed, err := url.Parse(address); err == nil {
		path := strings.FieldsFunc(parsed.Path, func(r rune) bool { return r == '/' || r == '.' })
		words := []string{strings.TrimPrefix(parsed.Hostname(), "www.")}
		for _, word := range path {
			switch strings.ToLower(word) {
			case "index", "feed", "feeds", "rss", "rdf", "atom", "xml", "json", "php", "html":
			default:
				words = append(words, word)
			}
		}
		if name, _ := slug(strings.Join(words, " ")); len(name) >= leastName {
			return name
		}
	}
	return "feed-" + shortHash(address)
}

// slug makes a name of words, and reports whether most of their letters are in it.
func slug(words string) (name string, whole bool) {
	words = norm.NFKD.String(spelled.Replace(norm.NFC.String(strings.ToLower(words))))
	var out strings.Builder
	letters, kept, gap := 0, 0, false
	for _, r := range words {
		plain := r >= 'a' && r <= 'z' || r >= '0' && r <= '9'
		switch {
		case unicode.Is(unicode.M, r), r == '\'', r == '’':
			continue
		case plain:
			if gap && out.Len() > 0 {
				out.WriteByte('-')
			}
			out.WriteRune(r)
			gap = false
			letters++
			kept++
		default:
			if unicode.IsLetter(r) || unicode.IsDigit(r) {
				letters++
			}
			gap = true
		}
	}
	name = out.String()
	if len(name) > longestName {
		cut := strings.LastIndexByte(name[:longestName+1], '-')
		if cut < longestName/2 {
			cut = longestName
		}
		name = name[:cut]
	}
	return strings.Trim(name, "-"), kept*100 >= letters*leastOf
}

// unique returns the name for a feed, with a suffix that follows from its URL where another has the name.
func unique(name, address string, taken func(string) bool) string {
	if !taken(name) {
		return name
	}
	hash := shortHash(address)
	for length := 6; length < len(hash); length++ {
		if other := name + "-" + hash[:length]; !taken(other) {
			return other
		}
	}
	return name + "-" + hash
}

// shortHash stands for a feed, by the form in which two of its URLs are equal.
func shortHash(address string) string {
	sum := sha256.Sum256([]byte(feed.CanonicalURL(address)))
	return hex.EncodeToString(sum[:])[:12]
}
