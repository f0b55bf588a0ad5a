// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package plaintext

import (
	"testing"
)

// R2.5: the feed's own content as a reader would read it.
func TestText(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ content, want string }{
		"nothing":                {"", ""},
		"plain text":             {"One.\nTwo.\n\n\nThree &amp; four. ", "One.\nTwo.\n\nThree & four."},
		"paragraphs":             {"<p>One\nline.</p>\n<p>Two &lt;x&gt; &nbsp; three.</p>", "One line.\n\nTwo <x> three."},
		"line breaks":            {"One<br>Two<BR />Three", "One\nTwo\nThree"},
		"lists":                  {"<ul><li>One</li><li>Two</li></ul>After", "One\n\nTwo\n\nAfter"},
		"headings":               {"<h1>Title</h1>Text", "Title\n\nText"},
		"tables":                 {"<table><tr><td>a</td><td>b</td></tr></table>", "a b"},
		"scripts and styles":     {"a<script>if (x < 1) {\"</p>\"}</script><style>p{}</style><noscript><img></noscript><iframe>x</iframe>b", "ab"},
		"a script without end":   {"a<script>b", "a"},
		"comments":               {"a<!-- b -->c", "ac"},
		"inline markup":          {"<b>a</b>b<a href='x'>c</a>", "abc"},
		"escaped once too often": {"&lt;p&gt;One&lt;/p&gt;&lt;p&gt;Two &amp;amp; three&lt;/p&gt;", "One\n\nTwo & three"},
		"less than":              {"1 < 2 <b>and</b> 3 > 2", "1 < 2 and 3 > 2"},
		"Japanese lines":         {"<p>東京で\n  新しい。\n地下鉄 A\nB</p>", "東京で新しい。地下鉄 A B"},
		"readings":               {"<ruby>漢字<rp>(</rp><rt>かんじ</rt><rp>)</rp></ruby>を<ruby>読<rt>よ</ruby>む", "漢字を読む"},
		"marks and control":      {"<p>a\u202eb\x00c</p>", "abc"},
		"Windows line ends":      {"a\r\n\r\nb\rc", "a\n\nb\nc"},
		"nested things left out": {"<svg><svg></svg><text>x</text></svg>a", "a"},
		"a tag that breaks off":  {"<p>a</p><p", "a"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := Text(test.content); got != test.want {
				t.Errorf("text %q, want %q", got, test.want)
			}
		})
	}
}
