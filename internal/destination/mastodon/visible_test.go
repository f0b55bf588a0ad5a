// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package mastodon

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRenders(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		content string
		want    rendered
	}{
		"paragraphs and lines": {"<p>a<br>b<br />c</p><p>d</p>", rendered{text: " a b c d"}},
		"entities":             {"a &amp; b &lt;c&gt; &#39;d&#39;", rendered{text: "a & b <c> 'd'"}},
		"a link that is shortened to the eye": {
			`see <a href="https://example.org/a?b=1&amp;c=2" rel="nofollow noopener"><span class="invisible">https://</span><span class="ellipsis">example.org/a</span></a>.`,
			rendered{"see https://example.org/a?b=1&c=2.", []string{"https://example.org/a?b=1&c=2"}},
		},
		"a hashtag of Mastodon": {
			`<a href="https://example.social/tags/x" class="mention hashtag" rel="tag">#<span>x</span></a>`, rendered{text: "#x"},
		},
		"a hashtag of Pixelfed": {`<a href="https://example.social/t/x" title="#x" rel="external nofollow tag">#x</a>`, rendered{text: "#x"}},
		"a mention":             {`<span class="h-card"><a href="https://example.social/@a" class="u-url mention">@<span>a</span></a></span>`, rendered{text: "@a"}},
		"a link without end":    {`a <a href="https://example.org/">b`, rendered{"a https://example.org/", []string{"https://example.org/"}}},
		"a link to nowhere":     {`<a name="x">a</a>`, rendered{text: "a"}},
		"a comment":             {`a<!-- b -->c`, rendered{text: "ac"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, render(test.content), cmp.AllowUnexported(rendered{})); diff != "" {
				t.Errorf("rendered (-want +got):\n%s", diff)
			}
		})
	}
}

func TestHasLink(t *testing.T) {
	t.Parallel()
	const asked = "https://example.org/a"
	tests := map[string]struct {
		status rendered
		link   string
		want   bool
	}{
		"as a link":                        {rendered{links: []string{asked}}, asked, true},
		"in a sentence":                    {rendered{text: "See " + asked + "."}, asked, true},
		"a longer one":                     {rendered{text: asked + "b", links: []string{asked + "b"}}, asked, false},
		"a shorter one":                    {rendered{links: []string{asked}}, asked + "b", false},
		"in another case":                  {rendered{links: []string{"HTTPS://Example.org/a"}}, asked, true},
		"escaped there":                    {rendered{links: []string{"https://example.org/%E8%A6%81"}}, "https://example.org/要", true},
		"escaped here":                     {rendered{links: []string{"https://example.org/要"}}, "https://example.org/%E8%A6%81", true},
		"a percent sign that is no escape": {rendered{links: []string{"https://example.org/100%"}}, "https://example.org/100%", true},
		"no link is asked for":             {rendered{text: "a"}, "", false},
		"nothing is there":                 {rendered{}, asked, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := test.status.hasLink(test.link); got != test.want {
				t.Errorf("got %t, want %t", got, test.want)
			}
		})
	}
}
