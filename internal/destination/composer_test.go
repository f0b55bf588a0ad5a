// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package destination

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/prose"
)

var flood = Material{
	Title:   "River levels will be forecast for 15 hours",
	Summary: "The agency forecasts the levels of 109 rivers. Until now it looked six hours ahead. Dr. Smith calls it a great step for all who live near water.",
	URL:     "https://agency.example/press/2026/0504.html",
	Author:  "Jane Doe", Source: "agency", FeedTitle: "The Agency", Language: "en",
	Categories: []string{"rivers", "press release"},
	Published:  time.Date(2026, 5, 4, 10, 30, 0, 0, time.FixedZone("", 9*3600)),
}

// R4.1: template, visibility, language, content warning and hashtags.
func TestComposeFollowsTheStyle(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		style    Style
		material Material
		want     Post
	}{
		"title, summary, link and hashtags unless said otherwise": {
			Style{Hashtags: Hashtags{FromCategories: true}, Visibility: "unlisted"}, flood,
			Post{
				Text: flood.Title + "\n\n" + flood.Summary + "\n\n" + flood.URL + "\n\n#rivers #PressRelease",
				Link: flood.URL, Language: "en", Visibility: "unlisted",
			},
		},
		"every field": {
			Style{
				Template: "{{.Title}}|{{.Author}}|{{.Source}}|{{.FeedTitle}}|{{.Language}}|{{.Published}}|{{.Published.Format \"2 Jan\"}}|" +
					"{{.Categories}}|{{range .Categories}}<{{.}}>{{end}}|{{.Hashtags}}|{{if not .Summary}}no {{end}}summary\n{{.URL}}",
				ContentWarning: "{{.FeedTitle}}:\n{{.URL}} {{.Author}}",
				Hashtags:       Hashtags{Always: []string{"bot"}}, Language: "en-GB",
			}, flood,
			Post{
				Text: "River levels will be forecast for 15 hours|Jane Doe|agency|The Agency|en-GB|2026-05-04|4 May|" +
					"rivers, press release|<rivers><press release>|#bot|summary\n" + flood.URL,
				ContentWarning: "The Agency: Jane Doe",
				Link:           flood.URL, Language: "en-GB",
			},
		},
		"lines that are left empty disappear": {
			Style{Template: "\n\n{{.Title}}\nby the agency\n{{.Author}}\n{{with .Categories}}\nAbout {{.}}\n{{end}}\n{{.Published.Format \"2006\"}}\n\n\n\n{{.URL}}\n\n"},
			Material{Title: "A title", URL: "https://x.example/"},
			Post{Text: "A title\nby the agency\n\nhttps://x.example/", Link: "https://x.example/"},
		},
		"and leave no empty line": {
			Style{Template: "{{.Title}}\n{{.Author}}\n{{if .Summary}}{{.Summary}}{{end}}\n{{.URL}}"}, Material{Title: "A title", URL: "https://x.example/"},
			Post{Text: "A title\nhttps://x.example/", Link: "https://x.example/"},
		},
		"a link stands by itself, and once": {
			Style{Template: "{{.Title}}:{{.URL}}。{{.URL}} ({{.URL}}) end"}, Material{Title: "題名", URL: "https://x.example/a"},
			Post{Text: "題名: https://x.example/a 。 () end", Link: "https://x.example/a"},
		},
		"a template without a link": {
			Style{Template: "{{.Title}}"}, flood, Post{Text: flood.Title, Language: "en"},
		},
		"a template that has nothing to say": {
			Style{Template: "{{.Author}}"}, Material{Title: "A title", URL: "https://x.example/"},
			Post{Text: "A title\n\nhttps://x.example/", Link: "https://x.example/"},
		},
		"a summary that only repeats the title": {
			Style{}, Material{Title: "A title", Summary: "A  Title", URL: "https://x.example/"},
			Post{Text: "A title\n\nhttps://x.example/", Link: "https://x.example/"},
		},
		"only a link":          {Style{}, Material{URL: "https://x.example/"}, Post{Text: "https://x.example/", Link: "https://x.example/"}},
		"no link":              {Style{}, Material{Summary: "One."}, Post{Text: "One."}},
		"mentions of an owner": {Style{Template: "{{.Title}} @me@social.example"}, Material{Title: "@you"}, Post{Text: "you @me@social.example"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := compose(t, test.style, test.material, Limits{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("post (-want +got):\n%s", diff)
			}
		})
	}
}

