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
	// minKept is how many keys are kept besides those of this poll.
	minKept = 20_000
	// maxKept is how many a field of FeedMemoryData can hold: 480,000 characters of base64, so that all three
	// fields together stay below what etcd takes.
	maxKept = 480_000 / 4 * 3 / keySize
)

// A keySet is a set of keys of one kind, in the order in which they were last seen. The zero
// value is empty.
type keySet struct {
	// before are the keys as they were loaded, now those of this poll; each the least recent first.
	before, now []feed.Key
	// seenNow has every key of the set, and whether it is among those of this poll.
	seenNow map[feed.Key]bool
	// learnt is set once a key was remembered that was not in the set.
	learnt bool
}

func (s *keySet) load(name, encoded string) error {
	raw, err := base64.StdEncoding.DecodeString(encoded)
	if err == nil && len(raw)%keySize != 0 {
		err = fmt.Errorf("%d bytes are not a multiple of %d", len(raw), keySize)
	}
	if err != nil {
		return failure.Wrap(v1alpha1.CategoryValidation, failure.TypeMalformed,
			fmt.Sprintf("The field %s of the memory cannot be read: %v.", name, err), err)
	}
	s.before = make([]feed.Key, 0, len(raw)/keySize)
	s.seenNow = make(map[feed.Key]bool, len(raw)/keySize)
	for ; len(raw) > 0; raw = raw[keySize:] {
		key := feed.Key(raw[:keySize])
		s.before = append(s.before, key)
		s.seenNow[key] = false
	}
	return nil
}

// has says whether the key is in the set. The zero key never is.
func (s *keySet) has(key feed.Key) bool {
	_, found := s.seenNow[key]
	return found && !key.IsZero()
}

// remember makes the key the most recent one, unless this poll has already done so.
func (s *keySet) remember(key feed.Key) {
	if key.IsZero() || s.seenNow[key] {
		return
	}
	if _, known := s.seenNow[key]; !known {
		s.learnt = true
	}
	s.now = append(s.now, key)
	s.seenNow[key] = true
}

// store encodes the set, without what is above the bound.
func (s *keySet) store() string {
	kept := make([]feed.Key, 0, len(s.before)+len(s.now))
	for _, key := range s.before {
		if !s.seenNow[key] {
			kept = append(kept, key)
		}
	}
	kept = kept[max(0, len(kept)-minKept):]
	kept = append(kept, s.now...)
	kept = kept[max(0, len(kept)-maxKept):]
	raw := make([]byte, 0, len(kept)*keySize)
	for _, key := range kept {
		raw = append(raw, key[:]...)
	}
	return base64.StdEncoding.EncodeToString(raw)
}
