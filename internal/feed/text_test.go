// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feed

import (
	"strings"
	"testing"
)

// R1.1: titles are plain text, however often they were escaped.
func TestTitles(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ title, want string }{
		"plain":                                   {"Hello", "Hello"},
		"tags":                                    {"<b>Hello</b> <em class='x'>world</em>", "Hello world"},
		"tags that are escaped":                   {"&lt;b>Hello&lt;/b>", "Hello"},
		"a line break":                            {"Hello<br/>world", "Hello world"},
		"an ampersand escaped once":               {"AT&amp;T", "AT&T"},
		"an ampersand escaped twice":              {"AT&amp;amp;T", "AT&T"},
		"a quote escaped twice":                   {"it&amp;#8217;s", "it’s"},
		"tags escaped twice are words":            {"How to use &amp;lt;b&amp;gt;", "How to use <b>"},
		"what is no HTML is words":                {"a &lt; b, Vec&lt;T&gt; and x &lt;y", "a < b, Vec<T> and x <y"},
		"CDATA":                                   {"<![CDATA[<i>AT&amp;T</i> & x]]>", "AT&T & x"},
		"white space":                             {"  a\n\t b\u00a0c\u3000d\u2028e ", "a b c d e"},
		"control and bidi marks":                  {"a\u202e\u2066b\u200f\u0085\u009fc\ufeff", "ab c"},
		"emoji that are joined":                   {"👩\u200d💻", "👩\u200d💻"},
		"a script":                                {"One<script type='x'>\nif (a &lt; b) alert(\"&lt;b>\")\n</script> two", "One two"},
		"a script in CDATA":                       {"<![CDATA[One<SCRIPT>x()</SCRIPT ><style>b{}</style> two]]>", "One two"},
		"a script that is escaped":                {"One&lt;script>x()&lt;/script> two", "One two"},
		"two scripts":                             {"&lt;script>a&lt;/script>One&lt;script>b&lt;/script>", "One"},
		"an image and a frame":                    {"&lt;svg>&lt;title>Icon&lt;/title>&lt;/svg>One&lt;iframe src='x'>no frames&lt;/iframe>", "One"},
		"a comment":                               {"One&lt;!-- two --> three", "One three"},
		"a title about scripts":                   {"How to use &lt;script> and &lt;style> well", "How to use <script> and <style> well"},
		"a script escaped twice is words":         {"&amp;lt;script&amp;gt;x&amp;lt;/script&amp;gt;", "<script>x</script>"},
		"a parameter that looks like a reference": {"x?a=1&amp;copy=2", "x?a=1&copy=2"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := one(t, rssWith("<item><guid>1</guid><title>"+test.title+"</title></item>")).Title; got != test.want {
				t.Errorf("title %q, want %q", got, test.want)
			}
		})
	}
}

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

// R1.6: links are made absolute, and only those of the web are kept.
func TestLinks(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ link, want string }{
		"absolute":            {"https://a.example/x?y=1#z", "https://a.example/x?y=1#z"},
		"relative":            {"x", "https://feeds.example/dir/x"},
		"from the root":       {"/x", "https://feeds.example/x"},
		"of the same scheme":  {"//a.example/x", "https://a.example/x"},
		"white space":         {" \nhttps://a.example/a\nb ", "https://a.example/ab"},
		"a space":             {"https://a.example/a b?c d", "https://a.example/a%20b?c%20d"},
		"letters":             {"https://a.example/日本?q=日", "https://a.example/%E6%97%A5%E6%9C%AC?q=%E6%97%A5"},
		"percent signs":       {"https://a.example/100%/%zz%4", "https://a.example/100%25/%25zz%254"},
		"scheme in capitals":  {"HTTP://a.example/", "http://a.example/"},
		"user info":           {"https://u:p@a.example/", "https://a.example/"},
		"nothing":             {" ", ""},
		"mail":                {"mailto:a@b.example", ""},
		"data":                {"data:text/plain,x", ""},
		"a file":              {"file:///etc/passwd", ""},
		"no host":             {"https:///x", ""},
		"no slashes":          {"http:x", ""},
		"a port that is none": {"http://a.example:x/", ""},
		"at the bound":        {"https://a.example/" + strings.Repeat("a", 4096-18), "https://a.example/" + strings.Repeat("a", 4096-18)},
		"above the bound":     {"https://a.example/" + strings.Repeat("a", 4096-17), ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := newResolver(base).resolve(test.link); got != test.want {
				t.Errorf("%q became %q, want %q", test.link, got, test.want)
			}
		})
	}
	if got := newResolver("").resolve("/x"); got != "" {
		t.Errorf("a relative link without a base became %q", got)
	}
}
