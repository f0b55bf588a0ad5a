// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package article

import (
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"github.com/feed-operator/feed-operator/internal/portion"
)

// What needs no cleaning is told by less than this, and kept.
func TestNormalizeLooksAtEachCharacter(t *testing.T) {
	t.Parallel()
	line := func(text string) string {
		return strings.Join(strings.Fields(strings.Map(func(r rune) rune {
			if unicode.IsSpace(r) || isPrintable(r) {
				return r
			}
			return -1
		}, text)), " ")
	}
	check := func(t rapid.TB, text string) {
		if got, want := oneLine(text), line(text); got != want {
			t.Fatalf("one line of %q is %q, want %q", text, got, want)
		}
		var want []string
		empty := false
		for next := range strings.SplitSeq(lineBreaks.Replace(text), "\n") {
			if next = line(next); next == "" {
				empty = true
				continue
			}
			if empty && len(want) > 0 {
				want = append(want, "")
			}
			want, empty = append(want, next), false
		}
		if got, want := normalize(text), strings.Join(want, "\n"); got != want {
			t.Fatalf("%q becomes %q, want %q", text, got, want)
		}
	}
	const common = 0x3100 // up to here are the characters that anything is said of one by one
	for r, step := rune(0), rune(1); r <= unicode.MaxRune; r += step {
		if check(t, "a"+string(r)+"b"); r > common {
			step = rune(portion.Of(1, 97))
		}
	}
	for _, text := range []string{"", " ", "a", " a", "a ", "a b", "a  b", "a\n", "a\nb"} {
		check(t, text)
	}
	pieces := []string{
		"a", "é", "漢", " ", "\n", "\n\n", "\t", "\r", "\r\n", "\v", "\f", "\u00a0", "\u3000", "\u2028", "\u2029", "\u202e", "\u00ad", "\ufeff", "\x00", "\xff", "…", "。", "©",
	}
	rapid.Check(t, func(t *rapid.T) {
		check(t, strings.Join(rapid.SliceOf(rapid.SampledFrom(pieces)).Draw(t, "text"), ""))
	})
}
