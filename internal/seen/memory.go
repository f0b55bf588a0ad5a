// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package seen is the compact memory of which entries of a feed were ever seen. It outlives the
// items that were made of them.
//
// It knows keys, their order and their form in a FeedMemory. It must never know where that is
// kept, nor what an entry is beyond its keys.
package seen

import (
	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/feed"
)

// form is the version of FeedMemoryData that is written. Memories without a version distrusted an attribute for good,
// and had the contents of all entries in one field, without titles.
const form = 2

// A Memory serves one poll: it is loaded, observes the document, tells which entries are known,
// remembers what is seen now, and is stored. It is not for concurrent use.
type Memory struct {
	guids keySet
	urls  keySet
	// contents are the titles and contents by which entries were identified, texts those of all others.
	contents keySet
	texts    keySet
	// shared are the values that identify nothing, reused those that have come with a second story once.
	shared keySet
	reused keySet
	// guidDoubt and urlDoubt are about the attributes as a whole.
	guidDoubt, urlDoubt doubt
	trust               feed.Trust
	// old is set when the memory was written before titles were remembered.
	old bool

	// The observed document.
	entries []feed.Entry
	keys    []feed.Keys
	stories feed.Stories
}

// Load reads a memory that was stored as a whole; that of no data is empty. An error is a *failure.Error of category
// Validation: somebody has changed what was stored.
func Load(data v1alpha1.FeedMemoryData) (*Memory, error) {
	return LoadParts(data, v1alpha1.FeedMemoryData{})
}

// LoadParts reads a memory of which a part may be in an archive; where there is none, that has no data.
func LoadParts(latest, archive v1alpha1.FeedMemoryData) (*Memory, error) {
	m, data := &Memory{old: latest.Version < form}, latest
	into := m.sets()
	for i, field := range fieldsOf(&latest) {
		if err := into[i].load(field.name, *fieldsOf(&archive)[i].keys, *field.keys); err != nil {
			return nil, err
		}
	}
	m.guidDoubt = doubtOf(data.GUIDsUntrusted, data.GUIDsUntrustedFor, data.GUIDsChanging)
	m.urlDoubt = doubtOf(data.URLsUntrusted, data.URLsUntrustedFor, data.URLsChanging)
	m.trust.Shared = make(map[feed.Key]bool, len(m.shared.before))
	for _, key := range m.shared.before {
		m.trust.Shared[key] = true
	}
	m.setTrust()
	return m, nil
}

// Trust returns how far the attributes of the feed's entries can be trusted.
func (m *Memory) Trust() feed.Trust { return m.trust }

// Empty reports whether nothing was ever seen.
func (m *Memory) Empty() bool {
	return len(m.guids.seenNow)+len(m.urls.seenNow)+len(m.contents.seenNow)+len(m.texts.seenNow) == 0
}

func (m *Memory) setTrust() {
	m.trust.GUIDsUntrusted, m.trust.URLsUntrusted = m.guidDoubt.shared > 0, m.urlDoubt.shared > 0
}

// Observe takes in a document: which of its entries are the same story, and what can be trusted from now on. It comes
// before Known and Fresh.
func (m *Memory) Observe(entries []feed.Entry) {
	m.entries, m.keys = entries, make([]feed.Keys, len(entries))
	for i := range entries {
		m.keys[i] = feed.Identify(entries[i])
	}
	m.stories = feed.Compare(m.keys, m.trust)
	if m.weighDoubts() {
		m.stories = feed.Compare(m.keys, m.trust)
	}
	for key := range m.stories.Shared {
		m.trust.Shared[key] = true
	}
	reused := m.findReused()
	for _, keys := range m.keys { // in the order of the document, so that the same one is remembered in the same way
		for _, key := range [...]feed.Key{keys.GUID, keys.URL, keys.Title} {
			if m.trust.Shared[key] {
				m.shared.learn(key)
			}
			if reused[key] || m.reused.has(key) {
				m.reused.learn(key)
			}
		}
	}
}

// Known reports whether an entry with these keys was seen: by its GUID or its URL as far as they are trusted. Its title
// or content decides when neither is, or when those that are change from poll to poll.
//
// In the very document that costs an attribute its trust, it still counts for the entries that do not
// share it: they were told apart by it until now, and their texts may have been edited
// since. This poll remembers the texts, on which the next ones rely.
func (m *Memory) Known(keys feed.Keys) bool {
	trusted := keys.Trusted(m.trust)
	if m.guidDoubt.begins && !m.trust.Shared[keys.GUID] {
		trusted.GUID = keys.GUID
	}
	if m.urlDoubt.begins && !m.trust.Shared[keys.URL] {
		trusted.URL = keys.URL
	}
	if m.guids.has(trusted.GUID) || m.urls.has(trusted.URL) {
		return true
	}
	telling := keys.Trusted(m.telling())
	byText := telling.GUID.IsZero() && telling.URL.IsZero()
	return byText && (m.knowsText(telling.Title) || m.knowsText(keys.Content))
}

func (m *Memory) knowsText(key feed.Key) bool { return m.contents.has(key) || m.texts.has(key) }

