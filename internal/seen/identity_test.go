// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package seen

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/feed"
)

// An article is what the entries of all documents that speak of it have in common.
type article struct {
	number    int
	guid, url string // empty: has none
	revision  int
	listed    bool // in some document before
}

// A world is a feed that does everything to its entries that feeds do, and the memory of it. It
// does to an article only what leaves something to know it by.
type world struct {
	t        *rapid.T
	articles []*article
	guids    bool // the feed gives GUIDs
	urls     bool // the feed gives URLs
	sameGUID bool // all entries have one GUID
	sameURL  bool // all entries have one URL
	serial   int  // makes fresh values

	data  v1alpha1.FeedMemoryData
	items map[string]*article // in the API server, or pruned since, by name
	kept  []*v1alpha1.FeedItem
}

func newWorld(t *rapid.T) *world {
	w := &world{t: t, items: map[string]*article{}}
	w.guids = rapid.Bool().Draw(t, "guids")
	w.urls = rapid.Bool().Draw(t, "urls")
	w.sameGUID = w.guids && rapid.IntRange(0, 3).Draw(t, "sameGUID") == 0
	w.sameURL = w.urls && rapid.IntRange(0, 3).Draw(t, "sameURL") == 0
	return w
}

func (w *world) chance(name string, percent int) bool {
	return rapid.IntRange(1, 100).Draw(w.t, name) <= percent
}

func (w *world) fresh(what string) string {
	w.serial++
	return fmt.Sprintf("%s%d", what, w.serial)
}

// publish adds an article. It may take the GUID or the URL of another one that is listed now.
func (w *world) publish(listed []*article) *article {
	a := &article{number: len(w.articles)}
	switch {
	case w.sameGUID:
		a.guid = "guid"
	case w.guids && w.chance("has a GUID", 90):
		a.guid = w.fresh("guid")
	}
	switch {
	case w.sameURL:
		a.url = "news.example/"
	case w.urls && w.chance("has a URL", 90):
		a.url = w.fresh("news.example/")
	}
	if len(listed) > 0 {
		other := rapid.SampledFrom(listed).Draw(w.t, "other")
		if a.guid != "" && other.guid != "" && w.chance("takes a GUID", 5) {
			a.guid = other.guid
		}
		if a.url != "" && other.url != "" && w.chance("takes a URL", 5) {
			a.url = other.url
		}
	}
	w.articles = append(w.articles, a)
	return a
}

// list chooses what the next document lists. The first one lists two articles at least: of one
// that stands alone nobody can tell that all have its GUID.
func (w *world) list() []*article {
	var listed []*article
	for _, a := range w.articles {
		if w.chance("listed", 70) {
			listed = append(listed, a)
		}
	}
	for n := rapid.IntRange(0, 3).Draw(w.t, "new"); n > 0 || len(w.articles) < 2; n-- {
		listed = append(listed, w.publish(listed))
	}
	if len(listed) == 1 && (w.sameGUID || w.sameURL) {
		return w.articles
	}
	return rapid.Permutation(listed).Draw(w.t, "order")
}

// entry is how this document lists the article.
func (w *world) entry(a *article) feed.Entry {
	e := feed.Entry{
		GUID:    a.guid,
		Title:   fmt.Sprintf("Title %d.%d", a.number, a.revision),
		Content: fmt.Sprintf("Content %d.%d", a.number, a.revision),
	}
	if a.url != "" {
		scheme := rapid.SampledFrom([]string{"http://", "https://", "https://NEWS."}).Draw(w.t, "scheme")
		if scheme == "https://NEWS." {
			e.URL = scheme + a.url[len("news."):]
		} else {
			e.URL = scheme + a.url
		}
		e.URL += rapid.SampledFrom([]string{"", "?utm_source=rss", "?utm_medium=x&fbclid=7", "?gclid=a&mc_cid=b&mc_eid=c", "?"}).Draw(w.t, "tracking")
	}
	return e
}

