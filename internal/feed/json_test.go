// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feed

import (
	"encoding/json"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/feed-operator/feed-operator/internal/feedxml"
	"github.com/feed-operator/feed-operator/internal/plaintext"
	"github.com/feed-operator/feed-operator/internal/portion"
)

// hostileJSON has documents of some megabytes that were made to exhaust who reads them, by what they are
// full of, with an entry that is well before and after where that is possible.
func hostileJSON() map[string]string {
	size, depth := 4<<20, 1<<20
	if inflation > 1 { // where nothing is counted
		size, depth = portion.Of(size/inflation, size/inflation/8), portion.Of(depth, depth/16)
	}
	fill := func(part string) string { return strings.TrimSuffix(strings.Repeat(part, size/len(part)), ",") }
	nest := func(opening, closing string) string {
		return strings.Repeat(opening, depth) + "1" + strings.Repeat(closing, depth)
	}
	between := func(entry string) string { return jsonWith(`{"id":"1"},` + entry + `,{"id":"2"}`) }
	return map[string]string{
		"attachments":                       between(`{"id":"3","attachments":[` + fill(`{},`) + `]}`),
		"authors":                           between(`{"id":"3","authors":[` + fill(`{"name":"a"},`) + `]}`),
		"authors without a name":            between(`{"id":"3","authors":[` + fill(`{},`) + `]}`),
		"authors that are null":             between(`{"id":"3","authors":[` + fill(`null,`) + `]}`),
		"authors of the feed":               strings.TrimSuffix(between(`{}`), "}") + `,"authors":[` + fill(`{},`) + `]}`,
		"tags":                              between(`{"id":"3","tags":[` + fill(`"a",`) + `]}`),
		"tags that are empty":               between(`{"id":"3","tags":[` + fill(`"",`) + `]}`),
		"lists in the place of tags":        between(`{"id":"3","tags":[` + fill(`[],`) + `]}`),
		"one member over and over":          between(`{"id":"3",` + fill(`"title":"a",`) + `}`),
		"one list over and over":            between(`{"id":"3",` + fill(`"tags":["a","b","c"],`) + `}`),
		"members of other names":            between(`{"id":"3",` + fill(`"aa":0,`) + `}`),
		"entries that are empty":            jsonWith(`{"id":"1"},{"id":"2"},` + fill(`{},`)),
		"entries that are null":             jsonWith(`{"id":"1"},{"id":"2"},` + fill(`null,`)),
		"entries that are numbers":          jsonWith(`{"id":"1"},{"id":"2"},` + fill(`7,`)),
		"lists of entries":                  strings.Repeat(`{"items":[{}],`, 1) + fill(`"items":[{}],`) + "," + jsonWith(`{"id":"1"},{"id":"2"}`)[1:],
		"a list in a list":                  between(`{"id":"3","_x":` + nest(`[`, `]`) + `}`),
		"a list in a list in an id":         between(`{"id":` + nest(`[`, `]`) + `}`),
		"an object in an object":            between(`{"id":"3","_x":` + nest(`{"a":`, `}`) + `}`),
		"objects in the place of a title":   between(`{"id":"3","title":[` + fill(`{},`) + `]}`),
		"a name":                            between(`{"id":"3","` + fill(`a`) + `":1}`),
		"a name of escapes":                 between(`{"id":"3","` + fill(`\u0061`) + `":1}`),
		"a number":                          between(`{"id":"3","title":` + fill(`9`) + `}`),
		"a number for a date":               between(`{"id":"3","date_published":` + fill(`9`) + `}`),
		"a title":                           between(`{"id":"3","title":"` + fill(`a`) + `"}`),
		"a title of words":                  between(`{"id":"3","title":"` + fill(`a `) + `"}`),
		"an id of words":                    between(`{"id":"3` + fill(` a`) + `"}`),
		"a language of words":               strings.TrimSuffix(between(`{}`), "}") + `,"language":"` + fill(`a `) + `"}`,
		"a content of escapes":              between(`{"id":"3","content_text":"` + fill(`\u00e9`) + `"}`),
		"halves of surrogate pairs":         between(`{"id":"3","content_text":"` + fill(`\ud83d`) + `"}`),
		"quotation marks":                   between(`{"id":"3","content_text":"` + fill(`\"`) + `"}`),
		"backslashes":                       between(`{"id":"3","content_text":"` + fill(`\\`) + `"}`),
		"bytes that are no UTF-8":           between(`{"id":"3","content_text":"` + fill(strings.Repeat("é", 50)+"\xff") + `"}`),
		"white space":                       between(`{"id":"3","title":` + fill(" ") + `"A"}`),
		"brackets that do not match":        jsonWith(`{"id":"1"},{"id":"2"},{"_x":` + fill(`[}{]`) + `}`),
		"names without values":              jsonWith(`{"id":"1"},{"id":"2"},{` + fill(`"a",`) + `}`),
		"a text without end":                jsonWith(`{"id":"1"},{"id":"2"},{"title":"` + fill(`a`)),
		"a list in a list without end":      jsonWith(`{"id":"1"},{"id":"2"},{"title":` + fill(`[`)),
		"references that XML does not know": between(`{"id":"3","content_html":"` + fill("&#1;") + `"}`),
	}
}

