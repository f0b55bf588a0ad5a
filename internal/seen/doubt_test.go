// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package seen

import (
	"fmt"
	"testing"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/feed"
)

// R1.2: an attribute that most entries share is trusted again once ten documents have come without; what lists one entry
// alone says nothing.
func TestTrustComesBackAfterTenDocuments(t *testing.T) {
	t.Parallel()
	var data v1alpha1.FeedMemoryData
	untrusted := func() [2]bool { return [2]bool{data.GUIDsUntrusted, data.URLsUntrusted} }
	pollOnce(t, &data, each(numbered(3), func(e *feed.Entry) { e.GUID = "guid" }))
	if untrusted() != [2]bool{true, false} {
		t.Fatalf("GUIDs and URLs are not trusted: %v", untrusted())
	}
	for n := range 9 {
		pollOnce(t, &data, numbered(3+n))
		pollOnce(t, &data, numbered(1))
	}
	if untrusted() != [2]bool{true, false} {
		t.Error("GUIDs are trusted after nine documents")
	}
	pollOnce(t, &data, numbered(3))
	if untrusted() != [2]bool{} {
		t.Errorf("after ten documents, GUIDs and URLs are not trusted: %v", untrusted())
	}
	late := feed.Entry{GUID: "guid", URL: "https://news.example/late", Title: "Late"}
	if created := pollOnce(t, &data, []feed.Entry{late}); created != 1 {
		t.Error("the one GUID that was shared is trusted")
	}
}

// R1.2: what a person is told of the GUIDs and URLs of a feed.
func TestStanding(t *testing.T) {
	t.Parallel()
	shared := append(numbered(5), feed.Entry{GUID: "other", URL: "https://news.example/0", Title: "Other"})
	for name, test := range map[string]struct {
		before, now []feed.Entry
		guids, urls Standing
	}{
		"nothing is wrong":           {nil, numbered(5), Trusted, Trusted},
		"two stories share a URL":    {nil, shared, Trusted, SomeShared},
		"they did, and are there":    {shared, numbered(5), Trusted, SomeShared},
		"they did, and are gone":     {shared, numbered(5)[1:], Trusted, Trusted},
		"most share their GUIDs":     {nil, each(numbered(5), func(e *feed.Entry) { e.GUID = "guid" }), MostShared, Trusted},
		"they did in the last ten":   {each(numbered(5), func(e *feed.Entry) { e.GUID = "guid" }), numbered(5), MostShared, Trusted},
		"GUIDs change":               {numbered(5), each(numbered(5), func(e *feed.Entry) { e.GUID += "!" }), Changing, Trusted},
		"URLs change":                {numbered(5), each(numbered(5), func(e *feed.Entry) { e.URL += "!" }), Trusted, Changing},
		"one story changes its GUID": {numbered(5), append(numbered(4), each(numbered(5)[4:], func(e *feed.Entry) { e.GUID += "!" })...), Trusted, Trusted},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var data v1alpha1.FeedMemoryData
			if test.before != nil {
				pollOnce(t, &data, test.before)
			}
			memory := load(t, data)
			memory.Observe(test.now)
			if guids, urls := memory.Standing(); guids != test.guids || urls != test.urls {
				t.Errorf("GUIDs %d, URLs %d, want %d and %d", guids, urls, test.guids, test.urls)
			}
		})
	}
}

// R1.3: a feed with other GUIDs in each poll is not written down at each.
func TestChangingGUIDsAreNoNews(t *testing.T) {
	t.Parallel()
	var data v1alpha1.FeedMemoryData
	document := func(poll int) []feed.Entry {
		return each(numbered(5), func(e *feed.Entry) { e.GUID += fmt.Sprint(poll) })
	}
	for poll := range 4 {
		memory := load(t, data)
		memory.Observe(document(poll))
		memory.RememberListed()
		if want := poll < 2; memory.Learnt() != want { // the first time, and when it turns out that they change
			t.Errorf("poll %d: learnt %t", poll, !want)
		}
		memory.Store(&data)
	}
}

// R2.10: what is known of single values is bounded, and those that the feed still lists stay.
func TestDoubtsAreBounded(t *testing.T) {
	t.Parallel()
	var data v1alpha1.FeedMemoryData
	pairs := func(from, n int) []feed.Entry {
		var entries []feed.Entry
		for i := from; i < from+n; i++ {
			link := fmt.Sprintf("https://news.example/%d", i)
			entries = append(entries, feed.Entry{GUID: fmt.Sprintf("a%d", i), URL: link, Title: fmt.Sprintf("A%d", i)},
				feed.Entry{GUID: fmt.Sprintf("b%d", i), URL: link, Title: fmt.Sprintf("B%d", i)})
		}
		return entries
	}
	pollOnce(t, &data, append(pairs(0, 1), numbered(10)...))
	for i := range 6 {
		pollOnce(t, &data, append(pairs(0, 1)[:1], pairs(1+i*1000, 1000)...))
	}
	if len(data.Shared) > 32_000 || len(data.Shared) < 20_000 {
		t.Errorf("%d characters of values that are shared", len(data.Shared))
	}
	memory := load(t, data)
	for _, e := range append(pairs(0, 1), pairs(5001, 1000)...) {
		if key := feed.Identify(e).URL; !memory.Trust().Shared[key] {
			t.Errorf("%s is forgotten", e.URL)
		}
	}
}