// R4.1: a post whose summary begins with its title says it once.
func TestComposeSaysTheTitleOnce(t *testing.T) {
	t.Parallel()
	const link = "\n\nhttps://x.example/a"
	tests := map[string]struct {
		template, title, summary string
		want                     string
	}{
		"as a sentence of its own": {
			"", "The bridge is open again", "The bridge is open again. It was closed for a year.", "The bridge is open again\n\nIt was closed for a year." + link,
		},
		"written otherwise": {
			"", "“The Bridge” is open  again!", "The bridge is open again. It was closed for a year.", "“The Bridge” is open again!\n\nIt was closed for a year." + link,
		},
		"on a line of its own": {"", "The bridge", "The Bridge\nIt was closed.", "The bridge\n\nIt was closed." + link},
		"in Japanese":          {"", "橋の通行止めを解除", "橋の通行止めを解除。１年ぶりに通れる。", "橋の通行止めを解除\n\n１年ぶりに通れる。" + link},
		"in quotes":            {"", "橋を再開", "「橋を再開。」１年ぶりに通れる。", "橋を再開\n\n１年ぶりに通れる。" + link},
		"and nothing else":     {"", "The bridge is open again", "“The bridge is open again.”", "The bridge is open again" + link},
		"where the sentence goes on, it says what the title does": {
			"", "The bridge is open again", "The bridge is open again after a year. It rained.", "The bridge is open again after a year. It rained." + link,
		},
		"also in Japanese": {"", "橋を再開", "橋を再開すると市が発表した。", "橋を再開すると市が発表した。" + link},
		"a title alone stays, where the layout has no summary": {
			"{{.Title}}\n\n{{.URL}}", "The bridge is open again", "The bridge is open again after a year.", "The bridge is open again" + link,
		},
		"a summary alone stays, where the layout has no title": {
			"{{.Summary}}\n\n{{.URL}}", "The bridge is open again", "The bridge is open again after a year.", "The bridge is open again after a year." + link,
		},
		"whole, where the layout has no title": {
			"{{.Summary}}\n\n{{.URL}}", "The bridge is open again", "The bridge is open again. It rained.", "The bridge is open again. It rained." + link,
		},
		"twice, where the layout has more in its line": {
			"News: {{.Title}}\n\n{{.Summary}}\n\n{{.URL}}", "The bridge is open", "The bridge is open after a year.", "News: The bridge is open\n\nThe bridge is open after a year." + link,
		},
		"a word that only begins with it is another": {"", "Bridge", "Bridges are open.", "Bridge\n\nBridges are open." + link},
		"and so is a name":                           {"", "Node", "Node.js is new.", "Node\n\nNode.js is new." + link},
		"and a number":                               {"", "Terrapin 2", "Terrapin 2.5 is new.", "Terrapin 2\n\nTerrapin 2.5 is new." + link},
		"a title of marks is no title":               {"", "!!!", "!!! It is open.", "!!!\n\n!!! It is open." + link},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := compose(t, Style{Template: test.template}, Material{Title: test.title, Summary: test.summary, URL: "https://x.example/a"}, Limits{})
			if err != nil {
				t.Fatal(err)
			}
			if got.Text != test.want {
				t.Errorf("text = %q, want %q", got.Text, test.want)
			}
		})
	}
}

