// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package seen

import "github.com/feed-operator/feed-operator/internal/feed"

const (
	// regainAfter is how many documents must come without a reason for doubt before an attribute is trusted again.
	regainAfter = 10
	// fewestChanged is how many stories at least must have changed their value of an attribute before it is taken for
	// one that changes from poll to poll, and how many must have kept it before it is not any more.
	fewestChanged = 2
)

// A doubt is about an attribute as a whole, GUIDs or URLs.
type doubt struct {
	// shared is how many documents must still come in which the attribute is not one that most stories have in common
	// with others. While it is above zero, the attribute is not trusted.
	shared int
	// begins is set when the observed document is the first such one.
	begins bool
	// changing is set while most entries come with another value than the last time: it says nothing of an entry
	// that it is new.
	changing bool
	// moved is set when something has changed.
	moved bool
}

// doubtOf reads a doubt. One that says nothing of how long it lasts was written when a single double listing could
// begin it, and it ended never: the next document decides.
func doubtOf(untrusted bool, left int32, changing bool) doubt {
	d := doubt{changing: changing}
	if untrusted {
		d.shared = min(max(int(left), 1), regainAfter)
	}
	return d
}

// weigh takes in a document with so many stories that have the attribute. One that lists less than two says nothing.
func (d *doubt) weigh(listed int, shared bool, found *changes) {
	before := *d
	switch {
	case shared:
		d.shared, d.begins = regainAfter, d.shared == 0
	case listed > 1:
		d.shared = max(d.shared-1, 0)
	}
	switch {
	case len(found.changed) >= fewestChanged && len(found.changed) > found.kept:
		d.changing = true
	case found.kept >= fewestChanged:
		d.changing = false
	}
	d.moved = d.shared != before.shared || d.changing != before.changing
}

// weighDoubts decides how far GUIDs and URLs are trusted as a whole, by what the observed document does with them. It says
// whether the trust has changed.
func (m *Memory) weighDoubts() (changed bool) {
	before := m.trust
	guids, urls := m.changes()
	m.guidDoubt.weigh(m.stories.GUIDs, m.stories.MostShareGUIDs, guids)
	m.urlDoubt.weigh(m.stories.URLs, m.stories.MostShareURLs, urls)
	m.setTrust()
	return before.GUIDsUntrusted != m.trust.GUIDsUntrusted || before.URLsUntrusted != m.trust.URLsUntrusted
}

// telling is the trust by which new entries are told from known ones. What changes from poll to poll tells nothing; but an
// entry that has kept it is known by it.
func (m *Memory) telling() feed.Trust {
	trust := m.trust
	trust.GUIDsUntrusted = trust.GUIDsUntrusted || m.guidDoubt.changing
	trust.URLsUntrusted = trust.URLsUntrusted || m.urlDoubt.changing
	return trust
}

// changes compares the GUIDs and URLs of the entries that are known by everything else with those that they had: by the
// same title and content, or by the same other attribute and the same title, if they have one.
func (m *Memory) changes() (guids, urls *changes) {
	guids, urls = &changes{changed: map[feed.Key]bool{}}, &changes{changed: map[feed.Key]bool{}}
	for _, keys := range m.keys {
		same := keys.Telling && m.knowsText(keys.Content)
		sameTitle := keys.Title.IsZero() || m.knowsText(keys.Title)
		guids.count(keys.GUID, &m.guids, same, sameTitle && !m.trust.Shared[keys.URL] && m.urls.has(keys.URL), keys)
		urls.count(keys.URL, &m.urls, same, sameTitle && !m.trust.Shared[keys.GUID] && m.guids.has(keys.GUID), keys)
	}
	return guids, urls
}

// changes counts how many entries have kept their value of an attribute, and which texts have come with another one.
type changes struct {
	kept    int
	changed map[feed.Key]bool
}

// count takes in an entry by its key of the attribute.
func (c *changes) count(key feed.Key, known *keySet, sameContent, sameOther bool, keys feed.Keys) {
	switch {
	case key.IsZero():
	case known.has(key):
		c.kept++
	case sameContent || sameOther:
		c.changed[keys.Text()] = true
	}
}
