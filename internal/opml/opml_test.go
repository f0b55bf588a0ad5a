// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package opml_test

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"k8s.io/apimachinery/pkg/util/validation"
	"pgregory.net/rapid"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/opml"
	"github.com/feed-operator/feed-operator/internal/portion"
)

func init() { portion.Draws(25) }

func parse(t rapid.TB, text string) *opml.Document {
	t.Helper()
	document, err := opml.Parse([]byte(text))
	if err != nil {
		t.Fatalf("%v in %.300s", err, text)
	}
	return document
}

// brief is a FeedSource in one line: name, URL, title, folder.
func brief(sources []v1alpha1.FeedSource) []string {
	var lines []string
	for i := range sources {
		s := &sources[i]
		lines = append(lines, strings.Join([]string{s.Name, s.Spec.URL, s.Annotations[v1alpha1.AnnotationTitle], s.Annotations[v1alpha1.AnnotationFolder]}, " | "))
	}
	return lines
}

// R6.4: what feed readers write is read.
func TestAListBecomesFeedSources(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		outlines string
		want     []string
		skipped  []string
	}{
		"a feed": {
			`<outline type="rss" text="Ministry Press" xmlUrl="https://www.ministry.example/press/news.rdf" htmlUrl="https://www.ministry.example/"/>`,
			[]string{"ministry-press | https://www.ministry.example/press/news.rdf | Ministry Press | "}, nil,
		},
		"title goes before text": {
			`<outline text="a" title="The Title" xmlUrl="https://a.example/feed"/>`, []string{"the-title | https://a.example/feed | The Title | "}, nil,
		},
		"folders in each other": {
			`<outline text="News"><outline text="Tech/Science &amp; 50%"><outline text="Alpha" xmlUrl="https://a.example/f"/></outline><outline text="Beta" xmlUrl="https://b.example/f"/></outline>`,
			[]string{"alpha | https://a.example/f | Alpha | News/Tech%2FScience & 50%25", "beta | https://b.example/f | Beta | News"}, nil,
		},
		"quotes, umlauts and accents": {
			`<outline text="Süße &quot;Grüße&quot; d&#39;été" xmlUrl="https://a.example/f"/>`, []string{`suesse-gruesse-dete | https://a.example/f | Süße "Grüße" d'été | `}, nil,
		},
		"a title without Latin letters is named by its URL": {
			`<outline text="国土交通省 RSS" xmlUrl="https://www.mlit.example/press/index.rdf"/>`, []string{"mlit-example-press | https://www.mlit.example/press/index.rdf | 国土交通省 RSS | "}, nil,
		},
		"one name for two feeds": {
			`<outline text="News" xmlUrl="https://a.example/f"/><outline text="news!" xmlUrl="https://b.example/f"/>`,
			[]string{"news | https://a.example/f | News | ", "news-79adea | https://b.example/f | news! | "}, nil,
		},
		"other spellings of the URL's attribute": {
			`<outline text="One" xmlurl="https://a.example/1"/><outline text="Two" XMLURL="https://a.example/2"/><outline type="rss" text="Three" url="https://a.example/3"/><outline text="Four" xmlUrl="feed://a.example/4"/><outline text="Five" xmlUrl="feed:https://a.example/5"/>`,
			[]string{"one | https://a.example/1 | One | ", "two | https://a.example/2 | Two | ", "three | https://a.example/3 | Three | ", "four | http://a.example/4 | Four | ", "five | https://a.example/5 | Five | "}, nil,
		},
		"what is no feed is skipped": {
			`<outline text="A note"/><outline type="link" text="A page" url="https://a.example/"/><outline text="Folder"><outline text="Inner" xmlUrl="https://a.example/f"/></outline>`,
			[]string{"inner | https://a.example/f | Inner | Folder"},
			[]string{"A note: it has no URL of a feed (xmlUrl)", `A page: it is no feed, but of the type "link"`},
		},
		"a feed that is there twice is skipped": {
			`<outline text="One" xmlUrl="https://A.example/f?utm_source=x"/><outline text="Again" xmlUrl="http://a.example/f"/>`,
			[]string{"one | https://A.example/f?utm_source=x | One | "}, []string{"Again: it is the same feed as one"},
		},
		"credentials and other schemes are refused as the API refuses them": {
			`<outline text="Secret" xmlUrl="https://user:hunter2hunter2@a.example/f"/><outline text="File" xmlUrl="file:///etc/passwd"/><outline text="Hostless" xmlUrl="https:///x"/>`,
			nil,
			[]string{
				"Secret! url must not hold a user name or password: put them into a Secret and name it in secretRef",
				"File! url must be a full http:// or https:// URL", "Hostless! url must be a full http:// or https:// URL",
			},
		},
		"a feed that is a folder too": {
			`<outline text="Outer" xmlUrl="https://a.example/1"><outline text="Inner" xmlUrl="https://a.example/2"/></outline>`,
			[]string{"outer | https://a.example/1 | Outer | ", "inner | https://a.example/2 | Inner | Outer"}, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, version := range []string{"1.0", "2.0"} {
				document := parse(t, `<?xml version="1.0" encoding="UTF-8"?><opml version="`+version+`"><head><title>Mine</title></head><body>`+test.outlines+`</body></opml>`)
				sources, skipped := opml.Sources(document.Feeds, v1alpha1.FeedSource{})
				if diff := gocmp.Diff(test.want, brief(sources)); diff != "" {
					t.Errorf("sources (-want +got):\n%s", diff)
				}
				var notes []string
				for _, entry := range append(document.Skipped, skipped...) {
					notes = append(notes, entry.Title+map[bool]string{false: ": ", true: "! "}[entry.Refused]+entry.Why)
				}
				if diff := gocmp.Diff(test.skipped, notes); diff != "" {
					t.Errorf("skipped (-want +got):\n%s", diff)
				}
				if document.Title != "Mine" {
					t.Errorf("title %q", document.Title)
				}
			}
		})
	}
}

