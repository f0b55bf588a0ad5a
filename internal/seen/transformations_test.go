// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package seen

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/feed"
)

// A transformation is what a feed does to the entries that it has listed.
type transformation func([]feed.Entry) []feed.Entry

func eachEntry(change func(i int, e *feed.Entry)) transformation {
	return func(entries []feed.Entry) []feed.Entry {
		changed := slices.Clone(entries)
		for i := range changed {
			change(i, &changed[i])
		}
		return changed
	}
}

func links(change func(string) string) transformation {
	return eachEntry(func(_ int, e *feed.Entry) { e.URL = change(e.URL) })
}

var (
	turned  transformation = func(entries []feed.Entry) []feed.Entry { r := slices.Clone(entries); slices.Reverse(r); return r }
	emptied transformation = func([]feed.Entry) []feed.Entry { return nil }
	halved  transformation = func(entries []feed.Entry) []feed.Entry { return entries[:len(entries)/2] }
	whole   transformation = func(entries []feed.Entry) []feed.Entry { return entries }
	edited                 = eachEntry(func(i int, e *feed.Entry) { e.Title = fmt.Sprintf("Edited %d", i) })
	retold                 = eachEntry(func(i int, e *feed.Entry) { e.Content = fmt.Sprintf("Other text %d", i) })
)

// one adds an entry at the top that the feed has never listed.
var one transformation = func(entries []feed.Entry) []feed.Entry {
	added := entries[0]
	added.Title, added.Content = "Breaking", "News"
	if !same(entries, func(e feed.Entry) string { return e.GUID }) {
		added.GUID = "guid-new"
	}
	if !same(entries, func(e feed.Entry) string { return e.URL }) {
		added.URL = "http://news.example/new?id=new"
	}
	return append([]feed.Entry{added}, entries...)
}

func same(entries []feed.Entry, attribute func(feed.Entry) string) bool {
	return !slices.ContainsFunc(entries, func(e feed.Entry) bool { return attribute(e) != attribute(entries[0]) })
}

