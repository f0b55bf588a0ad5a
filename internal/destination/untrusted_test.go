// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package destination

import (
	"strings"
	"testing"

	"github.com/feed-operator/feed-operator/internal/portion"
)

// R4.1: mentions in generated text are defused.
func TestPlainTextDefusesMentions(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ text, want string }{
		"of somebody here":                  {"Thanks to @alice.", "Thanks to alice."},
		"of somebody elsewhere":             {"Ask @bob@infosec.example now", "Ask bob@infosec.example now"},
		"at the beginning":                  {"@alice", "alice"},
		"in brackets and after a slash":     {"(@alice) /@bob", "(alice) /bob"},
		"after a letter that is not ASCII":  {"連絡先は@alice、é@bob", "連絡先はalice、ébob"},
		"of a name that is not ASCII":       {"@ünal @山田", "ünal 山田"},
		"in wide characters":                {"＠alice ﹫bob", "alice bob"},
		"with signs that are not seen":      {"@\u200balice @\u200dbob @\u2060carl @\ufe0fdora @\u00adeve", "alice bob carl dora eve"},
		"with an accent on the sign":        {"@\u0301alice", "alice"},
		"with a sign that takes it in":      {"\u0d4e@alice", "alice"},
		"several signs":                     {"@@alice @@@bob a@@carl", "alice bob a@carl"},
		"a sign at the end":                 {"by @", "by"},
		"a mail address is no mention":      {"Write to press@northwind.example.", "Write to press@northwind.example."},
		"a price is no mention":             {"3 @ 5 euros", "3 @ 5 euros"},
		"one that is left when a link goes": {"@https://x.example alice @(https://x.example)bob", "alice @ bob"},
		"one inside a link":                 {"On https://social.example/@alice today", "On today"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := PlainText(test.text, 100)
			if got != test.want {
				t.Errorf("PlainText(%q) = %q, want %q", test.text, got, test.want)
			}
			if again := PlainText(got, 100); again != got {
				t.Errorf("once more, %q became %q", got, again)
			}
		})
	}
}

// R4.1: text of models puts a post under no hashtag.
func TestPlainTextDefusesHashtags(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Buy #Crypto now":           "Buy Crypto now",
		"＃仮想通貨 と ﹟株":                "仮想通貨 と 株",
		"##two @#both #@all ###":    "two both all ",
		"(#in) /#path a,#b":         "(in) /path a,b",
		"#1st, #2026年 and #_x":      "1st, 2026年 and _x",
		"in C# and F#, #1 of #2026": "in C# and F#, #1 of #2026",
		"press # to go on":          "press # to go on",
		"a key #️⃣crypto":           "a key crypto",
		"日#crypto é#x":              "日crypto éx",
		"issue a#1, $BTC":           "issue a#1, $BTC",
	} {
		got := PlainText(text, 100)
		if got != strings.TrimSpace(want) {
			t.Errorf("PlainText(%q) = %q, want %q", text, got, want)
		}
		if again := PlainText(got, 100); again != got {
			t.Errorf("once more, %q became %q", got, again)
		}
	}
}

// R4.1: what looks like a domain is not made a link of, by whatever program, and looks as before.
func TestPlainTextPartsDomains(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"t.me/scam":                    "t|.me/scam",
		"at bit.ly/x, or example.com.": "at bit|.ly/x, or example|.com.",
		"EXAMPLE.COM":                  "EXAMPLE|.COM",
		"a.b.co.uk":                    "a.b|.co|.uk",
		"ｔ．ｍｅ and bit｡ly and t․me and t。me":    "ｔ|．ｍｅ and bit|｡ly and t|․me and t|。me",
		"пример.рф, 例子.中国です":                   "пример|.рф, 例子|.中国です",
		"xn--e1afmkfd.xn--p1ai":                "xn--e1afmkfd|.xn--p1ai",
		"詳細はexample.comへ":                      "詳細はexample|.comへ",
		"i❤.ws":                                "i❤|.ws",
		"press@northwind.com":                  "press@northwind|.com",
		"README.md, main.rs, run.sh, a.zip":    "README|.md, main|.rs, run|.sh, a|.zip",
		"Node.js v1.2.3 in the U.S. e.g. 3.14": "Node.js v1.2.3 in the U.S. e.g. 3.14",
		"The end.Then 発表した。AIは. . .com":        "The end.Then 発表した。AIは. . .com",
		"foo.commonplace x.example.json":       "foo.commonplace x.example.json",
		"feed.md5 and a.com2 and a.com-x":      "feed.md5 and a.com2 and a.com-x",
	} {
		want = strings.ReplaceAll(want, "|", string(wordJoiner))
		got := PlainText(text, 100)
		if got != want {
			t.Errorf("PlainText(%q) = %q, want %q", text, got, want)
		}
		if again := PlainText(got, 100); again != got {
			t.Errorf("once more, %q became %q", got, again)
		}
	}
}

