// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feed

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func keysOf(entries []Entry) []Keys {
	keys := make([]Keys, len(entries))
	for i := range entries {
		keys[i] = Identify(entries[i])
	}
	return keys
}

// trustIn is the trust that a feed has after a first document.
func trustIn(entries []Entry) Trust {
	found := Compare(keysOf(entries), Trust{})
	return Trust{GUIDsUntrusted: found.MostShareGUIDs, URLsUntrusted: found.MostShareURLs, Shared: found.Shared}
}

// R1.2: which entries of one document are one story, and which values identify none of them.
func TestCompare(t *testing.T) {
	t.Parallel()
	e := func(guid, path, title string) Entry {
		entry := Entry{GUID: guid, Title: title}
		if path != "" {
			entry.URL = "https://a.example/" + path
		}
		return entry
	}
	with := func(e Entry, content string) Entry { e.Content = content; return e }
	x, y, z := e("x", "x", "X"), e("y", "y", "Y"), e("z", "z", "Z")
	tests := map[string]struct {
		entries []Entry
		trust   Trust
		first   []int
		// shared are the values: GUIDs, paths and titles.
		guids, paths, titles []string
		mostGUIDs, mostURLs  bool
	}{
		"nothing":                                    {entries: nil, first: []int{}},
		"different entries":                          {entries: []Entry{x, y, z}, first: []int{0, 1, 2}},
		"different entries of one title":             {entries: []Entry{e("1", "a", "A"), e("2", "b", "A"), x, y}, first: []int{0, 1, 2, 3}},
		"twice the same":                             {entries: []Entry{x, y, x, z}, first: []int{0, 1, 0, 3}},
		"twice, with another text":                   {entries: []Entry{x, y, with(x, "longer"), z}, first: []int{0, 1, 0, 3}},
		"twice, with another title":                  {entries: []Entry{x, y, e("x", "x", "X, corrected"), z}, first: []int{0, 1, 0, 3}},
		"twice, under another GUID":                  {entries: []Entry{x, y, e("x2", "x", "X"), z}, first: []int{0, 1, 0, 3}},
		"twice, under another link":                  {entries: []Entry{x, y, e("x", "sport/x", "X"), z}, first: []int{0, 1, 0, 3}},
		"twice, the second time without GUID":        {entries: []Entry{x, y, e("", "x", "X"), z}, first: []int{0, 1, 0, 3}},
		"twice, with a GUID or a link only":          {entries: []Entry{x, y, e("", "x", "X"), e("x", "", "X"), z}, first: []int{0, 1, 0, 0, 4}},
		"twice, with a trace":                        {entries: []Entry{x, y, e("x", "x?utm_source=rss", "X")}, first: []int{0, 1, 0}},
		"each twice":                                 {entries: []Entry{x, y, z, with(x, "1"), with(y, "2"), with(z, "3")}, first: []int{0, 1, 2, 0, 1, 2}},
		"each twice, in two revisions":               {entries: []Entry{x, y, z, e("x", "x", "X!"), e("y", "y", "Y!"), e("z", "z", "Z!")}, first: []int{0, 1, 2, 0, 1, 2}},
		"a chain of likenesses":                      {entries: []Entry{e("1", "a", "A"), y, e("1", "a", "B"), e("2", "a", "B"), z}, first: []int{0, 1, 0, 0, 4}},
		"two stories at one link":                    {entries: []Entry{e("1", "a", "A"), e("2", "a", "B"), x, y, z}, first: []int{0, 1, 2, 3, 4}, paths: []string{"a"}},
		"two stories with one GUID":                  {entries: []Entry{e("1", "a", "A"), e("1", "b", "B"), x, y, z}, first: []int{0, 1, 2, 3, 4}, guids: []string{"1"}},
		"two stories at one link, without GUIDs":     {entries: []Entry{e("", "a", "A"), e("", "a", "B"), x, y, z}, first: []int{0, 1, 2, 3, 4}, paths: []string{"a"}},
		"two stories at one link, one of them twice": {entries: []Entry{e("1", "a", "A"), e("2", "a", "B"), with(e("2", "a", "B"), "longer"), x, y, z, e("w", "w", "W")}, first: []int{0, 1, 1, 3, 4, 5, 6}, paths: []string{"a"}},
		"GUID and link are those of everything":      {entries: []Entry{e("1", "a", "A"), e("1", "a", "B")}, first: []int{0, 1}, guids: []string{"1"}, paths: []string{"a"}},
		"three titles of one GUID and link":          {entries: []Entry{e("1", "a", "A"), e("1", "a", "B"), e("1", "a", "C"), x, y, z, e("w", "w", "W")}, first: []int{0, 1, 2, 3, 4, 5, 6}, guids: []string{"1"}, paths: []string{"a"}},
		"all links equal":                            {entries: []Entry{e("1", "a", "A"), e("2", "a", "B"), e("3", "a", "C")}, first: []int{0, 1, 2}, paths: []string{"a"}, mostURLs: true},
		"all links equal, titles repeat":             {entries: []Entry{e("1", "a", "Up"), e("2", "a", "Down"), e("3", "a", "Up")}, first: []int{0, 1, 2}, paths: []string{"a"}, mostURLs: true},
		"all links and titles equal":                 {entries: []Entry{e("1", "a", "A"), e("2", "a", "A"), e("3", "a", "A")}, first: []int{0, 1, 2}, paths: []string{"a"}, mostURLs: true},
		"all GUIDs equal":                            {entries: []Entry{e("1", "a", "A"), e("1", "b", "B"), e("1", "c", "C")}, first: []int{0, 1, 2}, guids: []string{"1"}, mostGUIDs: true},
		"all GUIDs and titles equal":                 {entries: []Entry{e("1", "a", "A"), e("1", "b", "A"), e("1", "c", "A")}, first: []int{0, 1, 2}, guids: []string{"1"}, mostGUIDs: true},
		"GUIDs are sections":                         {entries: []Entry{e("1", "a", "A"), e("1", "b", "B"), e("2", "c", "C"), e("2", "d", "D"), x}, first: []int{0, 1, 2, 3, 4}, guids: []string{"1", "2"}, mostGUIDs: true},
		"GUIDs are sections, all links equal": {
			entries: []Entry{e("1", "a", "A"), e("1", "a", "B"), e("1", "a", "C"), e("2", "a", "D"), e("2", "a", "E"), e("2", "a", "F")},
			first:   []int{0, 1, 2, 3, 4, 5}, guids: []string{"1", "2"}, paths: []string{"a"}, mostGUIDs: true, mostURLs: true,
		},
		"two stories at one link, one of them in two revisions": {
			entries: []Entry{e("1", "a", "A"), e("2", "a", "B"), e("2", "a", "B, corrected"), x, y, z, e("w", "w", "W")},
			first:   []int{0, 1, 1, 3, 4, 5, 6}, paths: []string{"a"},
		},
		"a link that is not trusted is no likeness": {entries: []Entry{e("1", "a", "A"), e("1", "a", "B"), x, y}, trust: Trust{URLsUntrusted: true}, first: []int{0, 1, 2, 3}, guids: []string{"1"}},
		"a value that is not trusted does not join": {entries: []Entry{e("1", "a", "A"), e("2", "a", "A"), x}, trust: Trust{Shared: map[Key]bool{keyOf("url", "//a.example/a"): true}}, first: []int{0, 1, 2}},
		"titles alone":                       {entries: []Entry{e("", "", "A"), e("", "", "B"), e("", "", "A")}, first: []int{0, 1, 0}},
		"titles alone, with different texts": {entries: []Entry{with(e("", "", "A"), "1"), e("", "", "B"), with(e("", "", "A"), "2")}, first: []int{0, 1, 2}, titles: []string{"A"}},
		"texts alone":                        {entries: []Entry{{Content: "1"}, {Content: "2"}}, first: []int{0, 1}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := Stories{First: test.first, Shared: map[Key]bool{}, MostShareGUIDs: test.mostGUIDs, MostShareURLs: test.mostURLs}
			for _, guid := range test.guids {
				want.Shared[keyOf("guid", guid)] = true
			}
			for _, path := range test.paths {
				want.Shared[keyOf("url", "//a.example/"+path)] = true
			}
			for _, title := range test.titles {
				want.Shared[keyOf("title", title)] = true
			}
			got := Compare(keysOf(test.entries), test.trust)
			got.GUIDs, got.URLs = 0, 0
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			turned := slices.Clone(test.entries)
			slices.Reverse(turned)
			if back := Compare(keysOf(turned), test.trust); !cmp.Equal(back.Shared, got.Shared) {
				t.Errorf("turned around, other values are shared: %v", back.Shared)
			}
		})
	}
}

func BenchmarkCompare(b *testing.B) {
	plain := make([]Keys, MaxEntries)
	for i := range plain {
		plain[i] = Identify(Entry{GUID: fmt.Sprint(i), URL: fmt.Sprintf("https://a.example/%d", i), Title: fmt.Sprintf("Title %d", i)})
	}
	for name, keys := range map[string][]Keys{"plain": plain, "doubled": slices.Concat(plain[:MaxEntries/2], plain[:MaxEntries/2])} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				Compare(keys, Trust{})
			}
		})
	}
}
