// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"strings"
	"testing"
)

// BenchmarkHostileAnswers shows what answers of 40,000 characters cost that are made of one thing alone: who owns the model, or talks it into
// something, says what it answers (R1.6, R3.13). An expression that looks for the end of what begins takes seconds where others take milliseconds.
func BenchmarkHostileAnswers(b *testing.B) {
	const size = 40_000
	for name, part := range map[string]string{
		"words": "word ", "beginnings of comments": "<!--", "comments and tags": "<!-- <b>", "links within tags": "w<ww.", "mails within tags": "m<ailto:",
		"beginnings of links": "[a](", "brackets": "[", "headings": "# ", "dots": "www.", "schemes": "a.b+c-", "entities": "&lt;w&lt;ww.",
		"beginnings of tags": "<a ", "quotes": "「",
	} {
		text := strings.Repeat(part, size/len([]rune(part)))
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				_ = summaryText(text, 400)
			}
		})
	}
}
