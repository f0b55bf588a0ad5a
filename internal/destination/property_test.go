// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package destination

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
	"pgregory.net/rapid"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/portion"
	"github.com/feed-operator/feed-operator/internal/prose"
)

func init() { portion.Draws(25) }

// scripts are put together at random: prose of many scripts, and what breaks naive text handling.
var scripts = []string{
	"The harbour bridge will be closed for all of August. ", "It works.", " Dr. Smith ", "Jan. 5 ", "a", " ", "  ", "42", "!", "…", "\n", "\n\n",
	"国土水資源庁は、河川の水位を予測する新しい仕組みの運用を開始する。", "「はい。」", "と述べた。", "か\u3099", "葛\U000e0100",
	"أعلنت وزارة النقل اليوم عن إغلاق الجسر الرئيسي. ", "שלום לכם. ", "می\u200cخواهم ", "नमस्ते ", "क्षि", "क्\u200dष", "กระทรวงคมนาคม", "한국어 ",
	"👩‍👩‍👧‍👦", "👩🏽‍💻", "🇯🇵", "🇯", "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f", "❤️", "1️⃣", "e\u0301", "\u0301", "a\u0323\u0301",
	"t.me/scam ", "bit.ly/x", "example.com", "Example.COM ", "ｔ．ｍｅ", "bit｡ly", "t。me", "пример.рф", "例子.中国です", "README.md ", "Node.js ", "v1.2.3 ",
	"U.S. ", ".co", "foo.", "com", ".me/", "foo.community ", "xn--e1afmkfd.xn--p1ai ", "i❤.ws ", "press@northwind.com ", "evil.co.uk,", "a.", strings.Repeat("x.community ", 30),
	"#Crypto", "＃仮想通貨", "﹟tag ", "##two", "@#both", "#@both", "#1 ", "C# ", "#1st", "#2026年", "#️⃣", "#_x", "#", "$BTC ", "(#in)", "/#path",
	"@alice", "@bob@infosec.example", "＠carl", "@", "a@b", "é@dora", "@\u200deve", "@\u200bfred", "press@northwind.example ", "#tag ", "＃タグ ", "(", ")",
	"https://evil.example/a?b#c", "www.evil.example ", "ht", "tp://", "://", "mailto:a@b.example ", "(https://evil.example)",
	"\u202e", "\u2066", "\u200f", "\u200b", "\u200d", "\u200c", "\u0000", "\u00ad", "\ufeff", linkMark, lineMark, "\ufffd",
	strings.Repeat("donaudampfschiff", 20), strings.Repeat("語", 120), strings.Repeat("word ", 60), strings.Repeat("文。", 60),
}

var templates = []string{
	"", "{{.Title}}\n{{.URL}}", "{{.Summary}}\n\n{{.URL}}", "📰 {{.Title}}: {{.Summary}} ({{.URL}}) {{.Hashtags}}",
	"{{.URL}}\n{{with .Author}}by {{.}}{{end}}\n{{.Published}}\n{{.Title}}\n{{.Categories}}", "{{.FeedTitle}}\n{{.Title}}\n{{.Title}}\n{{.Summary}}\n{{.URL}}",
	"{{range .Hashtags}}{{.}}\n{{end}}{{.Title}} {{.URL}}{{.URL}}。", "{{if .Summary}}{{.Summary}}{{else}}{{.Title}}{{end}} {{.URL}} https://mine.example/abc",
}

// ping is what some server may take for a mention.
var ping = regexp.MustCompile(`(?:^|[^A-Za-z0-9_])[@＠﹫]\pM*[\pL\pN_]`)

