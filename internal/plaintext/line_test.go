// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package plaintext

import (
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"
)

// What is one line already is told by less than this, and kept.
func TestLineIsOfVisibleWords(t *testing.T) {
	t.Parallel()
	check := func(t rapid.TB, text string) {
		visible := strings.Map(func(r rune) rune {
			if !unicode.IsSpace(r) && unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\uFEFF' {
				return -1
			}
			return r
		}, strings.ToValidUTF8(text, "\uFFFD"))
		if got, want := Line(text), strings.Join(strings.Fields(visible), " "); got != want {
			t.Fatalf("the line of %q is %q, want %q", text, got, want)
		}
	}
	for r := rune(0); r <= unicode.MaxRune; r++ {
		check(t, "a"+string(r)+"b")
	}
	for _, text := range []string{"", " ", "a", " a", "a ", "a b", "a  b", "a\n", "a\nb"} {
		check(t, text)
	}
	pieces := []string{"a", "é", "漢", " ", "\n", "\t", "\r", "\u00a0", "\u3000", "\u2028", "\u202e", "\u200d", "\ufeff", "\x00", "\x7f", "\xff", "…", "。", "©"}
	rapid.Check(t, func(t *rapid.T) {
		check(t, strings.Join(rapid.SliceOf(rapid.SampledFrom(pieces)).Draw(t, "text"), ""))
	})
}