// R6.4: a list may be in any character set, and say a wrong one.
func TestCharacterSetsAreUnderstood(t *testing.T) {
	t.Parallel()
	list := func(charset, title string) string {
		return `<?xml version="1.0" encoding="` + charset + `"?><opml version="1.1"><body><outline text="` + title + `" xmlUrl="https://a.example/f"/></body></opml>`
	}
	latin, err := charmap.ISO8859_1.NewEncoder().String(list("ISO-8859-1", "Käse"))
	if err != nil {
		t.Fatal(err)
	}
	sjis, err := japanese.ShiftJIS.NewEncoder().String(list("Shift_JIS", "報道発表資料の一覧です"))
	if err != nil {
		t.Fatal(err)
	}
	for want, text := range map[string]string{
		"Käse": latin, "報道発表資料の一覧です": sjis, "Wörter": list("ISO-8859-1", "Wörter"), "Grüße": "\ufeff" + list("utf-8", "Grüße"),
	} {
		if got := parse(t, text).Feeds; len(got) != 1 || got[0].Title != want {
			t.Errorf("want %q, got %+v", want, got)
		}
	}
}

// R6.4: what is exported comes back the same, names, titles and folders.
func TestImportAfterExportChangesNothing(t *testing.T) {
	t.Parallel()
	text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"News", "news!", `"quoted" & <b>`, "日本語", "Grüße", "a/b", "100%", "%2F", "", " "}))
	rapid.Check(t, func(t *rapid.T) {
		feeds := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) opml.Feed {
			return opml.Feed{
				Title: text.Draw(t, "title"), Folder: rapid.SliceOfN(text, 0, 3).Draw(t, "folder"),
				URL: fmt.Sprintf("https://example.org/%d", rapid.IntRange(0, 20).Draw(t, "url")),
			}
		}), 0, 20).Draw(t, "feeds")
		first, _ := opml.Sources(feeds, v1alpha1.FeedSource{})
		var list bytes.Buffer
		if err := opml.Write(&list, opml.Document{Title: "t", Feeds: opml.Feeds(first)}); err != nil {
			t.Fatal(err)
		}
		document := parse(t, list.String())
		second, skipped := opml.Sources(document.Feeds, v1alpha1.FeedSource{})
		if len(skipped)+len(document.Skipped) > 0 {
			t.Fatalf("skipped %v %v", skipped, document.Skipped)
		}
		var once, twice bytes.Buffer
		byName := func(a, b v1alpha1.FeedSource) int { return cmp.Compare(a.Name, b.Name) }
		slices.SortFunc(first, byName)
		slices.SortFunc(second, byName)
		want, got := opml.Feeds(first), opml.Feeds(second)
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Fatalf("import after export (-before +after):\n%s\n%s", diff, list.String())
		}
		third, _ := opml.Sources(parse(t, list.String()).Feeds, v1alpha1.FeedSource{})
		_ = opml.Write(&once, opml.Document{Feeds: opml.Feeds(third)})
		_ = opml.Write(&twice, opml.Document{Feeds: parse(t, once.String()).Feeds})
		if once.String() != twice.String() {
			t.Fatalf("an export of an import differs:\n%s\n%s", once.String(), twice.String())
		}
		for i := range second {
			if errs := validation.IsDNS1123Subdomain(second[i].Name); len(errs) > 0 || len(second[i].Name) > 63 {
				t.Fatalf("name %q: %v", second[i].Name, errs)
			}
		}
	})
}

