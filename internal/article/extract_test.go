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

	"github.com/feed-operator/feed-operator/internal/portion"
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
		"line breaks alone": {
			"<title>予算</title><body><center><font size=5>令和8年度予算について</font></center><br><br>令和8年6月1日<br>環境庁<br><br>　環境庁は、令和8年度の予算案を公表しました。<br>　主な内容は、次のとおりです。" +
				"<br><br>１．再生可能エネルギーの導入支援　120億円<br>２．森林の保全　80億円<br></body>",
			"令和8年度予算について\n\n令和8年6月1日\n環境庁\n\n環境庁は、令和8年度の予算案を公表しました。\n主な内容は、次のとおりです。\n\n１．再生可能エネルギーの導入支援 120億円\n２．森林の保全 80億円",
		},
		"blocks that are no paragraphs": {
			"<div><div>" + sentence + "</div><div>" + sentence + " Twice.</div><div>" + sentence + " Thrice.</div></div>",
			sentence + "\n\n" + sentence + " Twice.\n\n" + sentence + " Thrice.",
		},
		"a table for the layout": {
			"<table><tr><td><a href=1>Home</a><br><a href=2>News</a><br><a href=3>About us</a></td><td><h1>Bridge</h1>" + sentence + "<br><br>" + sentence + "</td></tr></table>",
			"Bridge\n\n" + sentence + "\n\n" + sentence,
		},
		"a table of figures": {
			"<p>" + sentence + "</p><table><tr><th>地点</th><th>水位</th></tr><tr><td>上流</td><td>2.4m</td></tr></table>", sentence + "\n\n地点 水位\n上流 2.4m",
		},
		"a list, and little else": {
			"<main><h1>募集要項</h1><ul><li>対象：市内の中小企業</li><li>補助額：上限100万円</li><li>受付期間：令和8年7月1日から</li></ul></main>",
			"募集要項\n\n対象：市内の中小企業\n補助額：上限100万円\n受付期間：令和8年7月1日から",
		},
		"how a word is read": {"<p><ruby>環境<rp>(</rp><rt>かんきょう</rt><rp>)</rp></ruby>庁は、<ruby>新<rt>あたら</rt></ruby>しい制度を決定しました。", "環境庁は、新しい制度を決定しました。"},
		"a caption is kept, and says so": {
			"<article><p>" + sentence + "</p><figure><img src=x><figcaption>The <b>bridge</b>.<p>Its arch.</p></figcaption></figure></article>",
			sentence + "\n\nCaption: The bridge.\n\nCaption: Its arch.",
		},
		"a caption that is one by its name": {
			"<article><p>" + sentence + "</p><div class=wp-caption><img src=x><p class=wp-caption-text>The bridge.</p></div><p>" + sentence + "</p></article>",
			sentence + "\n\nCaption: The bridge.\n\n" + sentence,
		},
		"notices about cookies":   {"<div id=onetrust-banner-sdk><p>We share data.</p></div><div class='cc-window'>We use cookies.</div><div class=cookie-law-info>OK</div><p class=cookiecutter>" + sentence, sentence},
		"preformatted paragraphs": {"<pre>first line of a text that is long enough\nsecond line\n\n\nthird line</pre>", "first line of a text that is long enough\nsecond line\n\nthird line"},
		"preformatted lines":      {"<pre>first line of a text that is long enough\n\tsecond line</pre>", "first line of a text that is long enough\nsecond line"},
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
	part := portion.Of(1, 8) // of each page, and of what may be allocated for it
	for name, page := range map[string]string{
		"formatting that is opened again in each paragraph": "<p>" + many(400, "<b id=%d>") + "</p>" + strings.Repeat("<p>x", 500_000/part),
		"attributes that are merged into one body":          many(300_000/part, "<body a%d=1>"),
		"text below many ancestors":                         strings.Repeat("<div>", 480) + strings.Repeat(sentence, 70_000/part),
		"comments below many ancestors":                     strings.Repeat("<div class=comment>"+sentence, 400) + strings.Repeat("<div class=comment>"+sentence+"</div>", 20_000/part),
		"one element with many attributes":                  "<div " + many(300_000/part, "a%d=1 ") + ">" + sentence,
		"a title of separators":                             "<title>" + strings.Repeat("a | b » ", 200_000/part) + "</title>" + sentence,
		// Minutes, where the rest of the page is searched for the end of each.
		"quotations that do not end": strings.Repeat("\"今日は、晴れです。「", portion.Of(50_000, 10_000)),
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if _, _, err := extract(page); err != nil {
				t.Fatal(err)
			}
			runtime.ReadMemStats(&after)
			t.Logf("%d MiB", (after.TotalAlloc-before.TotalAlloc)>>20)
			if allocated := (after.TotalAlloc - before.TotalAlloc) >> 20; allocated > uint64(600*inflation/part) {
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
		if again := normalize(text); again != text {
			t.Errorf("text %q is cleaned to %q", text, again)
		}
	})
}
