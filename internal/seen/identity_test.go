// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package seen

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/feed"
	"github.com/feed-operator/feed-operator/internal/portion"
)

func init() { portion.Draws(12) }

// A kind of feed is what it gives its stories to be known by.
type kind struct {
	guid, url attribute
	title     bool
}

// An attribute is how a feed gives GUIDs, or links.
type attribute int

const (
	none     attribute = iota
	own                // each story its own
	constant           // all stories the same
	changing           // each story another one in each document
)

// kinds are those of real feeds. What the generator never does, in general or in one of them, is all that makes a merge or a
// doubling unavoidable: there the documents that a feed with one story, and one with two, would send are the same.
//
//   - A story never changes all that identifies it between two documents. So a title is edited only where the GUID or the
//     link is the story's own, and a content only where also a title may identify it.
//   - Of own GUID and own link, one may change at a time; and of a story that was edited meanwhile, each does so once
//     at most: three GUIDs and titles at one link are three stories. What two stories share stays.
//   - A revision is listed beside the story only where two other things are the same, and never in a document that lists
//     nothing but that story.
//   - Where an attribute is constant, or another one in each document, the first documents list at least two stories: of
//     one that stands alone nobody can tell. Where it is another one in each document so do all documents, and two of the stories are not
//     edited meanwhile.
var kinds = map[string]kind{
	"GUIDs and links":                    {own, own, true},
	"GUIDs and links, no titles":         {own, own, false},
	"GUIDs only":                         {own, none, true},
	"links only":                         {none, own, true},
	"titles only":                        {none, none, true},
	"texts only":                         {none, none, false},
	"one GUID for all, links":            {constant, own, true},
	"one GUID for all":                   {constant, none, true},
	"GUIDs, one link for all":            {own, constant, true},
	"one link for all":                   {none, constant, true},
	"one GUID and one link for all":      {constant, constant, true},
	"GUIDs that change, links":           {changing, own, true},
	"GUIDs that change, links, untitled": {changing, own, false},
	"GUIDs that change":                  {changing, none, true},
	"GUIDs that change, one link":        {changing, constant, true},
	"GUIDs, links that change":           {own, changing, true},
	"links that change":                  {none, changing, true},
	"one GUID for all, links change":     {constant, changing, true},
	"GUIDs and links that change":        {changing, changing, true},
	"GUIDs, links that change, untitled": {own, changing, false},
}

// A story is what the reference knows of one: the feed lists it in documents, and it becomes one item.
type story struct {
	number           int
	guid, path       string
	title, content   int // revisions
	editedAndRenamed bool
	editedAndMoved   bool
	sharesGUID       bool // with another story that has its own link
	sharesPath       bool // with another story that has its own GUID
	listed           bool // in some document before
}

// A world is a feed, what it lists, and what was made of that.
type world struct {
	*rapid.T
	kind    kind
	stories []*story
	serial  int
	polls   int  // that were not cut off
	pairs   bool // two stories have come to share a value

	// data is all that is stored, or with an archive what came since, of so many keys at most.
	data, archive v1alpha1.FeedMemoryData
	from, after   int
	items         map[string]*story // that were ever created, by name
	kept          []feed.Entry      // of items that are there still
}

func (w *world) chance(name string, percent int) bool {
	return rapid.IntRange(1, 100).Draw(w.T, name) <= percent
}

func (w *world) fresh(what string) string {
	w.serial++
	return fmt.Sprintf("%s%d", what, w.serial)
}

func (w *world) publish() *story {
	s := &story{number: len(w.stories), guid: "guid", path: "news.example/"}
	if w.kind.guid == own {
		s.guid = w.fresh("guid")
	}
	if w.kind.url == own {
		s.path = w.fresh("news.example/")
	}
	w.stories = append(w.stories, s)
	return s
}

// identified reports whether the story has something of its own that does not change by itself.
func (w *world) identified() bool { return w.kind.guid == own || w.kind.url == own }