// What servers and programs find in a text, by the rules that Mastodon
// (https://github.com/mastodon/mastodon/blob/main/app/models/tag.rb) and twitter-text
// (https://github.com/twitter/twitter-text, validHashtag and validUrlWithoutProtocol) publish.
var (
	foundHashtag = regexp.MustCompile(`(?:^|[^=/)\pL\pM\p{Nd}])[#＃﹟][\pL\pM\p{Nd}_][\pL\pM\p{Nd}_·・]*`)
	foundLink    = regexp.MustCompile(`(?i)https?://|\bwww\.|[^\s\pP\pC][.．｡﹒․]` +
		`(?:com|me|ly|md|co|community|uk|ws|it|ａｉ|ｍｅ|xn--p1ai|рф|中国)(?:[^0-9a-z@+-]|$)|[0-9a-z]。me(?:[^0-9a-z@+-]|$)`)
)

// wantNothingFound fails where a text has a link or a hashtag but for those that it is meant to have.
func wantNothingFound(t rapid.TB, text string, meant ...string) {
	t.Helper()
	for _, own := range meant {
		if own != "" {
			text = strings.ReplaceAll(text, own, " ")
		}
	}
	if found := foundLink.FindString(text); found != "" {
		t.Fatalf("the link %q is found in %q", found, text)
	}
	for _, found := range foundHashtag.FindAllString(text, -1) {
		if strings.Trim(found[strings.IndexAny(found, hashSigns):], hashSigns+"0123456789") != "" {
			t.Fatalf("the hashtag %q is found in %q", found, text)
		}
	}
}

func drawMaterial(t *rapid.T) Material {
	text := func(label string, most int) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom(scripts), 0, most).Draw(t, label), "")
	}
	m := Material{
		Title: text("title", 8), Summary: text("summary", 40), Author: text("author", 3), Source: "source", FeedTitle: text("feed", 3),
		Language: rapid.SampledFrom([]string{"", "ja", "ar"}).Draw(t, "language"),
	}
	for range rapid.IntRange(0, 6).Draw(t, "categories") {
		m.Categories = append(m.Categories, text("category", 2))
	}
	if rapid.Bool().Draw(t, "published") {
		m.Published = time.Unix(1_800_000_000, 0)
	}
	switch rapid.IntRange(0, 4).Draw(t, "link") {
	case 0:
	case 1:
		m.URL = "https://x.example/" + strings.Repeat("é@", rapid.IntRange(0, 50).Draw(t, "letters"))
	case 2:
		m.URL = "https://x.example/" + strings.Repeat("x", rapid.IntRange(0, 2000).Draw(t, "length"))
	default:
		m.URL = rapid.SampledFrom([]string{"https://x.example", "http://x.example/a.", "https://x.example/@alice?q=(b)", "https://日本.example/雪"}).Draw(t, "url")
	}
	return m
}

// R4.1: whatever the material, a post is not too long by either way of counting, its link is whole
// and there once, its characters are whole, and it pings nobody. 1,500 posts at least.
func TestComposeKeepsItsPromises(t *testing.T) {
	t.Parallel()
	for range portion.Of(15, 4) { // a check makes 100 unless told otherwise, and in part 25
		rapid.Check(t, func(t *rapid.T) {
			m := drawMaterial(t)
			style := Style{
				Template:       rapid.SampledFrom(templates).Draw(t, "template"),
				ContentWarning: rapid.SampledFrom([]string{"", "News", "{{.FeedTitle}}", "{{.Title}} {{.URL}}"}).Draw(t, "warning"),
				Hashtags:       Hashtags{FromCategories: true, Always: []string{"bot"}, Max: rapid.IntRange(0, 8).Draw(t, "max")},
			}
			limits := Limits{MaxCharacters: rapid.IntRange(100, 5000).Draw(t, "limit"), CharactersPerURL: rapid.SampledFrom([]int{0, 23, 40}).Draw(t, "weight")}
			if rapid.Bool().Draw(t, "tight") {
				limits.MaxCharacters = rapid.IntRange(100, 500).Draw(t, "tight limit")
			}
			composer, err := NewComposer(style)
			if err != nil {
				t.Fatal(err)
			}
			post, err := composer.Compose(m, limits)
			if err != nil {
				if WebLink(m.URL) != "" || PlainText(m.Title+m.Summary, 10_000) != "" && PlainText(m.Title, 10_000)+PlainText(m.Summary, 10_000) != "" {
					t.Fatalf("there is something to post, but: %v", err)
				}
				return
			}
			checkPost(t, m, limits, post)
			checkCharacters(t, m, style, post)
			if text := strings.ReplaceAll(post.Text, post.Link, ""); post.Link != "" && ping.MatchString(text) || post.Link == "" && ping.MatchString(post.Text) {
				t.Fatalf("text %q has a mention", post.Text)
			}
			if ping.MatchString(post.ContentWarning) {
				t.Fatalf("content warning %q has a mention", post.ContentWarning)
			}
			meant := append([]string{post.Link, "https://mine.example/abc"}, style.Hashtags.of(m.Categories)...)
			slices.SortFunc(meant, func(a, b string) int { return len(b) - len(a) }) // one may begin another
			wantNothingFound(t, post.Text, meant...)
			wantNothingFound(t, post.ContentWarning)
			again, err := composer.Compose(m, limits)
			if err != nil || again != post {
				t.Fatalf("the same item gave %+v, then %+v, %v", post, again, err)
			}
		})
	}
}