// R4.1: a title of 400 characters leaves room for a sentence, and one of a usual length stays whole.
func TestComposeLeavesRoomForASentenceBesideALongTitle(t *testing.T) {
	t.Parallel()
	const sentence = "The operator of the bridge between the two towns said on Monday that it will stay closed until the end of June next year."
	const second = "Until then a ferry takes cars."
	long := strings.TrimSpace(strings.Repeat("What a bridge, ", 27)) // 404 characters
	tests := map[string]struct {
		style          Style
		title, summary string
		limit          int
		wantTitle      func(shown string) bool
		want           string
	}{
		"of a title of 400 characters the end goes": {
			Style{}, long, sentence + " " + second, 500, func(shown string) bool { return prose.Count(shown) > 300 && strings.HasSuffix(shown, "…") }, sentence,
		},
		"of a Japanese one, too": {
			Style{}, strings.Repeat("橋と道路の復旧に向けた取り組み", 29), "橋は来年の６月末まで通れないと、二つの町の間の橋を運営する会社が月曜日に発表した。代わりに渡し船が出る。", 500,
			func(shown string) bool { return prose.Count(shown) > 300 && strings.HasSuffix(shown, "…") }, "橋は来年の６月末まで通れないと、二つの町の間の橋を運営する会社が月曜日に発表した。",
		},
		"a usual title stays whole": {
			Style{}, long[:150], sentence + " " + sentence + " " + second + " " + sentence, 500, func(shown string) bool { return shown == strings.TrimSpace(long[:150]) }, sentence,
		},
		"a sentence that is too long leaves the title its share": {
			Style{}, long, strings.TrimSuffix(strings.Repeat("the bridge is closed and ", 40), " and ") + ".", 500,
			func(shown string) bool { return len(shown) > 120 && len(shown) <= 170 }, "the bridge is closed and the bridge is closed",
		},
		"hashtags stay, where there is room": {
			Style{Hashtags: Hashtags{Always: []string{"bridge"}}}, long, sentence, 500, func(shown string) bool { return strings.HasSuffix(shown, "…") }, sentence + "\n\nhttps://x.example/a\n\n#bridge",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			post, err := compose(t, test.style, Material{Title: test.title, Summary: test.summary, URL: "https://x.example/a"}, Limits{MaxCharacters: test.limit})
			if err != nil {
				t.Fatal(err)
			}
			shown, rest, _ := strings.Cut(post.Text, "\n\n")
			if !test.wantTitle(shown) || !strings.HasPrefix(rest, test.want) || Length(post, Limits{}) > test.limit {
				t.Errorf("text = %q, want room for %q", post.Text, test.want)
			}
		})
	}
}

// R4.1: the server's own character limit and URL weight; the link is never cut.
func TestComposeFitsTheServer(t *testing.T) {
	t.Parallel()
	long := flood
	long.URL = "https://agency.example/" + strings.Repeat("x", 300)
	tests := map[string]struct {
		style    Style
		material Material
		limits   Limits
		want     string
	}{
		"a summary ends with a sentence": {
			Style{Hashtags: Hashtags{FromCategories: true}}, flood, Limits{MaxCharacters: 210},
			flood.Title + "\n\nThe agency forecasts the levels of 109 rivers. Until now it looked six hours ahead.\n\n" + flood.URL + "\n\n#rivers #PressRelease",
		},
		"or between words": {
			Style{Hashtags: Hashtags{FromCategories: true}}, flood, Limits{MaxCharacters: 155},
			flood.Title + "\n\nThe agency forecasts the levels of 109…\n\n" + flood.URL + "\n\n#rivers #PressRelease",
		},
		"hashtags go before the summary does": {
			Style{Hashtags: Hashtags{FromCategories: true}}, flood, Limits{MaxCharacters: 140},
			flood.Title + "\n\nThe agency forecasts the levels of 109 rivers.\n\n" + flood.URL,
		},
		"a summary goes before the title": {Style{}, flood, Limits{MaxCharacters: 95}, flood.Title + "\n\n" + flood.URL},
		"a shorter title":                 {Style{}, flood, Limits{MaxCharacters: 80}, "River levels will be forecast for…\n\n" + flood.URL},
		"nothing of the template but the title": {
			Style{Template: "A long introduction to whatever comes from this feed, every time: {{.Title}} {{.URL}}"}, flood, Limits{MaxCharacters: 95},
			flood.Title + "\n\n" + flood.URL,
		},
		"only the link":                        {Style{}, flood, Limits{MaxCharacters: 44}, flood.URL},
		"a link that leaves one way to count":  {Style{}, long, Limits{MaxCharacters: 100}, flood.Title + "\n\n" + long.URL},
		"a link weighs what the server says":   {Style{}, long, Limits{MaxCharacters: 100, CharactersPerURL: 60}, "River levels will be forecast for 15…\n\n" + long.URL},
		"a short link weighs more than it has": {Style{}, Material{Title: "0123456789 0123", URL: "https://x.example"}, Limits{MaxCharacters: 38}, "0123456789…\n\nhttps://x.example"},
		"no link":                              {Style{}, Material{Title: "One two three four."}, Limits{MaxCharacters: 8}, "One two…"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := compose(t, test.style, test.material, test.limits)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got.Text); diff != "" {
				t.Errorf("text (-want +got):\n%s", diff)
			}
		})
	}
}

