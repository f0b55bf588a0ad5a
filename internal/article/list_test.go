// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package article

import (
	"strings"
	"testing"
)

// R2.5: what belongs to an article is kept, however short its lines are and however many links it has; what is around one goes,
// though it looks much the same.
func TestListsAndSamplesOfArticles(t *testing.T) {
	t.Parallel()
	const (
		before = "<p>The fourth release of the library has been published today, and brings a number of changes to how caches are configured, filled, and cleared.</p>"
		after  = "<p>Users of older releases should read the guide before they change over, because some of the defaults are not what they were, and caches may grow.</p>"
		more   = "<p>The team thanks all of those who have tried the earlier releases and told about what they found, as more than two hundred people have done.</p>"
		links  = `<ul><li><a href=1>A new cache for pictures</a></li><li><a href=2>Faster start on small machines</a></li><li><a href=3>Support for older clocks</a></li></ul>`
		lead   = "<p>These are the most important changes in it:</p>"
	)
	in := func(main string) string {
		return `<html><head><title>Release four | Library</title></head><body><header><ul><li><a href=/>Start</a><li><a href=/docs>Documents</a><li><a href=/team>Our team</a></ul></header>` +
			`<article><h1>Release four</h1>` + main + `</article><footer><ul><li><a href=/imprint>Imprint</a><li><a href=/terms>Terms of use</a><li><a href=/jobs>Jobs</a></ul></footer></body></html>`
	}
	tests := map[string]struct {
		page string
		want []string
		not  []string
	}{
		"a list of links that a sentence announces": {in(before + lead + links + after), []string{"A new cache for pictures\nFaster start on small machines\nSupport for older clocks"}, []string{"Our team", "Imprint"}},
		"a list of links between paragraphs":        {in(before + links + after), []string{"Faster start on small machines"}, []string{"Our team", "Imprint"}},
		"a numbered list of links":                  {in(before + lead + strings.ReplaceAll(links, "ul>", "ol>") + after), []string{"Support for older clocks"}, nil},
		"a list of links on an announced last line": {in(before + after + lead + links), []string{"A new cache for pictures"}, []string{"Terms of use"}},
		"a list in a page of divisions":             {strings.ReplaceAll(in("<div class=text>"+before+lead+links+after+"</div>"), "article>", "div>"), []string{"Faster start on small machines"}, []string{"Imprint"}},
		"a short list of words":                     {in(before + "<p>It needs:</p><ul><li>a clock</li><li>two disks</li></ul>" + after + more), []string{"a clock\ntwo disks"}, nil},
		"a short list at the end":                   {in(before + after + more + "<p>It needs:</p><ul><li>a clock</li><li>two disks</li></ul>"), []string{"a clock\ntwo disks"}, nil},
		"a sample of code":                          {in(before + "<pre><code>cache.Open(8)\nif x &lt; 3 {\n\tcache.Clear()\n}</code></pre>" + after), []string{"cache.Open(8)\nif x < 3 {\ncache.Clear()\n}"}, nil},
		"a sample of one line":                      {in(before + "<div class=highlight><pre>go get example.org/cache@v4</pre></div>" + after), []string{"go get example.org/cache@v4"}, nil},
		"a sample that looks like navigation":       {in(before + "<pre>a | b | c\nx &gt; y &gt; z</pre>" + after), []string{"a | b | c\nx > y > z"}, nil},
		"a sample with a button to copy it":         {in(before + "<div class=code-toolbar><pre>cache.Open(8)</pre><div class=toolbar><button>Copy</button></div></div>" + after), []string{"cache.Open(8)"}, []string{"Copy"}},
		"related articles below":                    {in(before + after + "<h2>Related articles</h2>" + links), []string{"may grow"}, []string{"new cache"}},
		"related articles in Japanese":              {in(before + after + "<h3>関連記事</h3>" + links), []string{"may grow"}, []string{"new cache"}},
		"related articles in the midst":             {in(before + "<div class=related-posts><p>Read more:</p>" + links + "</div>" + after), []string{"may grow"}, []string{"new cache"}},
		"a list below the last paragraph":           {in(before + after + links), []string{"may grow"}, []string{"new cache"}},
		"tags":                                      {in(before + after + `<ul class=tags><li><a rel=tag href=1>caches</a><li><a rel=tag href=2>clocks</a><li><a rel=tag href=3>pictures</a></ul>`), []string{"may grow"}, []string{"pictures"}},
		"tags between paragraphs":                   {in(before + `<ul><li><a rel=tag href=1>caches</a><li><a rel=tag href=2>clocks</a><li><a rel=tag href=3>pictures</a></ul>` + after), []string{"may grow"}, []string{"pictures"}},
		"a table of contents":                       {in(before + `<ul><li><a href="#one">Caches of old</a><li><a href="#two">Caches of now</a><li><a href="#three">What is next</a></ul>` + after), []string{"may grow"}, []string{"Caches of old"}},
		"a menu between two parts of the page":      {"<div>" + before + "</div><div><ul><li><a href=1>Latest news from us</a><li><a href=2>All about our work</a><li><a href=3>How to reach us</a></ul></div><div>" + after + more + "</div>", []string{"may grow"}, []string{"How to reach us"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, text, err := extract(test.page)
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range test.want {
				if !strings.Contains(text, want) {
					t.Errorf("%q lacks %q", text, want)
				}
			}
			for _, not := range test.not {
				if strings.Contains(text, not) {
					t.Errorf("%q holds %q", text, not)
				}
			}
		})
	}
}