// R4.1: what parts a domain counts, and a cut that leaves a domain of a word parts that, too.
func TestPartedDomainsFit(t *testing.T) {
	t.Parallel()
	for limit := 100; limit < 200; limit += portion.Of(1, 3) {
		m := Material{Title: "Of foo.community", Summary: strings.Repeat("bar.community ", 40), URL: "https://x.example/"}
		post, err := compose(t, Style{ContentWarning: "{{.Summary}}"}, m, Limits{MaxCharacters: limit})
		if err != nil {
			t.Fatal(err)
		}
		if got := Length(post, Limits{}); got > limit {
			t.Errorf("%d characters of %d: %q", got, limit, post.Text)
		}
		wantNothingFound(t, post.Text, post.Link)
		wantNothingFound(t, post.ContentWarning)
	}
}

// R4.1: a cut right before a dot leaves nothing behind of what parted the domain there: nobody would see it, and it counts.
func TestACutLeavesNothingThatParts(t *testing.T) {
	t.Parallel()
	for limit := 100; limit < 200; limit += portion.Of(1, 3) {
		m := Material{Title: strings.Repeat("bar.community/", 40), Summary: strings.Repeat("foo.community/", 40), URL: "https://x.example/"}
		post, err := compose(t, Style{ContentWarning: "{{.Title}}", Template: "{{.Summary}} {{.URL}}"}, m, Limits{MaxCharacters: limit})
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{post.Text, post.ContentWarning} {
			if parted := strings.ReplaceAll(text, string(wordJoiner)+".", "."); strings.ContainsRune(parted, wordJoiner) {
				t.Errorf("of %d characters: %+q", limit, text)
			}
		}
	}
}

// R4.1: no links but the item's own.
func TestPlainTextHasNoLinks(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ text, want string }{
		"the full stop stays":               {"Read it at https://x.example/a?b=c. Now.", "Read it at. Now."},
		"empty brackets go":                 {"The page (https://x.example/) is new.", "The page is new."},
		"brackets that introduce it go":     {"Update now (see https://x.example/a), or wait.", "Update now, or wait."},
		"a sentence that introduces it":     {"It is new. Details: https://x.example/a", "It is new."},
		"one that introduces more stays":    {"Thanks to: https://x.example and all.", "Thanks to: and all."},
		"no space between Japanese letters": {"庁のサイト（https://x.example/）で公開。詳細はhttps://x.example/a参照", "庁のサイトで公開。詳細は参照"},
		"a Japanese label":                  {"公開した。詳細：https://x.example/a", "公開した。"},
		"without a scheme":                  {"Go to www.x.example/a or mailto:a@x.example", "Go to or"},
		"one that is left when another goes": {
			"hthttp://x ttp://y.example and http:/@\u0301/z.example", "and",
		},
		"paragraphs stay": {"One.\n\nhttps://x.example\n\n\nTwo.\nThree.", "One.\n\nTwo.\nThree."},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := PlainText(test.text, 200); got != test.want {
				t.Errorf("PlainText(%q) = %q, want %q", test.text, got, test.want)
			}
		})
	}
}

// R4.1: right-to-left text, emoji and CJK are safe.
func TestPlainTextKeepsWhatIsSpelledAndNothingHidden(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"👩‍👩‍👧‍👦 👩🏽‍💻 🏳️‍🌈 ❤️ 1️⃣ 🇯🇵", "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f flag", "می\u200cخواهم",
		"क्\u200dष", "葛\U000e0100城", "か\u3099", "e\u0301", "שלום (TB-12) לכם", "한국어", "กระทรวง",
	} {
		if got := PlainText(text, 100); got != text {
			t.Errorf("PlainText(%q) = %q, want it as it is", text, got)
		}
	}
	tests := map[string]struct{ text, want string }{
		"bidi controls":              {"a\u202eb\u2066c\u200fd\u061ce", "abcde"},
		"control characters":         {"a\x00b\x1bc\td\x7f", "abc d"},
		"what is no UTF-8":           {"a\xffb", "ab"},
		"marks of this package":      {"a" + linkMark + lineMark + "b", "ab"},
		"joiners between nothing":    {"a\u200db \u200cc", "ab c"},
		"tags that name no flag":     {"a\U000e0067b", "ab"},
		"fillers":                    {"a\u3164\u115fb", "ab"},
		"an accent on nothing":       {"\u0301a", "a"},
		"halves of flags stay apart": {"🇯\u200b🇵", "🇯 🇵"},
		"too many accents":           {"a" + strings.Repeat("\u0301", 500), "a" + strings.Repeat("\u0301", 32)},
		"space":                      {" a \u00a0\u3000 b\r\n\r\n\r\n\u2029c ", "a b\n\nc"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := PlainText(test.text, 1000); got != test.want {
				t.Errorf("PlainText(%q) = %q, want %q", test.text, got, test.want)
			}
		})
	}
	if got := plainLine("a\n\nb日本", 4); got != "a b" {
		t.Errorf("plainLine = %q, want the first four code points on one line", got)
	}
}