// R1.2: one transformation after the other, with a restart after each and every item pruned, each
// entry becomes one item.
func TestTransformations(t *testing.T) {
	t.Parallel()
	var (
		plain     = whole
		noGUIDs   = eachEntry(func(_ int, e *feed.Entry) { e.GUID = "" })
		noLinks   = eachEntry(func(_ int, e *feed.Entry) { e.URL = "" })
		neither   = eachEntry(func(_ int, e *feed.Entry) { e.GUID, e.URL = "", "" })
		equalGUID = eachEntry(func(_ int, e *feed.Entry) { e.GUID = "guid" })
		equalLink = links(func(string) string { return "http://news.example/" })
		bothEqual = eachEntry(func(_ int, e *feed.Entry) { e.GUID, e.URL = "guid", "http://news.example/" })
		newGUIDs  = eachEntry(func(i int, e *feed.Entry) { e.GUID = fmt.Sprintf("other-%d", i) })
		newLinks  = eachEntry(func(i int, e *feed.Entry) { e.URL = fmt.Sprintf("https://moved.example/%d", i) })
	)
	tests := map[string]struct {
		feed transformation
		then []transformation
		want int
	}{
		"turned around":                          {plain, []transformation{turned, whole}, 6},
		"titles edited":                          {plain, []transformation{edited, whole, edited}, 6},
		"titles edited, without GUIDs":           {noGUIDs, []transformation{edited, whole}, 6},
		"titles edited, without links":           {noLinks, []transformation{edited, whole}, 6},
		"texts edited":                           {plain, []transformation{retold, edited}, 6},
		"shrunk and grown":                       {plain, []transformation{halved, whole, halved, turned, whole}, 6},
		"emptied and listed again":               {plain, []transformation{emptied, emptied, whole}, 6},
		"emptied and listed again, with neither": {neither, []transformation{emptied, turned}, 6},
		"all GUIDs equal":                        {equalGUID, []transformation{turned, edited, halved, whole}, 6},
		"all GUIDs equal, and one new":           {equalGUID, []transformation{edited, one}, 7},
		"all links equal":                        {equalLink, []transformation{turned, edited, halved, whole}, 6},
		"all links equal, and one new":           {equalLink, []transformation{edited, one}, 7},
		"all GUIDs and links equal":              {bothEqual, []transformation{turned, halved, whole}, 6},
		"all GUIDs and links equal, and one new": {bothEqual, []transformation{turned, one}, 7},
		"with neither, and one new":              {neither, []transformation{turned, one}, 7},
		"GUIDs changed while links are the same": {plain, []transformation{newGUIDs, edited, whole}, 6},
		"GUIDs dropped, titles edited":           {plain, []transformation{noGUIDs, edited, whole}, 6},
		"links changed while GUIDs are the same": {plain, []transformation{newLinks, edited, whole}, 6},
		"links dropped, titles edited":           {plain, []transformation{noLinks, edited, whole}, 6},
		"GUIDs changed, then links":              {plain, []transformation{newGUIDs, eachEntry(func(i int, e *feed.Entry) { e.GUID, e.URL = fmt.Sprintf("other-%d", i), "" })}, 6},
		"GUIDs become all equal":                 {plain, []transformation{equalGUID, edited, whole}, 6},
		"links become all equal":                 {plain, []transformation{equalLink, whole}, 6},
		"http and https":                         {noGUIDs, []transformation{links(func(l string) string { return strings.Replace(l, "http:", "https:", 1) }), whole}, 6},
		"the host in capitals, and its port":     {noGUIDs, []transformation{links(func(l string) string { return strings.Replace(l, "http://news.example", "HTTP://News.EXAMPLE:80", 1) }), whole}, 6},
		"tracking parameters":                    {noGUIDs, tracked("utm_source=rss", "utm_campaign=a&utm_medium=b", "fbclid=1", "gclid=2", "mc_cid=3&mc_eid=4", "igshid=5", "msclkid=6"), 6},
		"a new entry at each poll":               {plain, []transformation{one, one, one}, 7},
		"each listed twice":                      {plain, []transformation{func(entries []feed.Entry) []feed.Entry { return slices.Concat(entries, entries) }}, 6},
		"each listed twice, the second time with a trace": {plain, []transformation{func(entries []feed.Entry) []feed.Entry {
			return slices.Concat(entries, links(func(l string) string { return l + "&utm_source=top" })(entries))
		}}, 6},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var listed []feed.Entry
			for i := range 6 {
				listed = append(listed, feed.Entry{
					GUID: fmt.Sprintf("guid-%d", i), URL: fmt.Sprintf("http://news.example/article?id=%d", i),
					Title: fmt.Sprintf("Title %d", i), Content: fmt.Sprintf("Content %d", i),
				})
			}
			listed = test.feed(listed)
			var data v1alpha1.FeedMemoryData
			created := pollOnce(t, &data, listed)
			for _, transform := range test.then {
				created += pollOnce(t, &data, transform(listed))
			}
			if created != test.want {
				t.Errorf("%d items, want %d", created, test.want)
			}
		})
	}
}

func tracked(parameters ...string) (all []transformation) {
	for _, p := range parameters {
		all = append(all,
			links(func(l string) string { return l + "&" + p }),
			links(func(l string) string { return strings.Replace(l, "?", "?"+p+"&", 1) }))
	}
	return all
}

// pollOnce returns how many items a document makes, and remembers it. No item is left from before.
func pollOnce(t *testing.T, data *v1alpha1.FeedMemoryData, document []feed.Entry) int {
	t.Helper()
	memory, err := Load(*data)
	if err != nil {
		t.Fatal(err)
	}
	memory.Observe(document)
	names := map[string]bool{}
	for _, e := range memory.Fresh() {
		names[feed.ItemName("source", "uid", e, memory.Trust())] = true
	}
	memory.RememberListed()
	memory.Store(data)
	return len(names)
}
