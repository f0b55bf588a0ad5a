// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package terminal_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/feed-operator/feed-operator/internal/terminal"
)

func TestWidthIsWhatATerminalTakes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"": 0, "abc": 3, "日本語": 6, "ﾊﾝｶｸ": 4, "é": 1, "e\u0301": 1, "한글": 4, "、。": 4, "😀": 2, "👩‍👩‍👧": 2, "Grüße": 5,
	} {
		if got := terminal.Width(text); got != want {
			t.Errorf("%q is %d wide, want %d", text, got, want)
		}
	}
}

// R5.1: the columns of a table stand below each other, whatever is in them.
func TestColumnsStandBelowEachOther(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	if err := terminal.Table(&out, 8, []string{"NAME", "HOW"}, []string{"報道発表資料", "\x1b[31mred"}, []string{"a\nb", "plain"}); err != nil {
		t.Fatal(err)
	}
	want := "NAME      HOW\n報道発…   [31mred\na b       plain\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

// What others have written does not move the cursor.
func TestTextsAreMadePlain(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a\x1b[2Jb\a": "a[2Jb", "a\u202eb": "ab", "a\nb\tc": "a\nb c", "日本": "日本",
	} {
		if got := terminal.Plain(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

func TestTextsAreWrapped(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"one two three": {"one two", "three"}, "日本語の文章": {"日本語の", "文章"}, "averyverylongword x": {"averyvery", "longword", "x"}, "": {""}, "a\n\nb": {"a", "", "b"},
	} {
		if diff := cmp.Diff(want, terminal.Wrap(text, 9)); diff != "" {
			t.Errorf("%q:\n%s", text, diff)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		text := terminal.Line(rapid.StringOf(rapid.SampledFrom([]rune("ab c日本。é "))).Draw(t, "text"))
		lines := terminal.Wrap(text, 7)
		for _, line := range lines {
			if terminal.Width(line) > 7 {
				t.Fatalf("%q is wider than 7", line)
			}
		}
		if strings.ReplaceAll(strings.Join(lines, ""), " ", "") != strings.ReplaceAll(text, " ", "") {
			t.Fatalf("%q became %q", text, lines)
		}
	})
}