// changes reports whether something is another one in each document.
func (w *world) changes() bool { return w.kind.guid == changing || w.kind.url == changing }

// list chooses what the next document lists.
func (w *world) list() []*story {
	var listed []*story
	for _, s := range w.stories {
		if w.chance("listed", 70) {
			listed = append(listed, s)
		}
	}
	unstable := w.kind.guid > own || w.kind.url > own
	first := len(w.stories) == 0
	if w.changes() || unstable && first {
		for n := 0; len(listed) < min(2, len(w.stories)); n++ {
			if !slices.Contains(listed, w.stories[n]) {
				listed = append(listed, w.stories[n])
			}
		}
		for len(w.stories) < 2 {
			listed = append(listed, w.publish())
		}
	}
	for range rapid.IntRange(0, 3).Draw(w.T, "new") {
		listed = append(listed, w.publish())
	}
	return rapid.Permutation(listed).Draw(w.T, "order")
}

// change does to the listed stories what feeds do.
func (w *world) change(listed []*story) {
	w.pairUp(listed)
	steady := 0 // stories that are not edited
	if w.changes() {
		steady = 2
	}
	for _, s := range listed {
		if !s.listed {
			continue
		}
		if steady--; steady >= 0 {
			continue
		}
		edited := w.identified() && w.kind.title && w.chance("title is edited", 30)
		if edited {
			s.title++
		}
		if (w.identified() || w.kind.title) && w.chance("content is edited", 30) {
			s.content++
			edited = edited || !w.kind.title
		}
		if w.kind.guid != own || w.kind.url != own || s.sharesGUID || s.sharesPath {
			continue
		}
		switch {
		case !(edited && s.editedAndRenamed) && w.chance("GUID changes", 10):
			s.guid = w.fresh("guid")
			s.editedAndRenamed = s.editedAndRenamed || edited
		case !(edited && s.editedAndMoved) && w.chance("link changes", 10):
			s.path = w.fresh("news.example/")
			s.editedAndMoved = s.editedAndMoved || edited
		}
	}
}

// pairUp has two stories, of which one is new, share a GUID or a link from now on, once in a feed.
func (w *world) pairUp(listed []*story) {
	if w.pairs || w.kind.guid != own || w.kind.url != own || len(listed) < 2 || !w.chance("two share a value", 20) {
		return
	}
	for i, s := range listed {
		other := listed[(i+1)%len(listed)]
		if s.listed {
			continue
		}
		w.pairs = true
		if w.chance("GUID", 50) {
			s.guid, s.sharesGUID, other.sharesGUID = other.guid, true, true
		} else {
			s.path, s.sharesPath, other.sharesPath = other.path, true, true
		}
		return
	}
}

// entry is how a document lists the story.
func (w *world) entry(s *story) feed.Entry {
	e := feed.Entry{Content: fmt.Sprintf("Content %d.%d", s.number, s.content)}
	if w.kind.title {
		e.Title = fmt.Sprintf("Title %d.%d", s.number, s.title)
	}
	switch w.kind.guid {
	case none:
	case changing:
		e.GUID = w.fresh("guid")
	default:
		e.GUID = s.guid
	}
	switch w.kind.url {
	case none:
	case changing:
		e.URL = "https://news.example/?id=" + w.fresh("")
	default:
		e.URL = rapid.SampledFrom([]string{"http://", "https://"}).Draw(w.T, "scheme") + s.path +
			rapid.SampledFrom([]string{"", "?utm_source=rss", "?utm_medium=x&fbclid=7", "?"}).Draw(w.T, "tracking")
	}
	return e
}