func entriesOf(articles []*article) (entries []feed.Entry) {
	for _, a := range articles {
		e := feed.Entry{GUID: a.guid, Title: fmt.Sprint(a.number)}
		if a.url != "" {
			e.URL = "http://" + a.url
		}
		entries = append(entries, e)
	}
	return entries
}

// change edits, moves and renames what is listed, as long as something is left to know it by.
func (w *world) change(listed []*article) {
	before := feed.Trust{GUIDsUntrusted: w.data.GUIDsUntrusted, URLsUntrusted: w.data.URLsUntrusted}
	entries := entriesOf(listed)
	sharedGUIDs, sharedURLs := feed.Shared(entries)
	for i, a := range listed {
		if !a.listed {
			continue
		}
		keys := feed.Identify(entries[i])
		byGUID := a.guid != "" && !before.GUIDsUntrusted && !sharedGUIDs[keys.GUID]
		byURL := a.url != "" && !before.URLsUntrusted && !sharedURLs[keys.URL]
		switch {
		case byGUID && !sharedURLs[keys.URL] && w.chance("moves", 10):
			a.url = rapid.SampledFrom([]string{"", w.fresh("news.example/")}).Draw(w.t, "new URL")
		case byURL && !sharedGUIDs[keys.GUID] && w.chance("changes its GUID", 30):
			a.guid = rapid.SampledFrom([]string{"", w.fresh("guid")}).Draw(w.t, "new GUID")
		}
		if (byGUID || byURL) && w.chance("is edited", 30) {
			a.revision++
		}
	}
}

// poll does what a controller does with a document. It may be cut off before it stores the memory.
func (w *world) poll(document []feed.Entry, articles []*article, cutOff bool) {
	memory, err := Load(w.data)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, item := range w.kept {
		memory.Remember(feed.IdentifyItem(item.Spec.GUID, item.Spec.URL))
	}
	memory.Observe(document)
	known := make([]bool, len(document))
	for i, e := range document {
		known[i] = memory.Known(feed.Identify(e))
	}
	for i, e := range document {
		if known[i] {
			continue
		}
		name := feed.ItemName("source", "uid", e, memory.Trust())
		if other, found := w.items[name]; found && other != articles[i] {
			w.t.Fatalf("articles %d and %d became one item", other.number, articles[i].number)
		}
		for otherName, other := range w.items {
			if other == articles[i] && otherName != name {
				w.t.Fatalf("article %d became two items, the second of %+v", other.number, e)
			}
		}
		w.items[name] = articles[i]
		if w.chance("is not pruned", 50) {
			w.kept = append(w.kept, &v1alpha1.FeedItem{Spec: v1alpha1.FeedItemSpec{GUID: e.GUID, URL: e.URL}})
		}
	}
	if cutOff {
		return
	}
	for _, e := range document {
		memory.Remember(feed.Identify(e))
	}
	memory.Store(&w.data)
}

func (w *world) check(listed []*article) {
	for _, a := range listed {
		a.listed = true
		if !slices.Contains(slices.Collect(maps.Values(w.items)), a) {
			w.t.Fatalf("article %d became no item", a.number)
		}
	}
}

// R1.2: whatever a feed does to its entries, each article becomes one item, and no two become the
// same one; over restarts, crashes, and after items were pruned.
func TestIdentity(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		for range rapid.IntRange(2, 8).Draw(t, "polls") {
			listed := w.list()
			w.change(listed)
			var document []feed.Entry
			var articles []*article
			for _, a := range listed {
				e := w.entry(a)
				for range rapid.SampledFrom([]int{1, 1, 1, 2}).Draw(t, "times") {
					document, articles = append(document, e), append(articles, a)
				}
			}
			if w.chance("crash", 20) {
				w.poll(document, articles, true)
			}
			w.poll(document, articles, false)
			w.check(listed)
		}
	})
}
