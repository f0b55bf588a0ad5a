// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook_test

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/destination"
	"github.com/feed-operator/feed-operator/internal/destination/webhook"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/portion"
)

// R4.2: what an expression can say.
func TestAnExpressionMakesTheBody(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ body, want string }{
		"texts are put together":          {`{"text": title + "\n" + url}`, `{"text":"Title\nhttps://www.example.org/"}`},
		"keys stand in order":             {`{"b": 1, "a": 2, "c": {"z": 1, "y": 2}}`, `{"a":2,"b":1,"c":{"y":2,"z":1}}`},
		"numbers and truths":              {`{"i": -3, "u": 7u, "d": 1.5, "t": true, "n": null}`, `{"d":1.5,"i":-3,"n":null,"t":true,"u":7}`},
		"nothing of HTML is escaped":      {`{"a": "<&>"}`, `{"a":"<&>"}`},
		"a list":                          {`{"c": categories, "j": categories.join(", "), "n": categories.size()}`, `{"c":["a","b"],"j":"a, b","n":2}`},
		"a list of objects":               {`{"c": categories.map(c, {"name": c})}`, `{"c":[{"name":"a"},{"name":"b"}]}`},
		"a time":                          {`{"at": published}`, `{"at":"2026-04-01T14:30:00Z"}`},
		"a day":                           {`{"year": published.getFullYear("+09:00")}`, `{"year":2026}`},
		"a duration and bytes":            {`{"d": duration("90s"), "b": b"ab"}`, `{"b":"YWI=","d":"90s"}`},
		"a field that is there or not":    {`{?"a": optional.ofNonZeroValue(author), ?"g": optional.ofNonZeroValue(guid)}`, `{"g":"1"}`},
		"a value that may not be":         {`{"a": optional.none(), "b": optional.of("x")}`, `{"a":null,"b":"x"}`},
		"nothing":                         {`{}`, `{}`},
		"a key that is made":              {`{title: 1}`, `{"Title":1}`},
		"by kind":                         {`kind == "Item" ? {"ok": true} : {"ok": false}`, `{"ok":true}`},
		"an object of no known type":      {`dyn({"a": 1})`, `{"a":1}`},
		"all the names":                   {`{"a": [source, ns, item, provider, model, key, language, feed]}`, `{"a":["press","news","press-1","gemini","g3","k","en","Feed"]}`},
		"of a notification, empty":        {`{"a": [entry, error, facts, advice]}`, `{"a":["","","",""]}`},
		"a plain text":                    {`{"a": "@all see https://evil.com or <!channel> #tag".plain()}`, `{"a":"all see or <` + "\u2060" + `!channel> tag"}`},
		"a cut at a sentence":             {`{"a": "It is so. It was so. It will be.".cut(22)}`, `{"a":"It is so. It was so."}`},
		"a cut between words":             {`{"a": "The quick brown fox jumps".cut(17)}`, `{"a":"The quick brown…"}`},
		"a cut that leaves a domain":      {`{"a": "foo.comxyzzyabc".plain().cut(9)}`, `{"a":"foo` + "\u2060" + `.com…"}`},
		"a cut to nothing":                {`{"a": title.cut(0), "b": title.cut(-1)}`, `{"a":"","b":""}`},
		"a family is one character":       {`{"a": "👨‍👩‍👧👨‍👩‍👧".cut(10)}`, `{"a":"👨‍👩‍👧…"}`},
		"for Slack":                       {`{"a": "a < b & <!here>".escapeSlack()}`, `{"a":"a &lt; b &amp; &lt;!here&gt;"}`},
		"for Markdown":                    {`{"a": "*a* [b](c) &lt; \\".escapeMarkdown()}`, `{"a":"\\*a\\* \\[b\\]\\(c\\) &` + "\u2060" + `lt; \\\\"}`},
		"for HTML":                        {`{"a": "<b> & \"".escapeHTML()}`, `{"a":"&lt;b&gt; &amp; &#34;"}`},
		"escaped within so many":          {`{"a": "<<<<<<".escapeSlack(14)}`, `{"a":"&lt;&lt;&lt;…"}`},
		"nothing is cut within an escape": {`{"a": "******".escapeMarkdown(8)}`, `{"a":"\\*\\*\\*…"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			post, err := writer(t, "", test.body).Compose(destination.Material{
				Title: "Title", Summary: "Summary", URL: "https://user:secret@www.example.org/", FeedTitle: "Feed", Language: "en", Categories: []string{"a", "b"},
				Published: time.Date(2026, 4, 1, 14, 30, 0, 0, time.UTC), GUID: "1", Namespace: "news", Source: "press", Item: "press-1",
				Provider: "gemini", Model: "g3", Key: "k",
			}, destination.Limits{})
			if err != nil || post.Text != test.want {
				t.Errorf("%s\nis   %s, %v\nwant %s", test.body, post.Text, err, test.want)
			}
			if post.Link != "https://www.example.org/" || post.Language != "en" {
				t.Errorf("link %q, language %q", post.Link, post.Language)
			}
		})
	}
}

// R4.2: who has made a mistake is told which, and where.
func TestAWrongExpressionIsRefusedInWords(t *testing.T) {
	t.Parallel()
	const costly, object = "the expression can take too long", `the expression must give a JSON object, such as {"text": title}, not `
	for name, test := range map[string]struct{ body, says string }{
		"a name is wrong":           {`{"text": titel}`, "line 1, column 10: undeclared reference to 'titel' (did you mean 'title'?)"},
		"on the second line":        {"{\"text\":\n  titel}", "line 2, column 3: undeclared reference to 'titel'"},
		"CEL's own word":            {`{"n": namespace}`, "line 1, column 7: reserved identifier: namespace"},
		"it is cut off":             {`{"text": title`, "line 1, column 15: Syntax error"},
		"there is no such function": {`{"text": title.escape()}`, "undeclared reference to 'escape'"},
		"a text with a number":      {`{"text": title + 1}`, "found no matching overload for '_+_' applied to '(string, int)'"},
		"a text":                    {`title`, object + "string"},
		"a list":                    {`[title]`, object + "list(string)"},
		"a number":                  {`1`, object + "int"},
		"an object of numbers":      {`{1: title}`, object + "map(int, string)"},
		"it may be one":             {`optional.of({"text": title})`, object + "optional_type(map(string, string))"},
		"a text for each of a text": {`{"text": summary.replace("", summary)}`, costly},
		"a text that is doubled":    {`{"text": [summary]` + strings.Repeat(`.map(a, a + a)`, 30) + `[0]}`, costly},
		"loops in loops":            {`{"n": ` + strings.Repeat(`categories.all(a, `, 5) + `true` + strings.Repeat(`)`, 5) + `}`, costly},
		"a slow pattern":            {`{"a": summary.matches("(\\w{1,100}){9}x")}`, costly},
		"plain time and again":      {`{"a": categories.map(a, categories.map(b, summary.plain()))}`, costly},
		"a chain that is too long":  {`{"a": [[title]]` + strings.Repeat(`.map(a, [a, a])`, 100) + `}`, "a chain of calls in it is too long"},
		"it is too long":            {`{"text": "` + strings.Repeat("x", 8_192) + `"}`, "size exceeds limit"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			made, err := webhook.NewWriter("", test.body)
			if err == nil || made != nil || !strings.Contains(err.Error(), test.says) {
				t.Fatalf("it says %v, want %q", err, test.says)
			}
			if length := len(err.Error()); length > 1200 {
				t.Errorf("it says so in %d bytes", length)
			}
		})
	}
	if _, err := webhook.NewWriter("Fax", ""); err == nil || err.Error() != `there is no format "Fax"` {
		t.Error(err)
	}
	if _, err := webhook.NewWriter("", `{"a": "`+strings.Repeat("x", 8_192-9)+`"}`); err != nil {
		t.Errorf("the longest: %v", err)
	}
}

// R4.2: a body that cannot be made for an item says why, and repeats nothing of it; it is never retried as it is.
func TestABodyThatFailsSaysWhy(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ body, kind, says string }{
		"no object after all":        {`dyn(title)`, failure.TypeUnsupported, `the expression gives a string, not a JSON object, such as {"text": title}`},
		"no object but a list":       {`dyn([1])`, failure.TypeUnsupported, `the expression gives a list, not a JSON object`},
		"beyond the categories":      {`{"a": categories[0]}`, failure.TypeUnsupported, "an index is out of range"},
		"no date":                    {`{"a": published.getFullYear()}`, failure.TypeUnsupported, "there is no date (published is null)"},
		"no number":                  {`{"a": {"b": [0.0, 0.0 / 0.0]}}`, failure.TypeUnsupported, "the body's .a.b[1] is a number that JSON cannot hold"},
		"an endless number":          {`{"a": 1.0 / 0.0}`, failure.TypeUnsupported, "the body's .a is a number that JSON cannot hold"},
		"a key that is no text":      {`{"a": {1: 2}}`, failure.TypeUnsupported, "the body's .a has a key that is no text"},
		"a type":                     {`{"a": type(title)}`, failure.TypeUnsupported, "the body's .a is a type, which JSON cannot hold"},
		"far more than it took":      {`{"a": [[title]]` + strings.Repeat(`.map(a, [a, a])`, 14) + `, "b": [[summary]]` + strings.Repeat(`.map(a, [a, a])`, 7) + `}`, failure.TypeTooLong, "more than 262144 bytes"},
		"endless values in values":   {`{"a": [[title]]` + strings.Repeat(`.map(a, [a, a])`, 40) + `}`, failure.TypeUnsupported, "it makes too large a value"},
		"endless texts in no type":   {`{"a": [dyn([title])]` + strings.Repeat(`.map(a, dyn({"a": a, "b": a}))`, 40) + `}`, failure.TypeUnsupported, "it makes too large a value"},
		"too many within each other": {`{"a": ` + `[dyn(1)]` + strings.Repeat(`.map(a, dyn([a]))`, 55) + strings.Repeat("", 1) + `.map(a, [[[[[[[[[[a]]]]]]]]]])}`, failure.TypeUnsupported, "more than 64 objects and lists within each other"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			post, err := writer(t, "", test.body).Compose(destination.Material{Title: "hush", Summary: strings.Repeat("hush ", 2_000)}, destination.Limits{})
			var failed *failure.Error
			if !errors.As(err, &failed) || failed.Category != v1alpha1.CategoryValidation || failed.Type != test.kind || post != (destination.Post{}) {
				t.Fatalf("error %#v, post %v", err, post)
			}
			if !strings.Contains(err.Error(), test.says) || strings.Contains(err.Error(), "hush") || !strings.HasSuffix(err.Error(), ".") {
				t.Errorf("it says %q, want %q", err, test.says)
			}
		})
	}
	_, err := writer(t, "", `{"a": 1}`).Compose(destination.Material{Title: "\u200b", Summary: "\x00", URL: "ftp://x.example"}, destination.Limits{})
	var failed *failure.Error
	if !errors.As(err, &failed) || failed.Type != failure.TypeEmpty {
		t.Errorf("nothing to say: %v", err)
	}
}

// What anybody may have written.
var pieces = []string{
	"a", " ", "\n", "\r\n", ". ", "。", "The end. ", "<!channel>", "@everyone", "<users/all>", "<@U1>", "@", "<", "&amp;", "&", "\"", "\\", "*", "_", "`", "~", "|", ">",
	"#", "[x](https://evil.com/)", "(", "- ", "1. ", "===", "https://evil.com/a", "evil.com", "😀", "👨‍👩‍👧", "🇯🇵", "e\u0301", "\u202e", "\u2066", "\u200b",
	"\x00", "\xff", "\u2028", "\ufffd", "日本語", "שלום", "\u2060", "=\n=", "  x",
}

// R4.2: whatever the material, each format gives a body that the service takes, and that calls nobody. 1,000 bodies at least, in the whole.
func TestBodiesKeepTheirPromises(t *testing.T) {
	t.Parallel()
	compiled, writers := schemas(t), map[v1alpha1.WebhookFormat]*webhook.Writer{}
	for _, format := range all {
		writers[format] = writer(t, format, "")
	}
	for range portion.Of(10, 2) { // a check makes 100 unless told otherwise, and in part 25
		rapid.Check(t, func(t *rapid.T) { checkBody(t, compiled, writers) })
	}
}

// checkBody checks the body that a format makes of something.
func checkBody(t *rapid.T, compiled map[v1alpha1.WebhookFormat]*jsonschema.Schema, writers map[v1alpha1.WebhookFormat]*webhook.Writer) {
	text := func(label string, most int) string {
		some := rapid.SliceOfN(rapid.SampledFrom(pieces), 0, most).Draw(t, label)
		return strings.Repeat(strings.Join(some, ""), rapid.SampledFrom([]int{1, 1, 1, 1, 3, 300}).Draw(t, label+" times"))
	}
	m := destination.Material{
		Title: text("title", 8), Summary: text("summary", 20), Author: text("author", 3), FeedTitle: text("feed", 3), GUID: text("guid", 3),
		Categories: []string{text("category", 2)}, URL: rapid.SampledFrom([]string{"", link, "https://x.example/@all/" + strings.Repeat("é&", 100)}).Draw(t, "url"),
		Source: "press", Namespace: "news", Item: "press-1", Key: "k",
		Published: time.Unix(rapid.Int64Range(-1<<40, 1<<40).Draw(t, "published"), 0),
	}
	format := rapid.SampledFrom(all).Draw(t, "format")
	post, err := writers[format].Compose(m, destination.Limits{})
	if err != nil {
		if destination.LegibleLine(m.Title, 1_000)+destination.Legible(m.Summary, 10_000)+m.URL != "" {
			t.Fatalf("%s: %v", format, err)
		}
		return
	}
	checkFits(t, compiled[format], format, post.Text)
	if slices.Contains(chats, format) {
		checkHarmless(t, format, post.Text, post.Link)
	}
	if !hasLink(t, format, post.Text, post.Link) {
		t.Errorf("%s: the link %q is not in %s", format, post.Link, post.Text)
	}
	told, err := writers[format].ComposeNotice(destination.Notice{
		Subject: "Failed", Title: m.Title, Error: m.Summary, Facts: m.Author, URL: m.URL, Namespace: "news", Source: "press", Item: "press-1", Key: "k",
	}, destination.Limits{})
	if err != nil {
		t.Fatalf("%s: %v", format, err)
	}
	checkFits(t, compiled[format], format, told.Text)
	if slices.Contains(chats, format) {
		checkHarmless(t, format, told.Text, told.Link)
	}
}

// R4.2: whatever is cut has no more characters than it may, by any way of counting, escaped or not.
func TestCutsKeepTheirPromises(t *testing.T) {
	t.Parallel()
	of := writer(t, "", `{"cut": summary.cut(40), "plain": summary.plain().cut(40), "slack": summary.escapeSlack(40),
		"markdown": summary.plain().escapeMarkdown(40), "html": summary.escapeHTML(40)}`)
	rapid.Check(t, func(t *rapid.T) {
		summary := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 1, 60).Draw(t, "summary"), "")
		post, err := of.Compose(destination.Material{Title: "t", Summary: summary}, destination.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		for at, text := range texts(decoded(t, post.Text), "", map[string]string{}) {
			if count := len(utf16.Encode([]rune(text))); count > 40 {
				t.Errorf("%s has %d characters: %q", at, count, text)
			}
		}
	})
}

// A Writer serves many at once, and writers are made at the same time.
func TestAWriterIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	of := writer(t, v1alpha1.WebhookSlack, "")
	want, err := of.Compose(hostile(), destination.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if _, err := webhook.NewWriter("", `{"text": titel}`); err == nil {
				t.Error("it is taken")
			}
			for range 5 {
				if got, err := of.Compose(hostile(), destination.Limits{}); err != nil || got != want {
					t.Errorf("%v, %v", got, err)
				}
			}
		})
	}
	group.Wait()
}