// checkPost checks what holds for every post, whoever wrote the template. The lengths are counted
// here in another way than in the code: with the link in its place.
func checkPost(t rapid.TB, m Material, limits Limits, post Post) {
	t.Helper()
	perURL := limits.CharactersPerURL
	if perURL <= 0 {
		perURL = 23
	}
	limit := limits.MaxCharacters
	if limit <= 0 {
		limit = 500
	}
	all := post.ContentWarning + post.Text
	counted := strings.NewReplacer(post.Link, strings.Repeat("x", min(perURL, 10_000)), "https://mine.example/abc", strings.Repeat("x", min(perURL, 10_000)))
	if post.Link == "" {
		counted = strings.NewReplacer("https://mine.example/abc", strings.Repeat("x", min(perURL, 10_000)))
	}
	if got := prose.Count(post.ContentWarning + counted.Replace(post.Text)); got > limit {
		t.Fatalf("post has %d characters as read, more than %d: %q", got, limit, post.Text)
	}
	if raw := utf8.RuneCountInString(all); raw > limit && utf8.RuneCountInString(post.ContentWarning+post.Link) <= limit {
		t.Fatalf("post has %d code points, more than %d: %q", raw, limit, post.Text)
	}
	if post.Text == "" || strings.TrimSpace(post.Text) != post.Text || strings.Contains(post.Text, "\n\n\n") {
		t.Fatalf("text %q is not trimmed", post.Text)
	}
	if !utf8.ValidString(all) || strings.ContainsAny(all, linkMark+lineMark) {
		t.Fatalf("text %q is no text", all)
	}
	if post.Link == "" {
		return
	}
	if post.Link != WebLink(m.URL) || strings.Count(post.Text+" ", post.Link) != 1 {
		t.Fatalf("link %q is not in %q once", post.Link, post.Text)
	}
	_, after, _ := strings.Cut(post.Text, post.Link)
	if next, _ := utf8.DecodeRuneInString(after); after != "" && !unicode.IsSpace(next) && next != ')' && next != '>' {
		t.Fatalf("%q goes on after its link", post.Text)
	}
}

