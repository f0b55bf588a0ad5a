// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package prose

import (
	"strings"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
)

// MaxClusterBytes is more than any character that people write needs (the longest emoji
// sequences have about 40). Without a bound, one "character" could be megabytes of accents.
const MaxClusterBytes = 64

// BoundClusters leaves only the first code point, and a space, of characters that are longer.
func BoundClusters(text string) string {
	if IsSimple(text) || !mayHaveLongCluster(text) {
		return text
	}
	var out strings.Builder
	for cluster := graphemes.FromString(text); cluster.Next(); {
		value := cluster.Value()
		if len(value) > MaxClusterBytes {
			_, size := utf8.DecodeRuneInString(value)
			value = value[:size] + " "
		}
		out.WriteString(value)
	}
	return out.String()
}

// mayHaveLongCluster is quicker than finding where characters end. One that is too long has at most one code point that always begins
// a character, behind marks that join with what follows, so as many others in a row as half of it takes.
func mayHaveLongCluster(text string) bool {
	const half = (MaxClusterBytes - utf8.UTFMax) / 2
	begin := 0 // of the code points that may join
	for i, r := range text {
		if r >= ' ' && r <= '~' || IsCommonCJK(r) {
			begin = i + utf8.RuneLen(r)
		} else if i+utf8.UTFMax-begin > half {
			return true
		}
	}
	return false
}
