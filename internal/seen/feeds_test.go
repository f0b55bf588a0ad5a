// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package seen

import (
	"fmt"
	"testing"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/feed"
)

// numbered makes n entries, each with all that an entry can have.
func numbered(n int) []feed.Entry {
	entries := make([]feed.Entry, n)
	for i := range entries {
		entries[i] = feed.Entry{
			GUID: fmt.Sprintf("tag:%d", i), URL: fmt.Sprintf("https://news.example/%d", i),
			Title: fmt.Sprintf("Title %d", i), Content: fmt.Sprintf("Content %d", i),
		}
	}
	return entries
}

// R1.2: feeds as they are found out there, poll after poll, and how many items are made of them.
func TestFeeds(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		polls int
		// document is what the feed lists at a poll, from 0 on.
		document func(poll int) []feed.Entry
		want     int
	}{
		"a story is listed twice once, and texts are edited": {polls: 5, want: 5, document: func(poll int) []feed.Entry {
			entries := revised(numbered(5), poll)
			if poll == 0 {
				again := entries[2]
				again.Content = "longer"
				entries = append(entries, again)
			}
			return entries
		}},
		"a story is listed twice once, in two revisions, and texts are edited": {polls: 5, want: 5, document: func(poll int) []feed.Entry {
			entries := revised(numbered(5), poll)
			if poll == 1 {
				again := entries[2]
				again.Title = "Title 2, corrected"
				entries = append(entries, again)
			}
			return entries
		}},
		"one entry at a time, with one link for all": {polls: 30, want: 29, document: func(poll int) []feed.Entry {
			return oneOf(poll, func(e *feed.Entry) { e.URL = "https://news.example/" })
		}},
		"one entry at a time, with one GUID for all": {polls: 30, want: 29, document: func(poll int) []feed.Entry {
			return oneOf(poll, func(e *feed.Entry) { e.GUID = "guid" })
		}},
		"one entry at a time, with nothing in common": {polls: 30, want: 30, document: func(poll int) []feed.Entry {
			return oneOf(poll, func(*feed.Entry) {})
		}},
		"one entry at a time, of which the GUIDs alone differ": {polls: 10, want: 10, document: func(poll int) []feed.Entry {
			return oneOf(poll, func(e *feed.Entry) { e.URL, e.Title, e.Content = "", "Reminder", "As ever." })
		}},
		"one entry at a time, with titles alone": {polls: 30, want: 30, document: func(poll int) []feed.Entry {
			return oneOf(poll, func(e *feed.Entry) { e.GUID, e.URL = "", "" })
		}},
		"messages of one title, with nothing else": {polls: 10, want: 11, document: func(poll int) []feed.Entry {
			return each(numbered(poll + 2)[poll:], func(e *feed.Entry) { e.GUID, e.URL, e.Title = "", "", "Status" })
		}},
		"one story, edited again and again": {polls: 30, want: 1, document: func(poll int) []feed.Entry {
			return oneOf(poll, func(e *feed.Entry) { e.GUID, e.URL = "guid", "https://news.example/" })
		}},
		"a weekly digest at one link, among others": {polls: 6, want: 10 + 5, document: func(poll int) []feed.Entry {
			return append(numbered(10), feed.Entry{
				GUID: fmt.Sprintf("digest-%d", poll), URL: "https://news.example/digest", Title: fmt.Sprintf("Digest %d", poll),
			})
		}},
		"a weekly digest at one link, the last two among others": {polls: 6, want: 10 + 7, document: func(poll int) []feed.Entry {
			entries := numbered(10)
			for i := range 2 {
				entries = append(entries, feed.Entry{
					GUID: fmt.Sprintf("digest-%d", poll+i), URL: "https://news.example/digest", Title: fmt.Sprintf("Digest %d", poll+i),
				})
			}
			return entries
		}},
		"a live report whose GUID counts its revisions": {polls: 6, want: 10, document: func(poll int) []feed.Entry {
			entries := numbered(10)
			entries[3].GUID, entries[3].Title = fmt.Sprintf("http://news.example/3#%d", poll), fmt.Sprintf("Live, part %d", poll)
			return entries
		}},
		"a live report whose link follows its headline": {polls: 6, want: 10, document: func(poll int) []feed.Entry {
			entries := numbered(10)
			entries[3].URL, entries[3].Title = fmt.Sprintf("https://news.example/part-%d", poll), fmt.Sprintf("Live, part %d", poll)
			return entries
		}},
		"GUIDs that change with every poll, and two edits": {polls: 12, want: 5, document: func(poll int) []feed.Entry {
			entries := numbered(5)
			entries[0].Title = fmt.Sprintf("Edited %d", poll/4)
			return each(entries, func(e *feed.Entry) { e.GUID += fmt.Sprintf("-%d", poll) })
		}},
		"GUIDs that change with every poll, without links": {polls: 12, want: 5 + 11, document: func(poll int) []feed.Entry {
			entries := append(numbered(5), feed.Entry{GUID: "new", Title: fmt.Sprintf("New %d", poll), Content: "New"})
			if poll == 0 {
				entries = entries[:5]
			}
			return each(entries, func(e *feed.Entry) { e.GUID, e.URL = e.GUID+fmt.Sprintf("-%d", poll), "" })
		}},
		"GUIDs and texts that change with every poll, without titles": {polls: 12, want: 5, document: func(poll int) []feed.Entry {
			return each(numbered(5), func(e *feed.Entry) {
				e.GUID, e.Title, e.Content = fmt.Sprintf("%s-%d", e.GUID, poll), "", fmt.Sprintf("%s, read %d times", e.Content, poll)
			})
		}},
		"GUIDs and links with a token that changes": {polls: 12, want: 5, document: func(poll int) []feed.Entry {
			return each(numbered(5), func(e *feed.Entry) {
				e.URL += fmt.Sprintf("?session=%d", poll)
				e.GUID = e.URL
			})
		}},
		"the same headings every day, about something else": {polls: 10, want: 30, document: func(poll int) []feed.Entry {
			return each(numbered(3), func(e *feed.Entry) {
				e.GUID, e.URL, e.Content = fmt.Sprintf("%s-%d", e.GUID, poll), fmt.Sprintf("%s-%d", e.URL, poll), fmt.Sprintf("%s on day %d", e.Content, poll)
			})
		}},
		"the same headings every day, and nothing else": {polls: 10, want: 30, document: func(poll int) []feed.Entry {
			return each(numbered(3), func(e *feed.Entry) {
				e.GUID, e.URL, e.Content = fmt.Sprintf("%s-%d", e.GUID, poll), fmt.Sprintf("%s-%d", e.URL, poll), ""
			})
		}},
		"pictures of which all are called the same": {polls: 10, want: 30, document: func(poll int) []feed.Entry {
			return each(numbered(3), func(e *feed.Entry) {
				e.GUID, e.URL, e.Title, e.Content = fmt.Sprintf("%s-%d", e.GUID, poll), fmt.Sprintf("%s-%d", e.URL, poll), "Photo", ""
			})
		}},
		"a site gets new software, with new GUIDs and links": {polls: 8, want: 5 + 3, document: func(poll int) []feed.Entry {
			entries := each(numbered(5), func(e *feed.Entry) {
				if poll > 3 {
					e.GUID, e.URL = "new-"+e.GUID, e.URL+"/new"
				}
			})
			if poll > 4 { // a new story a day, under an old heading
				entries = append(entries, feed.Entry{
					GUID: fmt.Sprintf("day-%d", poll), URL: fmt.Sprintf("https://news.example/day-%d", poll), Title: "Title 1", Content: fmt.Sprintf("Day %d", poll),
				})
			}
			return entries
		}},
		"all GUIDs are broken once, without links": {polls: 14, want: 5, document: func(poll int) []feed.Entry {
			entries := numbered(5)
			if poll > 12 { // then they are trusted again
				entries = revised(entries, poll)
			}
			return each(entries, func(e *feed.Entry) {
				if e.URL = ""; poll == 1 {
					e.GUID = "?p=0"
				}
			})
		}},
		"GUIDs are sections, with one link for all": {polls: 3, want: 6, document: func(int) []feed.Entry {
			entries := numbered(6)
			for i := range entries {
				entries[i].GUID, entries[i].URL = fmt.Sprintf("section %d", i/2), "https://news.example/"
			}
			return entries
		}},
		"GUIDs are sections, one new story a day": {polls: 10, want: 6 + 10, document: func(poll int) []feed.Entry {
			entries := numbered(7)
			for i := range entries {
				entries[i].GUID = fmt.Sprintf("section %d", i/2)
			}
			entries[6].URL, entries[6].Title = fmt.Sprintf("https://news.example/day-%d", poll), fmt.Sprintf("Day %d", poll)
			return entries
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var data v1alpha1.FeedMemoryData
			created := 0
			for poll := range test.polls {
				created += pollOnce(t, &data, test.document(poll))
			}
			if created != test.want {
				t.Errorf("%d items, want %d", created, test.want)
			}
		})
	}
}

// revised is what the entries are after so many edits.
func revised(entries []feed.Entry, edits int) []feed.Entry {
	return each(entries, func(e *feed.Entry) {
		e.Title += fmt.Sprintf(" (%d)", edits)
		e.Content += fmt.Sprintf(" (%d)", edits)
	})
}

// oneOf is a document that lists but the entry of this number.
func oneOf(number int, change func(*feed.Entry)) []feed.Entry {
	return each(numbered(number + 1)[number:], change)
}

func each(entries []feed.Entry, change func(*feed.Entry)) []feed.Entry {
	for i := range entries {
		change(&entries[i])
	}
	return entries
}
