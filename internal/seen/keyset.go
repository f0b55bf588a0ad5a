// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package seen

import (
	"encoding/base64"
	"fmt"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/feed"
)

const (
	keySize = len(feed.Key{})
	// minKept is how many keys by which entries are identified are kept besides those of this poll.
	minKept = 20_000
	// minKeptContents is the same for titles and contents by which entries are identified: two keys for each entry.
	minKeptContents = 2 * minKept
	// minKeptTexts is the same for those of entries that are identified by GUID or URL, of which 2,000 are enough: it
	// takes the loss of both to need them.
	minKeptTexts = 2 * 2_000
	// minKeptDoubts is the same for what is known of single values.
	minKeptDoubts = 2_000
	// maxKept, maxTexts and maxDoubts are how many keys the fields of FeedMemoryData can hold: 480,000, 240,000 and
	// 32,000 characters of base64. All fields together must stay below what etcd takes, so the contents get what the
	// texts leave.
	maxKept   = 480_000 / 4 * 3 / keySize
	maxTexts  = 240_000 / 4 * 3 / keySize
	maxDoubts = 32_000 / 4 * 3 / keySize
)

// A keySet is a set of keys of one kind, in the order in which they were last seen. The zero
// value is empty.
type keySet struct {
	// before are the keys as they were loaded, now those of this poll; each the least recent first.
	before, now []feed.Key
	// seenNow has every key of the set, and whether it is among those of this poll.
	seenNow map[feed.Key]bool
	// added has the keys of this poll that were not in the set.
	added map[feed.Key]bool
	// archived has the keys that were loaded from an archive and from nowhere else.
	archived map[feed.Key]bool
	// learnt is set once a key was remembered that was not in the set, and that is news.
	learnt bool
}

// load reads the keys of an archive, and those that were stored since: what is in both was seen since.
func (s *keySet) load(name, archived, latest string) error {
	older, err := decode(name, archived)
	if err != nil {
		return err
	}
	newer, err := decode(name, latest)
	if err != nil {
		return err
	}
	s.before = make([]feed.Key, 0, len(older)+len(newer))
	s.seenNow = make(map[feed.Key]bool, len(older)+len(newer))
	s.archived = make(map[feed.Key]bool, len(older))
	for _, key := range newer {
		s.seenNow[key] = false
	}
	for _, key := range older {
		if _, newer := s.seenNow[key]; !newer {
			s.before = append(s.before, key)
			s.seenNow[key], s.archived[key] = false, true
		}
	}
	s.before = append(s.before, newer...)
	return nil
}

func decode(name, encoded string) ([]feed.Key, error) {
	raw, err := base64.StdEncoding.DecodeString(encoded)
	if err == nil && len(raw)%keySize != 0 {
		err = fmt.Errorf("%d bytes are not a multiple of %d", len(raw), keySize)
	}
	if err != nil {
		return nil, failure.Wrap(v1alpha1.CategoryValidation, failure.TypeMalformed,
			fmt.Sprintf("The field %s of the memory cannot be read: %v.", name, err), err)
	}
	keys := make([]feed.Key, 0, len(raw)/keySize)
	for ; len(raw) > 0; raw = raw[keySize:] {
		keys = append(keys, feed.Key(raw[:keySize]))
	}
	return keys, nil
}

// has reports whether the key is in the set. The zero key never is.
func (s *keySet) has(key feed.Key) bool {
	_, found := s.seenNow[key]
	return found && !key.IsZero()
}

// remember makes the key the most recent one, unless this poll has already done so. It reports whether the key was not
// in the set.
func (s *keySet) remember(key feed.Key) (added bool) {
	if key.IsZero() || s.seenNow[key] {
		return false
	}
	_, known := s.seenNow[key]
	s.now = append(s.now, key)
	s.seenNow[key] = true
	if !known {
		if s.added == nil {
			s.added = map[feed.Key]bool{}
		}
		s.added[key] = true
	}
	return !known
}

// learn is remember for a key that is news when it was not in the set.
func (s *keySet) learn(key feed.Key) {
	if s.remember(key) {
		s.learnt = true
	}
}

// kept returns the keys, the least recent first: of those that this poll has not seen the last so many, and of all
// together the last so many.
func (s *keySet) kept(besides, most int) []feed.Key {
	kept := make([]feed.Key, 0, len(s.before)+len(s.now))
	for _, key := range s.before {
		if !s.seenNow[key] {
			kept = append(kept, key)
		}
	}
	kept = kept[max(0, len(kept)-besides):]
	kept = append(kept, s.now...)
	return kept[max(0, len(kept)-most):]
}

func encode(keys []feed.Key) string {
	raw := make([]byte, 0, len(keys)*keySize)
	for _, key := range keys {
		raw = append(raw, key[:]...)
	}
	return base64.StdEncoding.EncodeToString(raw)
}
