// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package pdftext

import (
	"regexp"
	"slices"
	"strings"
)

// pageNumber finds lines that are nothing else.
var pageNumber = regexp.MustCompile(`(?i)^(?:[-–—‐－~〜\s]*|p(?:age|\.)?\s*|第\s*)[0-9０-９ivx]{1,4}(?:\s*(?:/|of|／)\s*[0-9０-９]{1,4})?(?:[-–—‐－~〜\s]*|\s*(?:ページ|頁))$`)

var digits = regexp.MustCompile("[0-9０-９]+")

const (
	// rim is how many lines at either end of a page may be a head or a foot.
	rim = 2
	// minRepeated is on how many pages a head or a foot stands at least.
	minRepeated = 3
)

// withoutFurniture drops page numbers, and the heads and feet that most pages have.
func withoutFurniture(pages [][]line) {
	count := map[string]int{}
	for _, lines := range pages {
		seen := map[string]bool{}
		for i, l := range lines {
			if key := digits.ReplaceAllString(l.text, "#"); isRim(i, lines) && !seen[key] {
				seen[key] = true
				count[key]++
			}
		}
	}
	for i, lines := range pages {
		drop := make([]bool, len(lines))
		for j, l := range lines {
			if isRim(j, lines) {
				often := count[digits.ReplaceAllString(l.text, "#")]
				drop[j] = pageNumber.MatchString(strings.TrimSpace(l.text)) || often >= minRepeated && often*2 > len(pages)
			}
		}
		kept := lines[:0]
		for j, l := range lines {
			if !drop[j] {
				kept = append(kept, l)
			}
		}
		pages[i] = kept
	}
}

func isRim(i int, lines []line) bool { return i < rim || i >= len(lines)-rim }

// withoutArtifacts drops what the document says is none of its text, unless that would be all of it.
func withoutArtifacts(pages [][]chunk) {
	inText := func(c chunk) bool { return !c.artifact && strings.TrimSpace(c.text) != "" }
	if !slices.ContainsFunc(pages, func(chunks []chunk) bool { return slices.ContainsFunc(chunks, inText) }) {
		return
	}
	for i, chunks := range pages {
		pages[i] = slices.DeleteFunc(chunks, func(c chunk) bool { return c.artifact })
	}
}
