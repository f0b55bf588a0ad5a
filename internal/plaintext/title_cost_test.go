// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package plaintext

import (
	"strings"
	"testing"
)

// BenchmarkHostileTitles shows what titles cost that are as long as one may be and made of one thing alone (R1.6, R3.13); a feed may have 160 of them. An
// expression that looks for the end of what begins takes seconds where others take milliseconds.
func BenchmarkHostileTitles(b *testing.B) {
	for name, part := range map[string]string{
		"words": "word ", "elements without an end before comments": "<svg><!---->", "beginnings of comments": "<!--", "beginnings of tags": "<a ", "references": "&amp;",
	} {
		title := strings.Repeat(part, 64<<10/len(part))
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				_ = Title(title)
			}
		})
	}
}
