// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/feed-operator/feed-operator/internal/prose"
)

// part of a prompt that somebody else wrote.
type part struct{ name, text string }

// fenced puts the part between two lines that it cannot hold itself.
func fenced(p part, mark string) string {
	return fmt.Sprintf("[BEGIN %s %s]\n%s\n[END %s %s]", p.name, mark, p.text, p.name, mark)
}

// boundary returns 32 hexadecimal digits that are in none of the parts. They are the hash of all
// parts, so that the same request has the same prompt; to write them into an article, one would have
// to find a text that holds its own hash.
func boundary(parts []part) string {
	hash := sha256.New()
	for _, part := range parts {
		_, _ = fmt.Fprintf(hash, "%s %d\n%s\n", part.name, len(part.text), part.text)
	}
	for {
		mark := hex.EncodeToString(hash.Sum(nil)[:16])
		if !holds(parts, mark) {
			return mark
		}
		_, _ = hash.Write([]byte(mark))
	}
}

func holds(parts []part, mark string) bool {
	for _, part := range parts {
		if strings.Contains(strings.ToLower(part.text), mark) {
			return true
		}
	}
	return false
}

// boundText cuts a text to at most limit runes, at the end of a sentence where there is one.
func boundText(text string, limit int) string {
	const lookahead = 1_000 // to see where the last sentence ends
	return prose.CutBy(firstRunes(text, limit+lookahead), limit, utf8.RuneCountInString)
}

func firstRunes(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	count := 0
	for i := range text {
		if count == limit {
			return text[:i]
		}
		count++
	}
	return text
}

// oneLine puts text on one line with single spaces.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
