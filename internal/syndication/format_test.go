// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package syndication

import (
	"bytes"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
)

// R4.6
func TestReadersSeeTheSummaries(t *testing.T) {
	t.Parallel()
	handler := NewHandler(newStore(2), Options{})
	for path, feedType := range map[string]string{atomPath: "atom", jsonPath: "json"} {
		t.Run(feedType, func(t *testing.T) {
			t.Parallel()
			answer := get(t, handler, path)
			wantStatus(t, answer, 200)
			feed := parse(t, answer.Body.Bytes())
			if feed.FeedType != feedType || feed.Title != "Example Blog" || feed.FeedLink != "http://feeds.test"+path || feed.Link != "https://blog.example.org/" {
				t.Errorf("type %q, title %q, feed link %q, link %q", feed.FeedType, feed.Title, feed.FeedLink, feed.Link)
			}
			if len(feed.Items) != 2 {
				t.Fatalf("%d items, want 2", len(feed.Items))
			}
			item := feed.Items[0]
			got := map[string]any{
				"id": item.GUID, "title": item.Title, "link": item.Link, "text": item.Description + item.Content,
				"author": item.Authors[0].Name, "categories": item.Categories,
				"published": item.PublishedParsed.UTC(), "updated": item.UpdatedParsed.UTC(),
			}
			want := map[string]any{
				"id": "urn:uuid:" + string(uid(2, 1)), "title": "Title 1", "text": "Summary 1.",
				"link":   "https://blog.example.org/articles/1?page=1&view=all",
				"author": "Ada Lovelace", "categories": []string{"Computing", "History"},
				"published": launch.Add(time.Hour), "updated": launch.Add(time.Hour + time.Minute),
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestBothFormatsAreValid(t *testing.T) {
	t.Parallel()
	bare := newItem(0)
	bare.Spec.Title, bare.Spec.URL, bare.Spec.Author, bare.Spec.Categories, bare.Spec.PublishedTime = "", "", "", nil, nil
	full := newItem(1)
	cases := map[string]struct {
		prepare    func(*store)
		wantTitle  string
		wantLinks  []string
		wantUpdate time.Time
	}{
		"an empty feed": {
			prepare:   func(s *store) { s.items = nil },
			wantTitle: "Example Blog", wantUpdate: launch,
		},
		"a source that was never polled goes by its name": {
			prepare:   func(s *store) { s.items = nil; s.sources[0].Status.Title = "" },
			wantTitle: "example.blog", wantUpdate: launch,
		},
		"an item without title, link, author, category or date": {
			prepare:   func(s *store) { s.items = append(s.items[:0], bare) },
			wantTitle: "Example Blog", wantLinks: []string{""}, wantUpdate: launch.Add(time.Minute),
		},
		"a suspended source": {
			prepare:   func(s *store) { s.sources[0].Spec.Suspend = true; s.items = append(s.items[:0], full) },
			wantTitle: "Example Blog", wantLinks: []string{full.Spec.URL}, wantUpdate: launch.Add(time.Hour + time.Minute),
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			objects := newStore(0)
			c.prepare(objects)
			handler := NewHandler(objects, Options{})
			answer := get(t, handler, atomPath)
			wantStatus(t, answer, 200)
			root := checkAtom(t, answer.Body.Bytes())
			if got, want := root.all("updated")[0].Text, stamp(c.wantUpdate); got != want {
				t.Errorf("updated %s, want %s", got, want)
			}
			answerJSON := get(t, handler, jsonPath)
			wantStatus(t, answerJSON, 200)
			checkJSONFeed(t, answerJSON.Body.Bytes())
			for _, body := range [][]byte{answer.Body.Bytes(), answerJSON.Body.Bytes()} {
				feed := parse(t, body)
				var links []string
				for _, item := range feed.Items {
					links = append(links, item.Link)
				}
				if feed.Title != c.wantTitle {
					t.Errorf("title %q, want %q", feed.Title, c.wantTitle)
				}
				if diff := cmp.Diff(c.wantLinks, links); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

// R5.6: no credentials in a link. The rest: nothing that a reader would run.
func TestArticleLink(t *testing.T) {
	t.Parallel()
	for link, want := range map[string]string{
		"https://example.org/a?b=c&d=e#f":       "https://example.org/a?b=c&d=e#f",
		" http://example.org:8080/ ":            "http://example.org:8080/",
		"https://user:pass@example.org/a":       "https://example.org/a",
		"https://example.org/a b?c d":           "https://example.org/a%20b?c%20d",
		"https://例え.jp/記事":                      "https://%E4%BE%8B%E3%81%88.jp/%E8%A8%98%E4%BA%8B",
		"javascript:alert(1)":                   "",
		"data:text/html,<script>alert(1)":       "",
		"//example.org/a":                       "",
		"/a":                                    "",
		"https:///a":                            "",
		"":                                      "",
		"https://example.org/\x00":              "",
		"https://example.org/\"><script>":       "https://example.org/%22%3E%3Cscript%3E",
		"HTTPS://example.org/upper-case scheme": "https://example.org/upper-case%20scheme",
	} {
		if got := articleLink(link); got != want {
			t.Errorf("articleLink(%q) = %q, want %q", link, got, want)
		}
	}
}

// hostile texts, and what a reader is to see of them.
var hostile = map[string]string{
	"plain":                        "plain",
	"<script>alert(1)</script>":    "<script>alert(1)</script>",
	"a ]]> b <![CDATA[ c":          "a ]]> b <![CDATA[ c",
	"AT&T &lt;b&gt; &amp;amp;":     "AT&T &lt;b&gt; &amp;amp;",
	`"quotes" and 'apostrophes'`:   `"quotes" and 'apostrophes'`,
	"nul\x00 bell\x07 esc\x1b[31m": "nul bell esc[31m",
	"c1\u0085\u009f del\x7f":       "c1 del",
	"not\ufffe characters\uffff":   "not characters",
	"bad bytes \xff\xfe end":       "bad bytes  end",
	"family 👩‍👩‍👧‍👦 flag 🇯🇵 math 𝒳":  "family 👩‍👩‍👧‍👦 flag 🇯🇵 math 𝒳",
	"עברית و العربية\u200f!":         "עברית و العربية\u200f!",
	"txt.\u202eexe\u202c \u2066x":    "txt.exe x",
	"日本語の要約。":                        "日本語の要約。",
	"<!DOCTYPE a [<!ENTITY b 'c'>]>": "<!DOCTYPE a [<!ENTITY b 'c'>]>",
	"line\u2028separator":            "line\u2028separator",
}

func TestHostileTextIsTextOnly(t *testing.T) {
	t.Parallel()
	for text, want := range hostile {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			checkText(t, text, want)
		})
	}
}

// checkText puts a text into every place that a feed has and reads it back.
func checkText(t rapid.TB, text, want string) {
	t.Helper()
	source, item := newSource(), newItem(1)
	source.Status.Title, item.Spec.Title, item.Spec.Author, item.Spec.Categories = text, text, text, []string{text}
	item.Status.Summary.Text = "Begin " + text + " end."
	feed := &document{
		id: urn(source.UID), title: oneLine(source.Status.Title), updated: launch,
		self: "https://feeds.test/a", other: "https://feeds.test/b", entries: []*entry{newEntry(item)},
	}
	oneLineWant, inSummary := strings.Join(strings.Fields(want), " "), "Begin "+want+" end."
	if feed.title == "" {
		feed.title = "a title"
	}

	body, err := renderAtom(feed)
	if err != nil {
		t.Fatal(err)
	}
	root := checkAtom(t, body)
	if !utf8.Valid(body) {
		t.Errorf("not UTF-8: %q", body)
	}
	e := root.all("entry")[0]
	if got := e.all("title")[0].Text; got != oneLineWant {
		t.Errorf("Atom title %q, want %q", got, oneLineWant)
	}
	if got := e.all("summary")[0]; got.Text != inSummary || got.attr("type") != "text" || len(got.Children) > 0 {
		t.Errorf("Atom summary %q (%s), want %q", got.Text, got.attr("type"), inSummary)
	}
	if oneLineWant != "" {
		if got := e.all("category")[0].attr("term"); got != oneLineWant {
			t.Errorf("Atom category %q, want %q", got, oneLineWant)
		}
		if got := e.all("author")[0].all("name")[0].Text; got != oneLineWant {
			t.Errorf("Atom author %q, want %q", got, oneLineWant)
		}
	}
	parse(t, body)

	if body, err = renderJSONFeed(feed); err != nil {
		t.Fatal(err)
	}
	checkJSONFeed(t, body)
	item0 := parse(t, body).Items[0]
	if item0.Content != inSummary || item0.Title != oneLineWant {
		t.Errorf("JSON title %q and text %q, want %q and %q", item0.Title, item0.Content, oneLineWant, inSummary)
	}
	if bytes.ContainsAny(body, "<>") {
		t.Errorf("JSON that a browser could take for HTML: %s", body)
	}
}

func TestAnyTextGivesAValidFeed(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		checkText(t, text, plain(text))
	})
}

func FuzzText(f *testing.F) {
	for text := range hostile {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) { checkText(t, text, plain(text)) })
}

func TestSummaryThatIsGoneGivesNoEntry(t *testing.T) {
	t.Parallel()
	item := newItem(1)
	item.Status.Summary = nil
	if newEntry(item) != nil {
		t.Error("an entry without summary")
	}
	retried := newItem(1)
	retried.Status.Phase = v1alpha1.PhasePending
	if newEntry(retried) != nil {
		t.Error("an entry of an item that is worked on again")
	}
}