// R1.6, R1.10: whatever a JSON Feed is full of, what is made of it is in proportion to the document, and
// the entries that are well are read. Counted is all that is ever allocated, not what is there at one
// time, so that the figures do not depend on when the collector runs. Not parallel: the count is that of
// the process.
func TestHostileJSON(t *testing.T) {
	const (
		times    = 4
		allOther = 24 << 20 // what 10,000 entries take that say nothing
	)
	for name, body := range hostileJSON() {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			document, err := Parse([]byte(body), "", base)
			runtime.ReadMemStats(&after)
			allocated := after.TotalAlloc - before.TotalAlloc
			t.Logf("%.1f MB were allocated for %.1f MB", float64(allocated)/1e6, float64(len(body))/1e6)
			if err != nil {
				t.Fatal(err)
			}
			if limit := uint64(times*len(body) + allOther); inflation == 1 && allocated > limit {
				t.Errorf("%d bytes were allocated for %d, want at most %d", allocated, len(body), limit)
			}
			var well []string
			for _, entry := range document.Entries {
				checkBounds(t, entry)
				if entry.GUID == "1" || entry.GUID == "2" {
					well = append(well, entry.GUID)
				}
			}
			if diff := cmp.Diff([]string{"1", "2"}, well); diff != "" {
				t.Errorf("entries that are well, -want +got:\n%s\nwarning: %s", diff, document.Warning())
			}
		})
	}
}