// again is a second listing of a story in the same document.
func (w *world) again(s *story, e feed.Entry, alone bool) feed.Entry {
	if w.changes() && w.polls < 2 {
		return e
	}
	if w.changes() {
		if w.kind.guid == changing {
			e.GUID = w.fresh("guid")
		}
		if w.kind.url == changing {
			e.URL = "https://news.example/?id=" + w.fresh("")
		}
		return e
	}
	both := w.kind.guid == own && w.kind.url == own && !s.sharesGUID && !s.sharesPath
	kinds := []string{"the same"}
	if w.identified() {
		kinds = append(kinds, "content")
	}
	if !w.kind.title {
		kinds = kinds[:1]
	}
	if both && !alone {
		kinds = append(kinds, "title")
	}
	if both && w.kind.title {
		kinds = append(kinds, "link", "GUID", "no GUID", "no link")
	}
	switch rapid.SampledFrom(kinds).Draw(w.T, "again") {
	case "content":
		e.Content += ", longer"
	case "title":
		if !w.kind.title {
			e.Content += ", longer"
			break
		}
		e.Title += ", corrected"
	case "link":
		e.URL = "https://" + w.fresh("news.example/category")
	case "GUID":
		e.GUID = w.fresh("guid")
	case "no GUID":
		e.GUID = ""
	case "no link":
		e.URL = ""
	}
	return e
}

// poll does what a controller does with a document. It may be cut off before it stores the memory.
func (w *world) poll(document []feed.Entry, of []*story, cutOff bool) {
	memory, err := LoadParts(w.data, w.archive)
	if err != nil {
		w.Fatal(err)
	}
	memory.Observe(document)
	for _, e := range w.kept {
		if keys := feed.IdentifyItem(e.GUID, e.URL, e.Title); !memory.Known(keys) {
			memory.Remember(keys)
		}
	}
	for _, e := range memory.Fresh() {
		s := of[slices.IndexFunc(document, func(other feed.Entry) bool { return fmt.Sprint(other) == fmt.Sprint(e) })]
		name := feed.ItemName("source", "uid", e, memory.Trust())
		if other, found := w.items[name]; found && other != s {
			w.Fatalf("stories %d and %d became one item", other.number, s.number)
		}
		for otherName, other := range w.items {
			if other == s && otherName != name {
				w.Fatalf("story %d became two items, the second of %+v", s.number, e)
			}
		}
		w.items[name] = s
		if cutOff || w.chance("is not pruned", 50) {
			w.kept = append(w.kept, e)
		}
	}
	if cutOff && !w.chance("only the archive is stored", 50) {
		return
	}
	memory.RememberListed()
	latest := w.data
	memory.storeParts(&latest, &w.archive, w.from, w.after)
	if cutOff {
		return
	}
	w.data = latest
	w.polls++
	if len(w.kept) > 0 && w.chance("items are pruned", 20) {
		w.kept = nil
	}
}

func (w *world) check(listed []*story) {
	for _, s := range listed {
		s.listed = true
		found := false
		for _, other := range w.items {
			found = found || other == s
		}
		if !found {
			w.Fatalf("story %d became no item", s.number)
		}
	}
}

// R1.2: whatever a feed does to its entries, of whichever kind it is, each story becomes one item, and no two become the
// same one; over restarts, crashes, and after items were pruned.
func TestIdentity(t *testing.T) {
	t.Parallel()
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				w := &world{T: t, kind: kind, items: map[string]*story{}, from: archiveFrom, after: archiveAfter}
				if rapid.Bool().Draw(t, "in parts") {
					w.from, w.after = 4, 2
				}
				for range rapid.IntRange(2, 14).Draw(t, "polls") {
					listed := w.list()
					w.change(listed)
					var document []feed.Entry
					var of []*story
					for _, s := range listed {
						e := w.entry(s)
						document, of = append(document, e), append(of, s)
						if w.chance("listed twice", 15) {
							document, of = append(document, w.again(s, e, len(listed) == 1)), append(of, s)
						}
					}
					if w.chance("crash", 15) {
						w.poll(document, of, true)
					}
					w.poll(document, of, false)
					w.check(listed)
				}
			})
		})
	}
}
