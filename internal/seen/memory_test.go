// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package seen

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/feed"
	"github.com/feed-operator/feed-operator/internal/portion"
)

func load(t testing.TB, data v1alpha1.FeedMemoryData) *Memory {
	t.Helper()
	memory, err := Load(data)
	if err != nil {
		t.Fatal(err)
	}
	return memory
}

// after is the memory after polls of these documents, each stored and loaded again.
func after(t testing.TB, documents ...[]feed.Entry) *Memory {
	t.Helper()
	var data v1alpha1.FeedMemoryData
	for _, document := range documents {
		memory := load(t, data)
		memory.Observe(document)
		for _, e := range document {
			memory.Remember(feed.Identify(e))
		}
		memory.Store(&data)
	}
	return load(t, data)
}

// R1.2: what is known, rule by rule.
func TestKnown(t *testing.T) {
	t.Parallel()
	type document = []feed.Entry
	entry := func(guid, url, title string) feed.Entry {
		if url != "" {
			url = "https://news.example/" + url
		}
		return feed.Entry{GUID: guid, URL: url, Title: title}
	}
	tests := map[string]struct {
		before []document
		now    document
		want   []bool
	}{
		"nothing was seen":                    {nil, document{entry("1", "a", "A")}, []bool{false}},
		"the same again":                      {[]document{{entry("1", "a", "A")}}, document{entry("1", "a", "A")}, []bool{true}},
		"the title was edited":                {[]document{{entry("1", "a", "A")}}, document{entry("1", "a", "B")}, []bool{true}},
		"the GUID was changed":                {[]document{{entry("1", "a", "A")}}, document{entry("2", "a", "B")}, []bool{true}},
		"the article was moved":               {[]document{{entry("1", "a", "A")}}, document{entry("1", "b", "B")}, []bool{true}},
		"another article of the same title":   {[]document{{entry("1", "a", "A")}}, document{entry("2", "b", "A")}, []bool{false}},
		"another GUID, and the same title":    {[]document{{entry("1", "", "A")}}, document{entry("2", "", "A")}, []bool{false}},
		"the fragment is another":             {[]document{{entry("", "a#1", "A")}}, document{entry("", "a#2", "A")}, []bool{false}},
		"nothing but a title":                 {[]document{{entry("", "", "A")}}, document{entry("", "", "A"), entry("", "", "B")}, []bool{true, false}},
		"the GUID is gone":                    {[]document{{entry("1", "a", "A")}}, document{entry("", "a", "B")}, []bool{true}},
		"the URL is gone":                     {[]document{{entry("1", "a", "A")}}, document{entry("1", "", "B")}, []bool{true}},
		"dropped and listed again":            {[]document{{entry("1", "a", "A")}, {entry("2", "b", "B")}, {}}, document{entry("1", "a", "C")}, []bool{true}},
		"one link, none seen":                 {nil, document{entry("1", "a", "A"), entry("2", "a", "B")}, []bool{false, false}},
		"one link, without GUIDs":             {nil, document{entry("", "a", "A"), entry("", "a", "B")}, []bool{false, false}},
		"a link is shared for the first time": {[]document{{entry("", "a", "A")}}, document{entry("", "a", "B"), entry("", "a", "A")}, []bool{false, true}},
		"a GUID is shared for the first time": {[]document{{entry("1", "a", "A")}}, document{entry("1", "b", "B"), entry("1", "a", "edited")}, []bool{false, true}},
		"a link is shared while another entry is edited": {
			[]document{{entry("", "a", "A"), entry("", "b", "B")}}, document{entry("", "a", "A"), entry("", "a", "C"), entry("", "b", "edited")}, []bool{true, false, true}},
		"edited while another link is shared": {
			[]document{{entry("", "a", "A"), entry("", "a", "B"), entry("", "c", "C")}}, document{entry("", "c", "edited"), entry("", "a", "edited")}, []bool{true, false}},
		"edited just when no link is trusted any more": {
			[]document{{entry("", "c", "D")}}, document{entry("", "a", "A"), entry("", "a", "B"), entry("", "a", "C"), entry("", "c", "edited")}, []bool{false, false, false, true}},
		"edited while no link is trusted": {
			[]document{{entry("", "a", "A"), entry("", "a", "B"), entry("", "a", "C"), entry("", "c", "D")}}, document{entry("", "c", "edited")}, []bool{false}},
		"all GUIDs are equal, and titles edited": {
			[]document{{entry("1", "a", "A"), entry("1", "b", "B")}}, document{entry("1", "a", "C"), entry("1", "b", "D"), entry("1", "c", "A")}, []bool{true, true, false}},
		"all links are equal, and titles edited": {
			[]document{{entry("1", "a", "A"), entry("2", "a", "B")}}, document{entry("1", "a", "C"), entry("2", "a", "D"), entry("3", "a", "A")}, []bool{true, true, false}},
		"GUIDs and links are all equal": {
			[]document{{entry("1", "a", "A"), entry("1", "a", "B")}}, document{entry("1", "a", "B"), entry("1", "a", "A"), entry("1", "a", "C")}, []bool{true, true, false}},
		"two revisions of a story whose GUID is shared": {
			[]document{{entry("1", "a", "A")}, {entry("1", "a", "A"), entry("1", "b", "B")}}, document{entry("1", "b", "C"), entry("1", "a", "A"), entry("1", "b", "B")}, []bool{true, true, true}},
		"two revisions of a story whose link is shared": {
			[]document{{entry("1", "a", "A")}, {entry("1", "a", "A"), entry("2", "a", "B")}}, document{entry("2", "a", "C"), entry("1", "a", "A"), entry("2", "a", "B")}, []bool{true, true, true}},
		"edited before the mark was set": {
			[]document{{entry("1", "", "A")}, {entry("1", "", "edited")}}, document{entry("1", "", "B"), entry("1", "", "edited")}, []bool{false, true}},
		"the same entry twice marks nothing": {
			[]document{{entry("1", "", "A"), entry("1", "", "A")}}, document{entry("1", "", "edited")}, []bool{true}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			memory := after(t, test.before...)
			memory.Observe(test.now)
			var got []bool
			for _, e := range test.now {
				got = append(got, memory.Known(feed.Identify(e)))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// R1.2: an item that exists is known by what its specification still says.
func TestItemsAreKnown(t *testing.T) {
	t.Parallel()
	memory := after(t)
	memory.Remember(feed.IdentifyItem("1", "https://news.example/a", "x"))
	for _, e := range []feed.Entry{{GUID: "1", Title: "x"}, {URL: "http://news.example/a?utm_id=1"}} {
		if !memory.Known(feed.Identify(e)) {
			t.Errorf("%+v is not known", e)
		}
	}
	if memory.Known(feed.Identify(feed.Entry{})) {
		t.Error("an entry without anything is known")
	}
}

// R1.3: what a memory has not learnt need not be written.
func TestAMemoryLearnsOnlyWhatItDidNotKnow(t *testing.T) {
	t.Parallel()
	one, two := feed.Entry{GUID: "1", URL: "https://news.example/a", Title: "A"}, feed.Entry{GUID: "2", URL: "https://news.example/b", Title: "B"}
	sameGUID := feed.Entry{GUID: "1", URL: "https://news.example/c", Title: "C"}
	for name, test := range map[string]struct {
		now  []feed.Entry
		want bool
	}{
		"nothing is listed any more":            {nil, false},
		"the same entries":                      {[]feed.Entry{one, two}, false},
		"the same entries in another order":     {[]feed.Entry{two, one}, false},
		"one entry less":                        {[]feed.Entry{two}, false},
		"a new entry":                           {[]feed.Entry{{GUID: "3"}, one, two}, true},
		"a known entry with another link":       {[]feed.Entry{{GUID: "1", URL: "https://news.example/d"}}, true},
		"two entries have come to share a GUID": {[]feed.Entry{one, sameGUID}, true},
		"another title":                         {[]feed.Entry{{GUID: "1", URL: "https://news.example/a", Title: "C"}}, true},
		"another text under the same title":     {[]feed.Entry{{GUID: "1", URL: "https://news.example/a", Title: "A", Content: "C"}}, false},
		"another text without a title":          {[]feed.Entry{{GUID: "1", URL: "https://news.example/a", Content: "C"}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			memory := after(t, []feed.Entry{one, two})
			memory.Observe(test.now)
			for _, entry := range test.now {
				memory.Remember(feed.Identify(entry))
			}
			if got := memory.Learnt(); got != test.want {
				t.Errorf("learnt %t, want %t", got, test.want)
			}
		})
	}
}

func key(i int) feed.Keys {
	var k feed.Key
	binary.BigEndian.PutUint64(k[:], uint64(i)+1)
	return feed.Keys{GUID: k, URL: k, Title: k, Content: k}
}

// R1.2: 20,000 identities are remembered besides those that are listed, and the least recently
// seen are forgotten first.
func TestBound(t *testing.T) {
	t.Parallel()
	var data v1alpha1.FeedMemoryData
	poll := func(from, to int) {
		memory := load(t, data)
		for i := from; i < to; i++ {
			memory.Remember(key(i))
		}
		memory.Store(&data)
	}
	poll(0, 10_000)
	poll(10_000, 20_000)
	poll(0, 5) // seen once more
	poll(20_000, 30_000)
	memory := load(t, data)
	for i, want := range map[int]bool{
		0: true, 4: true, 5: true, 9_999: true, 10_000: true, 29_999: true, 30_000: false,
	} {
		if got := memory.Known(key(i)); got != want {
			t.Errorf("after 30,000: %d known is %t, want %t", i, got, want)
		}
	}
	poll(30_000, 30_100)
	memory = load(t, data)
	for i, want := range map[int]bool{
		0: true, 4: true, 5: false, 9_999: false, 10_004: false, 10_005: true, 10_006: true, 29_999: true, 30_099: true,
	} {
		if got := memory.Known(key(i)); got != want {
			t.Errorf("after 30,100: %d known is %t, want %t", i, got, want)
		}
	}
	for range 3 {
		poll(30_000, 40_000)
	}
	for name, field := range map[string]string{"guids": data.GUIDs, "urls": data.URLs} {
		if want := base64.StdEncoding.EncodedLen(30_000 * 8); len(field) != want {
			t.Errorf("%s has %d characters, want those of 30,000 keys, %d", name, len(field), want)
		}
	}
}

// What this poll remembered is kept even if it fills the field, and the field is never exceeded.
func TestFieldIsNeverExceeded(t *testing.T) {
	t.Parallel()
	var data v1alpha1.FeedMemoryData
	memory, last := load(t, data), portion.Of(100_000, 50_000)-1
	for i := range last + 1 {
		memory.Remember(key(i))
	}
	memory.Store(&data)
	if len(data.GUIDs) != 480_000 {
		t.Errorf("%d characters, want 480,000", len(data.GUIDs))
	}
	if memory = load(t, data); !memory.Known(key(last)) || memory.Known(key(0)) {
		t.Error("the most recent key was forgotten, or the least recent was not")
	}
}

// The form is what the API documents: 8 bytes each, the least recently seen first, base64.
func TestForm(t *testing.T) {
	t.Parallel()
	var data v1alpha1.FeedMemoryData
	memory := load(t, data)
	memory.Remember(key(0))
	memory.Remember(key(1))
	memory.Store(&data)
	memory = load(t, data)
	memory.Remember(key(0))
	memory.Remember(key(2))
	memory.Remember(key(0))
	memory.Store(&data)
	want := base64.StdEncoding.EncodeToString([]byte("\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x03"))
	if diff := cmp.Diff(v1alpha1.FeedMemoryData{Version: 2, GUIDs: want, URLs: want, Texts: want}, data); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// A memory that somebody has changed is an error, not a flood of items.
func TestLoadCorrupt(t *testing.T) {
	t.Parallel()
	for name, data := range map[string]v1alpha1.FeedMemoryData{
		"guids are no base64": {GUIDs: "!"},
		"urls break off":      {URLs: base64.StdEncoding.EncodeToString(make([]byte, 9))},
		"contents break off":  {Contents: "AAAA"},
	} {
		var failed *failure.Error
		if _, err := Load(data); !errors.As(err, &failed) || failed.Type != failure.TypeMalformed {
			t.Errorf("%s: %v, want a failure of type Malformed", name, err)
		}
	}
	memory := load(t, v1alpha1.FeedMemoryData{GUIDs: base64.StdEncoding.EncodeToString(make([]byte, 8))})
	if memory.Known(feed.Identify(feed.Entry{URL: "http://a.example/", Title: "A"})) {
		t.Error("an entry without a GUID is known by a stored key of zeros")
	}
}

func BenchmarkPoll(b *testing.B) {
	document := make([]feed.Entry, feed.MaxEntries)
	for i := range document {
		document[i] = feed.Entry{GUID: fmt.Sprint(i), URL: fmt.Sprintf("https://a.example/%d", i), Title: "T", Content: fmt.Sprintf("%500d", i)}
	}
	var data v1alpha1.FeedMemoryData
	memory := load(b, data)
	for i := range 20_000 {
		memory.Remember(key(i))
	}
	memory.Store(&data)
	keys := make([]feed.Keys, len(document))
	for i := range document {
		keys[i] = feed.Identify(document[i])
	}
	for b.Loop() {
		memory := load(b, data)
		memory.Observe(document)
		for _, k := range keys {
			memory.Known(k)
			memory.Remember(k)
		}
		memory.Store(&data)
	}
}
