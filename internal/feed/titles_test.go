// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feed

import "testing"

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
