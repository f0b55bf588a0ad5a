// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package seen

import (
	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/feed"
)

// What is stored is written whole, whenever something is news. So a memory that has grown is stored in two parts: an archive
// that stays as it is for a while, and the latest, which is small: it has what the feed lists, and what was seen since the archive was
// written. An operator that knows nothing of archives knows by that all that is listed.
const (
	// archiveFrom is how many keys of a kind, besides those that are listed, a memory must have before it has an archive.
	archiveFrom = 2_000
	// archiveAfter is how many of them the latest part may have then, before they go into the archive.
	archiveAfter = 500
)

// StoreParts writes what Store does in two parts, each as it is to be stored now: the latest with the trust, and the archive. It
// says whether the archive has changed; that is to be stored first.
//
// Nothing comes into the archive that was not stored in the latest part before. So whoever stores the archive, and then fails
// to store the latest part, has changed nothing.
func (m *Memory) StoreParts(latest, archive *v1alpha1.FeedMemoryData) (rewritten bool) {
	return m.storeParts(latest, archive, archiveFrom, archiveAfter)
}

func (m *Memory) storeParts(latest, archive *v1alpha1.FeedMemoryData, from, after int) (rewritten bool) {
	m.storeTrust(latest)
	if *archive != (v1alpha1.FeedMemoryData{}) {
		from = after
	}
	kept, sets := m.kept(), m.sets()
	for i, set := range sets {
		part, unlisted := set.latest(kept[i])
		*fieldsOf(latest)[i].keys = encode(part)
		rewritten = rewritten || unlisted > from
	}
	if !rewritten {
		return false
	}
	archive.Version = form
	for i, set := range sets {
		*fieldsOf(archive)[i].keys, *fieldsOf(latest)[i].keys = encode(set.stored(kept[i])), encode(set.listed(kept[i]))
	}
	return true
}

// latest are those of the kept keys that the archive has not, or that were seen since; and how many of them this poll has not seen.
func (s *keySet) latest(kept []feed.Key) (part []feed.Key, unlisted int) {
	for _, key := range kept {
		switch {
		case s.seenNow[key]:
			part = append(part, key)
		case !s.archived[key]:
			part = append(part, key)
			unlisted++
		}
	}
	return part, unlisted
}

// stored are those of the kept keys that were stored before this poll.
func (s *keySet) stored(kept []feed.Key) (keys []feed.Key) {
	for _, key := range kept {
		if !s.added[key] {
			keys = append(keys, key)
		}
	}
	return keys
}

// listed are those that this poll has seen.
func (s *keySet) listed(kept []feed.Key) (keys []feed.Key) {
	for _, key := range kept {
		if s.seenNow[key] {
			keys = append(keys, key)
		}
	}
	return keys
}
