// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package extractive

import (
	"errors"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
	"pgregory.net/rapid"

	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/portion"
	"github.com/feed-operator/feed-operator/internal/prose"
	"github.com/feed-operator/feed-operator/internal/provider"
)

func init() { portion.Draws(25) }

// fragments are put together at random: prose, noise, and what breaks naive text handling.
var fragments = []string{
	"The harbour bridge will be closed to all traffic for the whole of August.", "It works.", "Dr. ", "Jan. 5", "U.S. ",
	"国土水資源庁は、河川の水位を予測する新しい仕組みの運用を開始する。", "「はい。」", "「", "」", "と述べた。", "１．", "・", "図１ ", "※", "か\u3099",
	"정부는 오늘 새로운 정책을 발표하고 시행한다고 밝혔다.", "أعلنت وزارة النقل اليوم عن إغلاق الجسر الرئيسي.", "กระทรวงคมนาคม",
	"👩‍👩‍👧‍👦", "🇯🇵", "e\u0301", "नमस्ते", "क्षि", "Share this", "Home > News > A", "By Jane Doe", "a", "Word", "42", "!", "...", "…", "?!",
	"。", " ", "  ", "\n", "\n\n", "\t", "(", ")", "- ", "1. ", "| ", ", ",
}

// R2.9: never above the limit, never empty when there is something to say, never half a character.
func TestGenerateKeepsItsContract(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := func(label string, most int) string {
			return strings.Join(rapid.SliceOfN(rapid.SampledFrom(fragments), 0, most).Draw(t, label), "")
		}
		request := provider.Request{
			Title: text("title", 4), Description: text("description", 6), Text: text("text", 60),
			MaxCharacters: rapid.IntRange(1, 300).Draw(t, "limit"),
		}
		response, err := New().Generate(t.Context(), request)
		checkContract(t, request, response, err)

		all := request.Title + request.Description + request.Text
		if strings.ContainsFunc(all, unicode.IsLetter) && err != nil {
			t.Fatalf("there are letters, but no summary: %v", err)
		}
		known := map[string]bool{"…": true, " ": true, "/": true} // the items of a list are joined by slashes
		for _, source := range []string{request.Title, request.Description, request.Text} {
			for cluster := graphemes.FromString(source); cluster.Next(); {
				known[cluster.Value()] = true
			}
		}
		for cluster := graphemes.FromString(response.Summary); cluster.Next(); {
			if !known[cluster.Value()] {
				t.Fatalf("%q is no character of the article; summary %q", cluster.Value(), response.Summary)
			}
		}
		again, _ := New().Generate(t.Context(), request)
		if again != response {
			t.Fatalf("the same request gave %q, then %q", response.Summary, again.Summary)
		}
	})
}

func FuzzGenerate(f *testing.F) {
	for i, fragment := range fragments {
		f.Add(fragment, fragments[len(fragments)-1-i], fragment+fragments[(i*7)%len(fragments)], 40)
	}
	f.Add("<script>alert(1)</script>", "<scr<b>ipt>", "a < b and <img src=x onerror=y and some words more.", 100)
	f.Add("http://a", "htthttp://xtp://b", "See (https://example.com/?q=1). mailto:a@b www.x.y", 100)
	f.Add("\xff\xfe", "a\xc3", "\u202eabc\u2066\x00\ufffc", 1)
	f.Add("x", "", "x."+strings.Repeat(")", 3000)+strings.Repeat("a\u0301", 100), 5)
	f.Fuzz(func(t *testing.T, title, description, text string, limit int) {
		request := provider.Request{Title: title, Description: description, Text: text, MaxCharacters: limit}
		response, err := New().Generate(t.Context(), request)
		checkContract(t, request, response, err)
	})
}

// checkContract checks what holds for every request.
func checkContract(t rapid.TB, request provider.Request, response provider.Response, err error) {
	t.Helper()
	summary := response.Summary
	if err != nil {
		var failed *failure.Error
		if !errors.As(err, &failed) || summary != "" {
			t.Fatalf("error = %v, summary = %q", err, summary)
		}
		return
	}
	switch {
	case strings.TrimSpace(summary) == "" || strings.TrimSpace(summary) != summary:
		t.Fatalf("summary = %q, want something without space around it", summary)
	case prose.Count(summary) > request.MaxCharacters:
		t.Fatalf("summary %q has %d characters, more than %d", summary, prose.Count(summary), request.MaxCharacters)
	case len(summary) > (prose.MaxClusterBytes+1)*request.MaxCharacters:
		t.Fatalf("summary of %d bytes for %d characters", len(summary), request.MaxCharacters)
	case !utf8.ValidString(summary):
		t.Fatalf("summary %q is not UTF-8", summary)
	case strings.Contains(summary, "://"), openTag.MatchString(summary), strings.Contains(summary, linkMark):
		t.Fatalf("summary %q has a link or a tag", summary)
	case strings.ContainsFunc(summary, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }):
		t.Fatalf("summary %q has control characters", summary)
	}
}

// What is bounded here is the work, by what is looked at: without the bounds, some of these take
// minutes.
func TestGenerateBoundsItsWork(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"megabytes of sentences":             strings.Repeat("The quick brown fox jumps over the lazy dog today. ", portion.Of(100_000, 10_000)),
		"one sentence without end":           strings.Repeat("word ", portion.Of(200_000, 40_000)) + "end.",
		"no spaces":                          strings.Repeat("a", portion.Of(5_000_000, 500_000)),
		"only punctuation":                   strings.Repeat("?!", portion.Of(500_000, 100_000)),
		"a full stop, then closing brackets": "x." + strings.Repeat(")", portion.Of(1_000_000, 200_000)),
		"opening brackets":                   strings.Repeat("「あ。", portion.Of(500_000, 15_000)),
		"emoji":                              strings.Repeat("👩‍👩‍👧‍👦", portion.Of(100_000, 20_000)),
		"one character of many marks":        "a" + strings.Repeat("\u0301", portion.Of(500_000, 100_000)),
		"abbreviations":                      strings.Repeat("Mr. ", portion.Of(500_000, 40_000)),
		"Japanese without a full stop":       strings.Repeat("日本語", portion.Of(500_000, 100_000)),
		"right-to-left":                      strings.Repeat("أعلنت وزارة النقل اليوم عن إغلاق الجسر. ", portion.Of(20_000, 4_000)),
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			request := provider.Request{Title: text, Description: text, Text: text, MaxCharacters: 400}
			response, err := New().Generate(t.Context(), request)
			checkContract(t, request, response, err)
		})
	}
}