// R4.2: whatever the expression and the item are, it is refused or gives JSON, in the end, and the same the next time.
func FuzzWriter(f *testing.F) {
	for _, body := range []string{
		`{"text": title.plain().cut(10) + url}`,
		`{"a": categories.map(c, {"n": c, "s": summary.escapeMarkdown(100)}), ?"b": optional.ofNonZeroValue(author)}`,
		`{"a": published, "b": duration("1s"), "c": b"x", "d": 1.0 / 0.0}`,
		`dyn([title]).map(a, {"a": a})[0]`,
		`{title: summary.escapeHTML(), guid: summary.escapeSlack()}`,
		`{"a": [[title]].map(a, [a, a]).map(a, [a, a]).map(a, a + a)}`,
		`{"a": "%s".format([categories])}`,
		`{"a":`, "\x00",
	} {
		f.Add(body, "Title <!channel> @all", "A summary. \u202e https://evil.com", "https://www.example.org/", "a,b", int64(1_775_000_000))
	}
	f.Fuzz(func(t *testing.T, body, title, summary, url, categories string, published int64) {
		m := destination.Material{Title: title, Summary: summary, URL: url, Author: title, GUID: url, Categories: strings.Split(categories, ","), Published: time.Unix(published, 0)}
		for _, format := range append(all, "") {
			expression := body
			if format != "" {
				expression = ""
			}
			of, err := webhook.NewWriter(format, expression)
			if err != nil {
				if len(err.Error()) > 5_000 {
					t.Fatalf("it is refused in %d bytes", len(err.Error()))
				}
				continue
			}
			post, err := of.Compose(m, destination.Limits{})
			var failed *failure.Error
			if err != nil {
				if !errors.As(err, &failed) || failed.Category != v1alpha1.CategoryValidation {
					t.Fatal(err)
				}
				continue
			}
			decoded(t, post.Text)
			if again, err := of.Compose(m, destination.Limits{}); err != nil || again != post || len(post.Text) > 256<<10 {
				t.Fatalf("%q, then %q, %v", post.Text, again.Text, err)
			}
		}
	})
}
