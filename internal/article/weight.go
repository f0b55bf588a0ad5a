// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package article

import "bytes"

// What it takes to read a page, in bytes beside its body. They are measured by TestWhatReadingAPageTakes; where they
// would be much more for a page made to hurt, what the page may become is bounded instead.
const (
	// A page that is not UTF-8 is tried in several charsets.
	copiesOfPage, copiesOfOthers = 5, 15
	// A node of the tree, and what the search for the main text notes of it; and an attribute.
	eachTag, eachAttribute = 1 << 10, 300
	// What the tokenizer notes of an attribute, before there is a tree.
	eachSpan = 80
	// Lines are taken apart, and their sentences.
	copiesOfText = 12
	smallest     = 256 << 10
)

// weigh returns how much memory it takes to read a body, in bytes beside it.
func weigh(contentType string, body []byte) int64 {
	switch kind, _ := kindOf(body, contentType); kind {
	case kindHTML:
		body = beginning(body)
		copies := int64(copiesOfPage)
		if !isUTF8(body) {
			copies = copiesOfOthers
		}
		tags := min(bytes.Count(body, []byte("<")), maxTags)
		spaces := separators(body)
		tree := tags*eachTag + min(spaces, maxSeparators)*eachAttribute
		return smallest + copies*int64(len(body)) + int64(max(tree, spaces*eachSpan))
	case kindText:
		return smallest + copiesOfText*int64(min(len(body), maxText))
	case kindPDF, kindOther: // nothing is done with it here
	}
	return 0
}

// Weight is how much memory an article takes until it is used, in bytes. A document is sent to a provider as
// base64 within JSON, of which some copies are made.
func (a Article) Weight() int64 {
	const copiesOfDocument = 4
	weight := len(a.Title) + len(a.Text) + copiesOfDocument*len(a.Document)
	if a.Image != nil {
		weight += len(a.Image.URL) + len(a.Image.Description)
	}
	return int64(weight)
}
