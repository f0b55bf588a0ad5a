// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package prose

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
	"pgregory.net/rapid"
)

// R4.1: text is cut on the borders of sentences and characters.
func TestCut(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text  string
		limit int
		want  string
	}{
		"what fits stays":                         {"It rained.", 10, "It rained."},
		"trailing space goes":                     {"It rained. \n", 12, "It rained."},
		"no room":                                 {"It rained.", 0, ""},
		"less than no room":                       {"It rained.", -1, ""},
		"at a sentence that keeps enough":         {"It rained. Then it snowed.", 16, "It rained."},
		"between words where a sentence is short": {"It rained. Then it snowed.", 22, "It rained. Then it…"},
		"the last of several sentences":           {"One. Two. Three. Four.", 17, "One. Two. Three."},
		"no sentence ends after an abbreviation":  {"It was told by Dr. Smith of the hospital.", 22, "It was told by Dr.…"},
		"nor after a day, as in German":           {"Er kam dann am 5. Januar nach Berlin.", 21, "Er kam dann am 5.…"},
		"Japanese sentences":                      {"雨が降った。雪も降った。風も吹いた。", 13, "雨が降った。雪も降った。"},
		"Japanese without a full stop":            {"国土水資源庁は新しい仕組みを始める", 8, "国土水資源庁は…"},
		"an Arabic sentence":                      {"هل تمطر اليوم؟ نعم، تمطر كثيرا.", 20, "هل تمطر اليوم؟"},
		"a long word":                             {strings.Repeat("a", 30), 10, strings.Repeat("a", 9) + "…"},
		"a family stays together":                 {"ab👩‍👩‍👧‍👦👩‍👩‍👧‍👦", 3, "ab…"},
		"one character":                           {"🇯🇵🇯🇵", 1, "🇯🇵"},
		"a link is left out":                      {"Read it at https://example.com/a/long/path now.", 30, "Read it at…"},
		"a question mark in a link ends nothing":  {"Read it at https://example.com/?1=2 now.", 33, "Read it at…"},
		"nothing but a link":                      {"https://example.com/a/long/path", 10, "https://e…"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := Cut(test.text, test.limit); got != test.want {
				t.Errorf("Cut(%q, %d) = %q, want %q", test.text, test.limit, got, test.want)
			}
		})
	}
}

func TestClipKnowsNoSentences(t *testing.T) {
	t.Parallel()
	if got := Clip("It rained. Then it snowed.", 16); got != "It rained. Then…" {
		t.Errorf("Clip = %q", got)
	}
}

func TestCutByFillsItsOwnMeasure(t *testing.T) {
	t.Parallel()
	if got := CutBy("雪だるまを作ったこと", 13, func(text string) int { return len(text) }); got != "雪だる…" {
		t.Errorf("CutBy = %q, want three characters of three bytes and the ellipsis", got)
	}
	all := func(text string) int { return 100 }
	if got := CutBy("It rained.", 10, all); got != "" {
		t.Errorf("CutBy = %q, want nothing where nothing fits", got)
	}
}

// fragments are put together at random: prose, and what breaks naive text handling.
var fragments = []string{
	"The harbour bridge will be closed to all traffic for the whole of August.", "It works.", "Dr. ", "Jan. 5", "U.S. ",
	"国土水資源庁は、河川の水位を予測する新しい仕組みの運用を開始する。", "「はい。」", "「", "」", "と述べた。", "か\u3099",
	"أعلنت وزارة النقل اليوم عن إغلاق الجسر الرئيسي.", "שלום לכם.", "กระทรวงคมนาคม", "👩‍👩‍👧‍👦", "🇯🇵", "e\u0301", "नमस्ते", "क्षि",
	"https://example.com/?q=1#part", "a", "Word", "42", "!", "...", "…", "?!", "。", " ", "\n", "\n\n", "(", ")", "\u0301", "\u200d",
}

// R4.1: never longer than allowed, never half a character, and nothing that was not there.
func TestCutKeepsWholeCharacters(t *testing.T) {
	t.Parallel()
	measures := map[string]func(string) int{
		"characters": Count, "code points": utf8.RuneCountInString, "bytes": func(text string) int { return len(text) },
	}
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(rapid.SampledFrom(fragments)).Draw(t, "text"), "")
		limit := rapid.IntRange(0, 120).Draw(t, "limit")
		for name, measure := range measures {
			got := CutBy(text, limit, measure)
			checkCut(t, text, got)
			if measure(got) > limit {
				t.Fatalf("CutBy(%q, %d) = %q has %d %s", text, limit, got, measure(got), name)
			}
			if again := CutBy(got, limit, measure); again != got {
				t.Fatalf("cut again, %q became %q", got, again)
			}
		}
		got := Clip(text, limit)
		checkCut(t, text, got)
		if Count(got) > limit {
			t.Fatalf("Clip(%q, %d) = %q has %d characters", text, limit, got, Count(got))
		}
	})
}

func FuzzCut(f *testing.F) {
	for i, fragment := range fragments {
		f.Add(fragment+fragments[(i*7)%len(fragments)], i)
	}
	f.Add("a\xff\xfeb", 2)
	f.Add("x."+strings.Repeat(")", 3000)+strings.Repeat("a\u0301", 100), 5)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		got := Cut(text, limit)
		checkCut(t, text, got)
		if Count(got) > max(limit, 0) {
			t.Fatalf("Cut(%q, %d) = %q has %d characters", text, limit, got, Count(got))
		}
		Sentences(text, "")
	})
}

// checkCut checks that got is a beginning of text in whole characters, and perhaps an ellipsis.
func checkCut(t rapid.TB, text, got string) {
	t.Helper()
	if strings.TrimRightFunc(got, unicode.IsSpace) != got {
		t.Fatalf("%q ends in space", got)
	}
	// An ellipsis at the end is the text's own, or stands for what was cut off.
	if !keepsWhole(text, got) && !keepsWhole(text, strings.TrimSuffix(got, "…")) {
		t.Fatalf("%q does not end where a character of %q does", got, text)
	}
}

// keepsWhole reports whether a text begins with what was kept of it, and that ends where a character does.
func keepsWhole(text, kept string) bool {
	end := 0
	for cluster := graphemes.FromString(text); end < len(kept) && cluster.Next(); {
		end += len(cluster.Value())
	}
	// Space is trimmed even from within a character: some Arabic signs take the space after them in.
	return strings.HasPrefix(text, kept) && strings.TrimSpace(text[len(kept):end]) == ""
}

// What is bounded here is the work: without the bounds, some of these take minutes.
func TestCutBoundsItsWork(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"five megabytes of sentences": strings.Repeat("The quick brown fox jumps over the lazy dog today. ", 100_000),
		"no spaces":                   strings.Repeat("a", 5_000_000),
		"closing brackets":            "x." + strings.Repeat(")", 1_000_000),
		"opening brackets":            strings.Repeat("「あ。", 500_000),
		"one character of a megabyte": "a" + strings.Repeat("\u0301", 500_000),
		"a link of a megabyte":        "See https://example.com/" + strings.Repeat("a?", 500_000),
		"beginnings of links":         strings.Repeat("a.b+c-", 300_000),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := Cut(text, 4000)
			checkCut(t, text, got)
		})
	}
}
