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

// A Memory serves one poll: it is loaded, observes the document, tells which entries are known,
// remembers what is seen now, and is stored. It is not for concurrent use.
type Memory struct {
	trust feed.Trust

	guids    keySet
	urls     keySet
	contents keySet

	// What different entries of the observed document have in common, if that has cost the
	// attribute its trust just now; else nil.
	newlySharedGUIDs map[feed.Key]bool
	newlySharedURLs  map[feed.Key]bool
}

// Load reads a memory; that of no data is empty. An error is a *failure.Error of category
// Validation: somebody has changed what was stored.
func Load(data v1alpha1.FeedMemoryData) (*Memory, error) {
	m := &Memory{trust: feed.Trust{GUIDsUntrusted: data.GUIDsUntrusted, URLsUntrusted: data.URLsUntrusted}}
	for _, field := range []struct {
		name string
		from string
		into *keySet
	}{{"guids", data.GUIDs, &m.guids}, {"urls", data.URLs, &m.urls}, {"contents", data.Contents, &m.contents}} {
		if err := field.into.load(field.name, field.from); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// Trust returns how far the attributes of the feed's entries can be trusted.
func (m *Memory) Trust() feed.Trust { return m.trust }

// Empty says whether nothing was ever seen.
func (m *Memory) Empty() bool {
	return len(m.guids.seenNow)+len(m.urls.seenNow)+len(m.contents.seenNow) == 0
}

// Observe takes in which attributes the document's entries have in common, and so which can be
// trusted from now on. It comes before Known.
func (m *Memory) Observe(entries []feed.Entry) {
	guids, urls := feed.Shared(entries)
	if len(guids) > 0 && !m.trust.GUIDsUntrusted {
		m.trust.GUIDsUntrusted, m.newlySharedGUIDs = true, guids
	}
	if len(urls) > 0 && !m.trust.URLsUntrusted {
		m.trust.URLsUntrusted, m.newlySharedURLs = true, urls
	}
}

// Known says whether an entry with these keys was seen: by its GUID or its URL as far as they are
// trusted, and by its content when it has neither.
//
// In the very document that costs an attribute its trust, it still counts for the entries that do
// not share it: they were told apart by it until now, and their contents may have been edited
// since. This poll remembers the contents, on which the next ones rely.
func (m *Memory) Known(keys feed.Keys) bool {
	trusted := keys.Trusted(m.trust)
	if m.newlySharedGUIDs != nil && !m.newlySharedGUIDs[keys.GUID] {
		trusted.GUID = keys.GUID
	}
	if m.newlySharedURLs != nil && !m.newlySharedURLs[keys.URL] {
		trusted.URL = keys.URL
	}
	return m.guids.has(trusted.GUID) || m.urls.has(trusted.URL) || m.contents.has(trusted.Content)
}

// Fresh returns the entries that were never seen, in document order, each once.
func (m *Memory) Fresh(entries []feed.Entry) []feed.Entry {
	var fresh []feed.Entry
	listed := map[string]bool{}
	for _, entry := range entries {
		name := feed.ItemName("", "", entry, m.trust)
		if !listed[name] && !m.Known(feed.Identify(entry)) {
			fresh = append(fresh, entry)
		}
		listed[name] = true
	}
	return fresh
}

// Remember notes all keys, trusted or not, as seen now.
func (m *Memory) Remember(keys feed.Keys) {
	m.guids.remember(keys.GUID)
	m.urls.remember(keys.URL)
	m.contents.remember(keys.Content)
}

// Learnt says whether anything is known now that was not when the memory was loaded: a key, or that an
// attribute is not to be trusted. What was merely seen again is no news.
func (m *Memory) Learnt() bool {
	return m.guids.learnt || m.urls.learnt || m.contents.learnt || m.newlySharedGUIDs != nil || m.newlySharedURLs != nil
}

// Store writes the trust and the keys. What this poll remembered is always kept, and besides at
// least 20,000 keys of each kind; above that the least recently seen are forgotten.
func (m *Memory) Store(data *v1alpha1.FeedMemoryData) {
	data.GUIDsUntrusted, data.URLsUntrusted = m.trust.GUIDsUntrusted, m.trust.URLsUntrusted
	data.GUIDs, data.URLs, data.Contents = m.guids.store(), m.urls.store(), m.contents.store()
}
