// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package article

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func testdata(t testing.TB, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// R2.5
func TestReadableTextOfAPage(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ page, wantTitle, wantText string }{
		"a press release, without the site around it": {
			page: "press-release.html", wantText: "press-release.txt", wantTitle: "再生可能エネルギーの導入支援について｜資源環境庁",
		},
		"a news article": {
			page: "news.html", wantText: "news.txt", wantTitle: "Harbour bridge reopens after repairs",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			title, text, err := extract(testdata(t, test.page))
			if err != nil {
				t.Fatal(err)
			}
			if title != test.wantTitle {
				t.Errorf("title %q, want %q", title, test.wantTitle)
			}
			if diff := cmp.Diff(strings.TrimSpace(testdata(t, test.wantText)), text); diff != "" {
				t.Errorf("text (-want +got):\n%s", diff)
			}
		})
	}
}

// R2.5
func TestTextOfSmallPages(t *testing.T) {
	t.Parallel()
	const sentence = "This sentence is long enough to pass for an article of its own."
	tests := map[string]struct{ page, want string }{
		"line breaks, and two of them for a paragraph": {
			"<p>one and two and three, and so on and on<br>two<br> <br>\nthree</p>",
			"one and two and three, and so on and on\ntwo\n\nthree",
		},
		"preformatted lines": {"<pre>first line of a text that is long enough\n\tsecond line</pre>", "first line of a text that is long enough\nsecond line"},
		"old markup without blocks": {
			"<font color=red>" + sentence + "<hr>" + sentence, sentence + "\n\n" + sentence,
		},
		"characters that hide or turn text": {
			"<p>" + strings.Replace(sentence, " is", "\u202e\u200b\U000e0041\u00ad is&#0;", 1), sentence,
		},
		"a site that puts all of an article into its header": {
			"<div class=site-header><p>" + strings.Repeat(sentence+" ", 30) + "</p></div>", strings.TrimSpace(strings.Repeat(sentence+" ", 30)),
		},
		"quotation marks are not a breadcrumb": {
			"<p>« " + sentence + " »</p><p>Il a dit « oui » et « non » et puis</p>", "« " + sentence + " »\n\nIl a dit « oui » et « non » et puis",
		},
		"a menu of links": {
			"<div><a href=1>One of the pages</a> <a href=2>Another page</a> <a href=3>The third of them</a></div><p>" + sentence + "</p>", sentence,
		},
		"only navigation":    {"<ul><li><a href=1>Latest news from us</a><li><a href=2>All about our work</a><li><a href=3>How to reach us</a></ul>", ""},
		"nothing":            {"", ""},
		"a script alone":     {"<script>alert('This is a long enough text, but no one reads it.')</script>", ""},
		"not closed at all":  {"<div><p>" + sentence + "<p>" + sentence + "<script>", sentence + "\n\n" + sentence},
		"too deep to parse":  {strings.Repeat("<div>", 600) + sentence, ""},
		"too deep to search": {strings.Repeat("<div>", 300) + sentence, sentence},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, text, err := extract(test.page)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, text); diff != "" {
				t.Errorf("text (-want +got):\n%s", diff)
			}
		})
	}
}

// R1.6. Each of these pages, parsed as it is, takes gigabytes or minutes. Not parallel: the test looks
// at what the whole process allocates.
func TestPagesMadeToHurt(t *testing.T) {
	many := func(count int, format string) string {
		var out strings.Builder
		for i := range count {
			fmt.Fprintf(&out, format, i)
		}
		return out.String()
	}
	const sentence = "This is a sentence, with commas, that goes on for a while. "
	for name, page := range map[string]string{
		"formatting that is opened again in each paragraph": "<p>" + many(400, "<b id=%d>") + "</p>" + strings.Repeat("<p>x", 500_000),
		"attributes that are merged into one body":          many(300_000, "<body a%d=1>"),
		"text below many ancestors":                         strings.Repeat("<div>", 480) + strings.Repeat(sentence, 70_000),
		"comments below many ancestors":                     strings.Repeat("<div class=comment>"+sentence, 400) + strings.Repeat("<div class=comment>"+sentence+"</div>", 20_000),
		"one element with many attributes":                  "<div " + many(300_000, "a%d=1 ") + ">" + sentence,
		"a title of separators":                             "<title>" + strings.Repeat("a | b » ", 200_000) + "</title>" + sentence,
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if _, _, err := extract(page); err != nil {
				t.Fatal(err)
			}
			runtime.ReadMemStats(&after)
			if allocated := (after.TotalAlloc - before.TotalAlloc) >> 20; allocated > 600 {
				t.Errorf("allocated %d MiB for a page of %d KiB", allocated, len(page)>>10)
			}
		})
	}
}

// R1.6
func FuzzExtract(f *testing.F) {
	for _, name := range []string{"press-release.html", "news.html", "placeholder.html"} {
		f.Add(testdata(f, name))
	}
	for _, page := range []string{
		"", "<", "<p>a<b>b<p>c", "<table><tr><td><table>x", "<svg><title>x</svg><p>y", "<pre>a\n\nb</pre>", "<ruby>漢<rt>かん</ruby>",
		"<a><div><a>x</a></div>y", "<template><td>x", "<script>", "<title>a | b", "<p>\xff\xfe\x00</p>", "<!doctype html><!-- x --><![CDATA[y]]>",
		"<noscript><img src=x></noscript><img>", "<frameset><frame>", "<select><option>x<p>y", "<math><mi>x</mi></math>", "<br><br><br>x<br><br>y",
		"<div><font><p>x</font></div>", "<meta property=og:title content='x'><meta property=article:published_time content='2026-13-99'>",
	} {
		f.Add(page)
	}
	f.Fuzz(func(t *testing.T, page string) {
		title, text, err := extract(page)
		if err != nil {
			t.Fatalf("a page made a library panic: %v", err)
		}
		for _, got := range []string{title, text} {
			if !utf8.ValidString(got) || strings.TrimSpace(got) != got || strings.Contains(got, "\n\n\n") {
				t.Errorf("not a clean text: %q", got)
			}
			for _, r := range got {
				if r != '\n' && r != ' ' && !isPrintable(r) {
					t.Errorf("character %U in %q", r, got)
				}
			}
		}
		if strings.Contains(title, "\n") {
			t.Errorf("title of several lines: %q", title)
		}
		// What comes out stays as it is when it is cleaned again: the hash of an article must not move.
		if again := withoutNavigation(text); again != text {
			t.Errorf("text %q is cleaned to %q", text, again)
		}
	})
}