// knownStories returns the stories of the document of which any entry is known, by the index of their first one.
func (m *Memory) knownStories() map[int]bool {
	known := make(map[int]bool, len(m.keys))
	for i, keys := range m.keys {
		if story := m.stories.First[i]; !known[story] && m.Known(keys) {
			known[story] = true
		}
	}
	return known
}

// Fresh returns the entries of the observed document that were never seen, in document order; of a story that is listed
// several times the first one.
func (m *Memory) Fresh() []feed.Entry {
	known := m.knownStories()
	var fresh []feed.Entry
	listed := map[feed.Key]bool{} // by text, where the rest changes from poll to poll and so from entry to entry
	for i, entry := range m.entries {
		if m.stories.First[i] != i || known[i] {
			continue
		}
		told := m.keys[i].Trusted(m.telling()).First()
		if !listed[told] {
			fresh = append(fresh, entry)
		}
		listed[told] = true
	}
	return fresh
}

// RememberListed notes all that the observed document lists as seen now.
func (m *Memory) RememberListed() {
	for _, keys := range m.keys {
		m.Remember(keys)
	}
}

// RememberKnown notes what the observed document lists of stories that are known as seen now.
func (m *Memory) RememberKnown() {
	known := m.knownStories()
	for i, keys := range m.keys {
		if known[m.stories.First[i]] {
			m.Remember(keys)
		}
	}
}

// Remember notes all keys, trusted or not, as seen now. Of an attribute that changes from poll to poll, another value is
// no news, nor is another content under a title.
func (m *Memory) Remember(keys feed.Keys) {
	remember := func(set *keySet, key feed.Key, news bool) {
		if news {
			set.learn(key)
		} else {
			set.remember(key)
		}
	}
	remember(&m.guids, keys.GUID, !m.guidDoubt.changing)
	remember(&m.urls, keys.URL, !m.urlDoubt.changing)
	texts := &m.texts
	telling := keys.Trusted(m.telling())
	if telling.GUID.IsZero() && telling.URL.IsZero() {
		texts = &m.contents
	}
	remember(texts, keys.Content, keys.Title.IsZero() || !telling.Content.IsZero())
	if !m.knowsText(keys.Title) || texts == &m.contents && !m.contents.has(keys.Title) {
		texts.learn(keys.Title)
	} else {
		texts.remember(keys.Title)
	}
}

// Learnt reports whether anything is known now that was not when the memory was loaded: a key, or how far an
// attribute is to be trusted. What was merely seen again is no news.
func (m *Memory) Learnt() bool {
	for _, set := range m.sets() {
		if set.learnt {
			return true
		}
	}
	return m.guidDoubt.moved || m.urlDoubt.moved
}

// Store writes the trust and the keys, as a whole. What this poll remembered is always kept, and besides at
// least 20,000 keys of each kind that identifies entries; above that the least recently seen are forgotten.
func (m *Memory) Store(data *v1alpha1.FeedMemoryData) {
	m.storeTrust(data)
	for i, keys := range m.kept() {
		*fieldsOf(data)[i].keys = encode(keys)
	}
}

func (m *Memory) storeTrust(data *v1alpha1.FeedMemoryData) {
	data.Version = form
	data.GUIDsUntrusted, data.URLsUntrusted = m.trust.GUIDsUntrusted, m.trust.URLsUntrusted
	data.GUIDsUntrustedFor = int32(m.guidDoubt.shared) //nolint:gosec // at most ten
	data.URLsUntrustedFor = int32(m.urlDoubt.shared)   //nolint:gosec // at most ten
	data.GUIDsChanging, data.URLsChanging = m.guidDoubt.changing, m.urlDoubt.changing
}

// kept are the keys that are kept of each set, in the order of sets.
func (m *Memory) kept() [][]feed.Key {
	if m.old && len(m.keys) > 0 && len(m.contents.now) == 0 { // then contents identify nothing in this feed
		m.texts.before, m.contents.before = append(m.contents.before, m.texts.before...), nil
	}
	texts := m.texts.kept(minKeptTexts, maxTexts)
	return [][]feed.Key{
		m.guids.kept(minKept, maxKept), m.urls.kept(minKept, maxKept), m.contents.kept(minKeptContents, maxKept-len(texts)), texts,
		m.shared.kept(minKeptDoubts, maxDoubts), m.reused.kept(minKeptDoubts, maxDoubts),
	}
}

// sets are the sets of keys, in the order of fieldsOf.
func (m *Memory) sets() []*keySet {
	return []*keySet{&m.guids, &m.urls, &m.contents, &m.texts, &m.shared, &m.reused}
}

// A field has the keys of a set.
type field struct {
	name string
	keys *string
}

// fieldsOf are the fields of stored data that have keys.
func fieldsOf(data *v1alpha1.FeedMemoryData) []field {
	return []field{
		{"guids", &data.GUIDs}, {"urls", &data.URLs}, {"contents", &data.Contents}, {"texts", &data.Texts},
		{"shared", &data.Shared}, {"reused", &data.Reused},
	}
}
