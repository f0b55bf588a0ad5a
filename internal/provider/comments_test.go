// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"regexp"
	"testing"

	"pgregory.net/rapid"
)

// R1.6, R3.13: comments of HTML are taken out of an answer, the shortest from where one begins, as an expression would do it; an answer of nothing but
// beginnings, which somebody has talked a model into, is no more work than any other.
func TestCommentsAreTakenOut(t *testing.T) {
	t.Parallel()
	comment := regexp.MustCompile(`(?s)<!--.*?-->`)
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.RuneFrom([]rune("<!->a\n"))).Draw(t, "text") +
			rapid.StringMatching(`(<!--|-->|<b>|x){0,8}`).Draw(t, "marks")
		if got, want := withoutComments(text), comment.ReplaceAllString(text, ""); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	})
}