// checkCharacters checks that no character is half of one in the material, and none hidden.
func checkCharacters(t rapid.TB, m Material, style Style, post Post) {
	t.Helper()
	shown := func(text string) string {
		return strings.Map(func(r rune) rune {
			if !isTag(r) && unicode.In(r, unicode.Cf, unicode.Cc) && r != '\n' || strings.ContainsRune("\ufffd"+linkMark+lineMark, r) {
				return -1
			}
			return r
		}, text)
	}
	known := map[string]bool{"…": true, "\n": true}
	for _, dot := range dots + string(fullStop) { // before them, what parts a domain may stand
		text := string(wordJoiner) + string(dot)
		post.Text, post.ContentWarning = strings.ReplaceAll(post.Text, text, string(dot)), strings.ReplaceAll(post.ContentWarning, text, string(dot))
	}
	learn := func(text string) {
		for cluster := graphemes.FromString(text); cluster.Next(); {
			known[shown(cluster.Value())] = true
			if len(cluster.Value()) > maxCluster {
				known[shown(visible(cluster.Value()))] = true
			}
		}
	}
	for _, text := range append([]string{m.Title, m.Summary, m.Author, m.FeedTitle}, m.Categories...) {
		learn(text)
		learn(shown(text)) // what is hidden may have stood between characters that are one without it
		learn(hashtag(text))
	}
	learn(style.Template + style.ContentWarning + m.Source + "#bot, -0123456789" + post.Link)
	for cluster := graphemes.FromString(post.ContentWarning + "\n" + post.Text); cluster.Next(); {
		value := cluster.Value()
		if !known[shown(value)] && !strings.HasPrefix(value, " ") {
			t.Fatalf("%q is no character of the item, in %q", value, post.Text)
		}
		if r, size := utf8.DecodeRuneInString(value); size == len(value) && unicode.In(r, unicode.Cf, unicode.Cc) && r != '\n' {
			t.Fatalf("%q is hidden in %q", value, post.Text)
		}
	}
}

// R4.1: no template and no item makes the operator panic, hang, or grow without bound.
func FuzzCompose(f *testing.F) {
	for i, script := range scripts {
		f.Add(templates[i%len(templates)], "{{.FeedTitle}}", script, script+scripts[(i*7)%len(scripts)], "https://x.example/"+script, script, 100+i)
	}
	f.Add(`{{printf "%9999999d" 1}}`, "", "t", "s", "u", "c", 500)
	f.Add("{{range .Categories}}{{range $.Categories}}{{.}}{{end}}{{end}}", "", "t", "s", "http://u.example", "c", 500)
	f.Add(strings.Repeat("{{.Summary}}", 300), "", "t", strings.Repeat("@a ", 3000), "http://u.example", "c", 1)
	f.Fuzz(func(t *testing.T, source, warning, title, summary, link, category string, limit int) {
		composer, err := NewComposer(Style{Template: source, ContentWarning: warning, Hashtags: Hashtags{FromCategories: true, Always: []string{category}}})
		if err != nil {
			return
		}
		m := Material{Title: title, Summary: summary, URL: link, Author: title, FeedTitle: summary, Categories: []string{category, title}}
		limits := Limits{MaxCharacters: limit}
		post, err := composer.Compose(m, limits)
		if err != nil {
			var failed *failure.Error
			if !errors.As(err, &failed) || failed.Category != v1alpha1.CategoryValidation || post != (Post{}) {
				t.Fatalf("error = %v, post = %+v", err, post)
			}
			return
		}
		if strings.Contains(source, "://") || strings.Contains(source, "@") { // counts for less, or is a link of its own
			return
		}
		checkPost(t, m, limits, post)
	})
}

// R4.1: the link of an entry puts its post under no hashtag either: a server looks for those in links as well.
func TestALinkPutsAPostUnderNoHashtag(t *testing.T) {
	t.Parallel()
	composer, err := NewComposer(Style{})
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range []string{
		"https://feed.example/a-#Election", "https://feed.example/a,#Election", "https://feed.example/?#Election", "https://feed.example/a##Election",
		"https://feed.example/a%#Election", "https://feed.example/a;#選挙", "https://feed.example/a.#2026election", "https://feed.example#-#Election",
	} {
		post, err := composer.Compose(Material{Title: "A title", URL: link}, Limits{})
		if err != nil {
			t.Error(err)
		}
		for _, found := range foundHashtag.FindAllString(post.Text, -1) {
			if strings.Trim(found[strings.IndexAny(found, hashSigns):], hashSigns+"0123456789") != "" {
				t.Errorf("the hashtag %q is found in %q", found, post.Text)
			}
		}
	}
	for _, link := range []string{"https://feed.example/a#part", "https://feed.example/#part", "https://feed.example/a-#/part", "https://feed.example/a?b=#part"} {
		if got := WebLink(link); got != link {
			t.Errorf("%s became %s", link, got)
		}
	}
}
