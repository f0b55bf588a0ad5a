// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package prose knows what text that was written for people consists of: characters as a reader
// counts them, sentences, the words that carry no meaning; and where such a text may be cut.
//
// It is pure. It knows nothing of feeds, of markup, or of where a text goes.
package prose

import "github.com/clipperhouse/uax29/v2/graphemes"

// Count returns the characters of a text as a reader counts them: grapheme clusters by UAX #29.
func Count(text string) int {
	count := 0
	for cluster := graphemes.FromString(text); cluster.Next(); {
		count++
	}
	return count
}