// R1.6: of a JSON Feed that is not as the format has it, all is used that is clear.
func TestOddJSON(t *testing.T) {
	t.Parallel()
	many := strings.TrimSuffix(strings.Repeat(`"a",`, 300), ",")
	tests := map[string]struct {
		body       string
		want       []string // titles
		wantDamage string
	}{
		"the members of the feed behind the entries": {`{"items":[{"id":"1","title":"A"}],"title":"T","home_page_url":"/","version":"https://jsonfeed.org/version/1.1"}`, []string{"A"}, ""},
		"members that are there twice":               {jsonWith(`{"id":"1","title":"A","title":"B"}`), []string{"B"}, ""},
		"entries that are listed twice":              {`{"items":[{"title":"A"}],` + jsonWith(`{"title":"B"}`)[1:], []string{"B"}, ""},
		"members that are null":                      {jsonWith(`{"id":null,"title":"A","url":null,"tags":null,"authors":null,"author":null,"content_html":null}`), []string{"A"}, ""},
		"names in capitals":                          {jsonWith(`{"ID":"1","Title":"A"}`), []string{"A"}, ""},
		"a name in escapes":                          {jsonWith(`{"id":"1","\u0074itle":"A"}`), []string{"A"}, ""},
		"escapes":                                    {jsonWith(`{"title":"\"\\\/\u00e9\ud83d\ude00"}`), []string{`"\/é😀`}, ""},
		"half a surrogate pair":                      {jsonWith(`{"title":"a\ud83d"},{"title":"\ude00b"},{"title":"\ud83dx\ude00"},{"title":"\ud83d\u0041"}`), []string{"a\uFFFD", "\uFFFDb", "\uFFFDx\uFFFD", "\uFFFDA"}, ""},
		"escapes that there are not":                 {jsonWith(`{"title":"C:\dir \u12 \uzzzz"}`), []string{`C:\dir \u12 \uzzzz`}, ""},
		"line breaks in texts":                       {jsonWith("{\"title\":\"A\n\tB\"}"), []string{"A B"}, ""},
		"a comma too many":                           {jsonWith(`{"title":"A","tags":["x",],},`), []string{"A"}, ""},
		"numbers in the place of texts":              {jsonWith(`{"title":-1.5e+300},{"title":true}`), []string{"-1.5e+300", "true"}, ""},
		"entries that are null":                      {jsonWith(`null,{"title":"A"},null`), []string{"A"}, ""},
		"entries that are no objects":                {jsonWith(`{"title":"A"},7,"x",[{}],{"title":"B"}`), []string{"A", "B"}, "an entry of the list is not as the format has it: it is a number, not an object"},
		"an object in the place of a text":           {jsonWith(`{"id":"1","title":{"a":"b"}},{"title":"B"}`), []string{"", "B"}, "title of an entry is not as the format has it: it is an object, not a text"},
		"too many tags":                              {jsonWith(`{"title":"A","tags":[` + many + `]},{"title":"B"}`), []string{"A", "B"}, "an entry lists more than 256 tags, the others are left out"},
		"too many authors":                           {jsonWith(`{"title":"A","authors":[` + many + `]},{"title":"B"}`), []string{"A", "B"}, "an entry lists more than 256 authors, the others are left out"},
		"attachments, however many":                  {jsonWith(`{"title":"A","attachments":[` + many + `]}`), []string{"A"}, ""},
		"depth where nobody looks":                   {jsonWith(`{"title":"A","_x":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + `}`), []string{"A"}, ""},
		"a comma too few":                            {jsonWith(`{"title":"A"},{"title":"B" "id":"2"},{"title":"C"}`), []string{"A"}, `of the JSON stands '"', where a comma is expected`},
		"a colon too few":                            {jsonWith(`{"title":"A"},{"title" "B"}`), []string{"A"}, `where a colon is expected`},
		"words that are no values":                   {jsonWith(`{"title":"A"},{"title":undefined}`), []string{"A"}, `stands 'u', where a value is expected`},
		"something behind the end":                   {jsonWith(`{"title":"A"}`) + "</html>", []string{"A"}, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			document, err := Parse([]byte(test.body), "", base)
			if err != nil {
				t.Fatal(err)
			}
			if got := titles(document); !slices.Equal(got, test.want) {
				t.Errorf("titles %q, want %q", got, test.want)
			}
			if !strings.Contains(document.Damage, test.wantDamage) || (document.Damage == "") != (test.wantDamage == "") {
				t.Errorf("damage %q, want %q", document.Damage, test.wantDamage)
			}
		})
	}
}

// R1.6: a feed whose entries are no list is not an empty feed.
func TestJSONWithoutAList(t *testing.T) {
	t.Parallel()
	for _, items := range []string{`{}`, `"x"`, `7`} {
		_, err := Parse([]byte(`{"version":"https://jsonfeed.org/version/1.1","title":"T","items":`+items+`}`), "", base)
		if err == nil || !strings.Contains(err.Error(), "items of the feed is not as the format has it") {
			t.Errorf("items %s: error %v", items, err)
		}
	}
}

// R1.6: whatever is written in the place of a JSON Feed, it is read without harm, always into the same,
// and what is right JSON is understood as encoding/json does.
func FuzzJSON(f *testing.F) {
	for _, items := range []string{
		`{"id":"1","authors":[null,{"name":"Ann"}],"url":"/x"},null`, `{"id":1,"title":[],"tags":"a","authors":{},"date_published":1795179906}`,
		`{"id":{"a":[1]},"attachments":[{},{"url":"x"}],"tags":["a",null,7,{}]}`, `{"title":"\ud83d\ude00 \ud83d \u12 \x","content_html":"<p>\n&amp;"}`,
		`{"_x":[[[{"a":[}]]}],"title":"A"},7,"x"`, `{"title":"A"},{"title":"B" "id":2}`, `{"ID":"1","Title":"A","TITLE":"B",}`, `{"author":"Ann <a@b.example>","summary":-1e5}`,
	} {
		f.Add([]byte(jsonWith(items)))
	}
	f.Add([]byte(`{"items":[{"id":"1"}],"items":[{"id":"2"}],"title":"T","feed_url":"/","\u0074itle":"U"}`))
	f.Add([]byte(`{"version":"https://jsonfeed.org/version/1","items":{"a":1}}`))
	f.Add([]byte(`[{"version":"https://jsonfeed.org/version/1"}]`))
	f.Fuzz(func(t *testing.T, body []byte) {
		text := feedxml.Readable(body, "")
		if len(text) == 0 || text[0] != '{' {
			return
		}
		document, err := parseJSON(text, base)
		if again, err2 := parseJSON(text, base); !reflect.DeepEqual(document, again) || (err == nil) != (err2 == nil) ||
			err != nil && err.Error() != err2.Error() {
			t.Fatalf("the second time it was read as %+v, %v", again, err2)
		}
		if err != nil {
			return
		}
		size := 0
		for _, entry := range document.Entries {
			checkBounds(t, entry)
			size += len(entry.Content) + len(entry.Description)
		}
		if !utf8.ValidString(document.Warning()) || len(document.Damage) > 512 || len(document.Entries) > MaxEntries || size > 3*len(text) {
			t.Fatalf("%d bytes became %d entries of %d bytes, warning %q", len(text), len(document.Entries), size, document.Warning())
		}
		var members map[string]json.RawMessage
		if json.Unmarshal(text, &members) != nil {
			return
		}
		var title string
		if json.Unmarshal(members["title"], &title) == nil {
			if want := plaintext.Title(title); document.Title != want {
				t.Errorf("title %q, want %q", document.Title, want)
			}
		}
		var items []json.RawMessage
		if json.Unmarshal(members["items"], &items) != nil || items == nil {
			return
		}
		items = slices.DeleteFunc(items, func(item json.RawMessage) bool { return item[0] != '{' })
		if got := len(document.Entries) + document.Omitted; got != len(items) && len(items) < MaxEntries {
			t.Errorf("%d entries, want %d; warning %q", got, len(items), document.Warning())
		}
		for i := range min(len(items), len(document.Entries)) {
			var item struct {
				ID json.RawMessage `json:"id"`
			}
			var id string
			if json.Unmarshal(items[i], &item) != nil || json.Unmarshal(item.ID, &id) != nil {
				continue
			}
			if want := boundedGUID(id); document.Entries[i].GUID != want {
				t.Errorf("GUID %q, want %q", document.Entries[i].GUID, want)
			}
		}
	})
}
