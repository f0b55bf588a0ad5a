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

func TestLinesAreBrokenWhereAPersonWould(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		line string
		want []string
	}{
		"a short one stays":                      {line: "one two", want: []string{"one two"}},
		"between words":                          {line: "one two three four", want: []string{"one two", "three four"}},
		"between Japanese characters":            {line: "例示省は公表します", want: []string{"例示省は公", "表します"}},
		"not before a full stop":                 {line: "例示省公表。その後", want: []string{"例示省公", "表。その後"}},
		"a number in Japanese stays whole":       {line: "例示省は12345件", want: []string{"例示省は", "12345件"}},
		"a link that is too long is not touched": {line: "see https://example.org/", want: []string{"see", "https://example.org/"}},
		"an empty one":                           {line: "", want: []string{""}},
		"lines stay":                             {line: "a\n\nb", want: []string{"a", "", "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, terminal.Wrap(test.line, 11)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestBreakingLinesLosesNothingButSpaces(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.StringOf(rapid.RuneFrom([]rune("ab 12例示。、（ー"))).Draw(t, "line")
		unspaced := strings.NewReplacer(" ", "").Replace
		if got := unspaced(strings.Join(terminal.Wrap(line, 7), "")); got != unspaced(line) {
			t.Errorf("got %q", got)
		}
	})
}

func TestTextsAreCutByTheColumnsTheyTake(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		text string
		want string
	}{
		"a short one stays":                   {text: "abc", want: "abc"},
		"one that just fits stays":            {text: "abcdefgh", want: "abcdefgh"},
		"a long one ends in an ellipsis":      {text: "abcdefghi", want: "abcdefg…"},
		"Japanese takes two columns":          {text: "例示省の発表", want: "例示省…"},
		"Japanese that just fits stays":       {text: "例示省は", want: "例示省は"},
		"a wide one at the border goes whole": {text: "abcdefg例示", want: "abcdefg…"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := terminal.Clip(test.text, 8); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