func TestWebLink(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ raw, want string }{
		"one that is fine":                  {"https://x.example/a-b_c/(d)?e=f&g=%20#h", "https://x.example/a-b_c/(d)?e=f&g=%20#h"},
		"a user's page":                     {"https://social.example/@alice", "https://social.example/@alice"},
		"a mention in the query":            {"https://x.example/?q=a&@alice", "https://x.example/?q=a&%40alice"},
		"letters that are not ASCII":        {"https://x.example/日本", "https://x.example/%E6%97%A5%E6%9C%AC"},
		"a name that is not ASCII":          {"https://münchen.example:8443/a", "https://xn--mnchen-3ya.example:8443/a"},
		"a bidi control":                    {"https://x.example/a\u202eb", "https://x.example/a%E2%80%AEb"},
		"an end like that of a sentence":    {"https://x.example/Inc.", "https://x.example/Inc%2E"},
		"space and brackets":                {" https://x.example/a b<c> ", "https://x.example/a%20b%3Cc%3E"},
		"credentials stay secret":           {"https://user:secret@x.example/a", "https://x.example/a"},
		"no path":                           {"http://x.example", "http://x.example"},
		"not a page":                        {"javascript:alert(1)", ""},
		"no host":                           {"https:///a", ""},
		"a control character":               {"https://x.example/a\nb", ""},
		"a name that nobody can have":       {"https://a\u202eb.example/", ""},
		"nothing":                           {"", ""},
		"not ASCII, and credentials, quote": {"https://u@ü.example/\"", "https://xn--tda.example/%22"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := WebLink(test.raw); got != test.want {
				t.Errorf("WebLink(%q) = %q, want %q", test.raw, got, test.want)
			}
		})
	}
}

func TestHashtags(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		hashtags   Hashtags
		categories []string
		want       string
	}{
		"words become one":           {Hashtags{FromCategories: true}, []string{"supply chain", "open-source", "iOS apps", "Women's health"}, "#SupplyChain #OpenSource #iOSApps #WomensHealth"},
		"one word stays":             {Hashtags{FromCategories: true}, []string{"security", "5G", "snake_case"}, "#security #5G #snake_case"},
		"Japanese":                   {Hashtags{FromCategories: true}, []string{"防災・減災", "＃河川", "AI 活用", "水"}, "#防災減災 #河川 #AI活用 #水"},
		"wide and half-wide letters": {Hashtags{FromCategories: true}, []string{"ＡＩ", "ｶﾞｲﾄﾞ"}, "#AI #ガイド"},
		"accents belong to letters":  {Hashtags{FromCategories: true}, []string{"शिक्षा नीति", "Ökologie", "أخبار محلية"}, "#शिक्षानीति #Ökologie #أخبارمحلية"},
		"what says nothing":          {Hashtags{FromCategories: true}, []string{"2026", "___", "C++", "🎉", "", "\u0301", strings.Repeat("long ", 20)}, ""},
		"none twice":                 {Hashtags{FromCategories: true, Always: []string{"News"}}, []string{"news", "NEWS", "ＮＥＷＳ", "Other"}, "#News #Other"},
		"always ones come first":     {Hashtags{FromCategories: true, Always: []string{"#bot", "my feed"}, Max: 3}, []string{"one", "tw"}, "#bot #MyFeed #one"},
		"five, if nothing is said":   {Hashtags{FromCategories: true}, []string{"aa", "bb", "cc", "dd", "ee", "ff"}, "#aa #bb #cc #dd #ee"},
		"not from categories":        {Hashtags{Always: []string{"bot"}}, []string{"one"}, "#bot"},
		"mentions and links":         {Hashtags{FromCategories: true}, []string{"@alice", "https://x.example/", "a#b"}, "#alice #AB"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := strings.Join(test.hashtags.of(test.categories), " "); got != test.want {
				t.Errorf("hashtags = %q, want %q", got, test.want)
			}
		})
	}
}

// R4.1: a server that looks for links finds none in the text of a feed, not even after an underscore, where no word begins.
func TestPlainTextHasNoLinksAfterAnUnderscore(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"_magnet:?xt=urn:btih:c12fe1c06bba254a9dc9f519b335aa7c1367a88a", "Read_this_xmpp:spam@localhost now", "a _mailto:x@localhost b"} {
		got := PlainText(text, 1000)
		for _, scheme := range []string{"magnet:", "xmpp:", "mailto:"} {
			if strings.Contains(got, scheme) {
				t.Errorf("%q became %q", text, got)
			}
		}
	}
}
