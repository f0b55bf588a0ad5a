// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package seen

import "github.com/feed-operator/feed-operator/internal/feed"

// findReused finds GUIDs and URLs that the feed gives to one story after the other, of which a document lists but one: the
// page of a live report, or of this week's digest. It returns those that have come with a second story now, and
// distrusts those that have come with a third.
//
// An entry that is known by its URL alone, with a GUID and a title that were never seen, may be a story that was edited and
// got a new GUID, or another story at the same URL. The first time it is taken for the same. The second time, which
// is the third story, the URL identifies nothing any more. The same goes for GUIDs, but only where the feed has fewer than
// half as many of them as URLs: a GUID is meant to stay while a headline is edited and the URL follows it.
func (m *Memory) findReused() (once map[feed.Key]bool) {
	type evidence struct{ guidKnown, urlKnown, textKnown bool }
	stories := make(map[int]evidence, len(m.keys))
	for i, keys := range m.keys {
		trusted, story := keys.Trusted(m.trust), m.stories.First[i]
		e := stories[story]
		e.guidKnown = e.guidKnown || m.guids.has(trusted.GUID)
		e.urlKnown = e.urlKnown || m.urls.has(trusted.URL)
		e.textKnown = e.textKnown || m.knowsText(keys.Text()) || m.knowsText(keys.Content)
		stories[story] = e
	}
	fewGUIDs := 2*len(m.guids.seenNow) < len(m.urls.seenNow)+1 // the URL in question is not among them yet
	type claim struct {
		key      feed.Key
		credible bool
	}
	var again []claim
	for i, keys := range m.keys {
		e := stories[m.stories.First[i]]
		trusted := keys.Trusted(m.telling())
		if trusted.GUID.IsZero() || trusted.URL.IsZero() || e.textKnown || e.guidKnown == e.urlKnown {
			continue
		}
		switch {
		case m.urls.has(trusted.URL) && !keys.GUIDFollowsURL:
			again = append(again, claim{trusted.URL, true})
		case m.guids.has(trusted.GUID):
			again = append(again, claim{trusted.GUID, fewGUIDs})
		}
	}
	once = map[feed.Key]bool{}
	for _, claim := range again {
		switch {
		case !m.reused.has(claim.key):
			once[claim.key] = true
		case claim.credible:
			m.trust.Shared[claim.key] = true
		}
	}
	return once
}