// R6.4: a name that a list keeps is kept, and no other feed gets it.
func TestNamesOfAnExportAreKept(t *testing.T) {
	t.Parallel()
	sources, _ := opml.Sources([]opml.Feed{
		{Title: "Press", URL: "https://a.example/f"}, {Name: "press", Title: "Another", URL: "https://b.example/f"},
		{Name: "press", Title: "Third", URL: "https://c.example/f"}, {Name: "Not A Name", Title: "Fourth", URL: "https://d.example/f"},
	}, v1alpha1.FeedSource{})
	var got []string
	for i := range sources {
		got = append(got, sources[i].Name)
	}
	if want := []string{"press-e6f88a", "press", "third", "fourth"}; !slices.Equal(got[1:], want[1:]) || !strings.HasPrefix(got[0], "press-") {
		t.Errorf("names %v, want %v", got, want)
	}
}

func TestManySubscriptionsAreRead(t *testing.T) {
	t.Parallel()
	var list strings.Builder
	list.WriteString(`<opml version="2.0"><body>`)
	for i := range 5000 {
		fmt.Fprintf(&list, `<outline text="Folder %d"><outline type="rss" text="News" xmlUrl="https://example.org/%d.xml"/></outline>`, i%100, i)
	}
	list.WriteString(`</body></opml>`)
	sources, skipped := opml.Sources(parse(t, list.String()).Feeds, v1alpha1.FeedSource{})
	names := map[string]bool{}
	for i := range sources {
		names[sources[i].Name] = true
	}
	if len(sources) != 5000 || len(names) != 5000 || len(skipped) != 0 {
		t.Errorf("%d sources, %d names, %d skipped", len(sources), len(names), len(skipped))
	}
}

// R1.6: a hostile list is refused or read, within bounds.
func TestHostileListsAreBounded(t *testing.T) {
	t.Parallel()
	bomb := `<!DOCTYPE opml [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]><opml><body><outline text="&b;" xmlUrl="https://a.example/f"/></body></opml>`
	if feeds := parse(t, bomb).Feeds; len(feeds) != 1 || strings.Contains(feeds[0].Title, "aaaa") {
		t.Errorf("entities were expanded: %+v", feeds)
	}
	for name, text := range map[string]string{
		"too deep":      "<opml><body>" + strings.Repeat(`<outline text="x">`, 100_000),
		"too many":      "<opml><body>" + strings.Repeat(`<outline text="x"/>`, 60_000),
		"too large":     "<opml><body>" + strings.Repeat(" ", opml.MaxBytes),
		"a feed":        `<rss version="2.0"><channel><title>x</title></channel></rss>`,
		"no XML":        "hello",
		"nothing":       "",
		"a web page":    "<!doctype html><html><body>hello</body></html>",
		"broken before": "<",
	} {
		if document, err := opml.Parse([]byte(text)); err == nil {
			t.Errorf("%s: %d feeds and no error", name, len(document.Feeds))
		} else if strings.ContainsAny(err.Error(), "\n\x1b") {
			t.Errorf("%s: %q", name, err)
		}
	}
	cut := parse(t, `<opml><body><outline text="One" xmlUrl="https://a.example/f"/><outline text="Two" xmlUrl="https://b.exa`)
	if len(cut.Feeds) != 1 || len(cut.Skipped) != 1 || !cut.Skipped[0].Refused {
		t.Errorf("a list that was cut: %+v", cut)
	}
	shown := parse(t, "<opml><body><outline text=\"a\u202eb\u009bc&#10;d\" xmlUrl=\"https://a.example/f\"/></body></opml>").Feeds[0].Title
	if shown != "abc d" {
		t.Errorf("title %q", shown)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`<opml><body><outline text="a"><outline text="One" xmlUrl="https://a.example/f"/></outline></body></opml>`))
	f.Fuzz(func(t *testing.T, body []byte) {
		document, err := opml.Parse(body)
		if err != nil {
			return
		}
		sources, _ := opml.Sources(document.Feeds, v1alpha1.FeedSource{})
		for i := range sources {
			if len(validation.IsDNS1123Subdomain(sources[i].Name)) > 0 {
				t.Errorf("name %q", sources[i].Name)
			}
		}
	})
}