func TestComposeKeepsRoomForTheTextBesideALongContentWarning(t *testing.T) {
	t.Parallel()
	post, err := compose(t, Style{ContentWarning: strings.Repeat("word ", 90)}, flood, Limits{MaxCharacters: 200})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(post.ContentWarning, "word…") || len(post.ContentWarning) > 52 || !strings.Contains(post.Text, flood.Title) {
		t.Errorf("post = %+v, want a quarter for the warning", post)
	}
}

func TestComposeSaysWhyThereIsNoPost(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		style    Style
		material Material
		limits   Limits
		want     string
		kind     string
	}{
		"the link does not fit": {
			Style{}, flood, Limits{MaxCharacters: 20}, "Not even the link fits the 20 characters that the server allows.", failure.TypeTooLong,
		},
		"nothing to say": {
			Style{Template: "News!"}, Material{URL: "nonsense", Author: "Jane"}, Limits{},
			"There is nothing to post: the item has no title, no summary and no link.", failure.TypeEmpty,
		},
		"the template fails on the item": {
			Style{Template: "{{if .Author}}{{if eq .Author \"Jane Doe\"}}{{.Title.Format \"2\"}}{{end}}{{end}}"}, flood, Limits{},
			"The text of the post cannot be made: the template is wrong in line 1: <.Title.Format>: can't evaluate field Format in type string.",
			failure.TypeUnsupported,
		},
		"the content warning fails on the item": {
			Style{ContentWarning: "{{if eq .Author \"Jane Doe\"}}{{.Title.Format \"2\"}}{{end}}"}, flood, Limits{},
			"The content warning cannot be made: the content warning is wrong in line 1: <.Title.Format>: can't evaluate field Format in type string.",
			failure.TypeUnsupported,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := compose(t, test.style, test.material, test.limits)
			var failed *failure.Error
			if !errors.As(err, &failed) {
				t.Fatalf("error = %v, want a *failure.Error", err)
			}
			if failed.Category != v1alpha1.CategoryValidation || failed.Type != test.kind || failed.Message != test.want {
				t.Errorf("failure = %s/%s %q, want %s %q", failed.Category, failed.Type, failed.Message, test.kind, test.want)
			}
		})
	}
}

func TestLengths(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text, warning, link string
		asRead, raw         int
	}{
		"plain":                          {"abc", "de", "", 5, 5},
		"characters of several points":   {"👩‍👩‍👧‍👦か\u3099", "", "", 2, 9},
		"the link":                       {"a " + linkMark, "", "https://x.example/a/long/path/to/it", 25, 37},
		"a short link":                   {linkMark, "", "https://x.example", 23, 17},
		"an end that is left out":        {linkMark, "", "https://x.example/?", 24, 19},
		"too long for a link":            {linkMark, "", "https://x.example/" + strings.Repeat("x", 5000), 5018, 5018},
		"a link of the template":         {"see https://y.example/abcdefghijklmnop.", "", "", 28, 39},
		"a mention of somebody far away": {"by @me@social.example!", "", "", 7, 22},
		"two addresses and no mention":   {"a@b@social.example é@b@social.example", "", "", 37, 37},
		"a link in the warning":          {"", "https://y.example/abcdefghijklmnop", "", 34, 34},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asRead, raw := readLength(test.text, test.warning, test.link, 23), rawLength(test.text, test.warning, test.link)
			if asRead != test.asRead || raw != test.raw {
				t.Errorf("lengths = %d, %d, want %d, %d", asRead, raw, test.asRead, test.raw)
			}
		})
	}
}

func TestTextHashIsOfTextAndWarning(t *testing.T) {
	t.Parallel()
	post := Post{Text: "text", ContentWarning: "warning", Language: "en"}
	other := post
	other.Language, other.Visibility, other.Link = "ja", "private", "https://x.example/"
	if TextHash(post) != TextHash(other) || len(TextHash(post)) != 16 {
		t.Errorf("hashes = %q, %q, want them to be equal, of 16 digits", TextHash(post), TextHash(other))
	}
	for _, other := range []Post{{Text: "warning", ContentWarning: "text"}, {Text: "textwarning"}, {Text: "text"}} {
		if TextHash(post) == TextHash(other) {
			t.Errorf("%+v and %+v have the same hash", post, other)
		}
	}
}

func compose(t *testing.T, style Style, m Material, l Limits) (Post, error) {
	t.Helper()
	composer, err := NewComposer(style)
	if err != nil {
		t.Fatal(err)
	}
	return composer.Compose(m, l)
}
