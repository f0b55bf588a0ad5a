// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package posted is the compact memory of what was posted at one place, of which feeds. It outlives the items whose posts
// those were, and their sources.
//
// It knows keys, posts and their form in a FeedMemory. It must never know where that is kept, nor which place it is about.
package posted

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/feed"
)

// identityForm is the version of an Identity that is written.
const identityForm = 1

// What an entry can be known by.
const (
	guid = iota
	url
	title
	content
	attributes
)

// An Identity is by what an entry of a feed is known again, whichever source lists it. The zero Identity is known by nothing.
type Identity struct {
	// keys of what the entry has; zero for what it has not.
	keys [attributes]feed.Key
	// trusted has a bit for each attribute that told the entry apart from the others of its feed.
	trusted byte
}

// Of returns the identity of an entry of the feed at a URL, under the trust that its source has at that time.
func Of(feedURL string, keys feed.Keys, trust feed.Trust) Identity {
	identity := Identity{}
	trusted := keys.Trusted(trust)
	identity.set(guid, keys.GUID, !trusted.GUID.IsZero())
	identity.set(url, keys.URL, !trusted.URL.IsZero())
	titleTells := !keys.Title.IsZero() && !trust.Shared[keys.Title]
	identity.set(title, keys.Title, titleTells)
	if !titleTells {
		identity.set(content, keys.Content, true)
	}
	return identity.within(feedURL)
}

// OfItem returns the identity of the entry that an item was made of, whose source reads a URL. What the item does not say,
// because it is older than that, follows from what it holds and from its name.
func OfItem(item *v1alpha1.FeedItem, feedURL string) Identity {
	if identity, err := Parse(item.Spec.Identity); err == nil && identity != (Identity{}) {
		return identity
	}
	spec := &item.Spec
	keys := feed.IdentifyItem(spec.GUID, spec.URL, spec.Title)
	named := func(key feed.Key) bool {
		return !key.IsZero() && item.Name == feed.ItemNameOf(spec.SourceRef.Name, string(spec.SourceRef.UID), key)
	}
	identity := Identity{}
	byGUID := named(keys.GUID)
	identity.set(guid, keys.GUID, byGUID)
	identity.set(url, keys.URL, byGUID || named(keys.URL)) // the name of one with a trusted GUID says nothing of its URL
	identity.set(title, keys.Title, true)
	return identity.within(feedURL)
}

func (i *Identity) set(attribute int, key feed.Key, trusted bool) {
	i.keys[attribute] = key
	if trusted && !key.IsZero() {
		i.trusted |= 1 << attribute
	}
}

// within makes of the keys of a feed those of this feed.
func (i Identity) within(feedURL string) Identity {
	canonical := feed.CanonicalURL(feedURL)
	for n, key := range i.keys {
		if !key.IsZero() {
			sum := sha256.Sum256([]byte("posted\x00" + canonical + "\x00" + string(key[:])))
			i.keys[n] = feed.Key(sum[:len(key)])
		}
	}
	return i
}

// IsZero reports whether nothing is known by which the entry could be known again.
func (i Identity) IsZero() bool { return i.trusted == 0 }

// tells returns the key of an attribute if it told the entry apart.
func (i Identity) tells(attribute int) (feed.Key, bool) {
	return i.keys[attribute], i.trusted&(1<<attribute) != 0
}

// Telling returns the keys of which no two entries that are posted have one in common: those by which this one was told
// apart from others.
func (i Identity) Telling() []feed.Key {
	var keys []feed.Key
	for _, attribute := range [...]int{guid, url} {
		if key, tells := i.tells(attribute); tells {
			keys = append(keys, key)
		}
	}
	for _, attribute := range [...]int{title, content} {
		if key, tells := i.tells(attribute); tells && len(keys) == 0 {
			keys = append(keys, key)
		}
	}
	return keys
}

// mask has a bit for each attribute that the entry has, and above them one for each that told it apart.
func (i Identity) mask() byte {
	mask := i.trusted << attributes
	for n, key := range i.keys {
		if !key.IsZero() {
			mask |= 1 << n
		}
	}
	return mask
}

var errForm = errors.New("unknown form")

// String returns the identity as a FeedItem holds it: base64 of its version, its mask and its keys.
func (i Identity) String() string {
	raw := []byte{identityForm, i.mask()}
	for _, key := range i.keys {
		if !key.IsZero() {
			raw = append(raw, key[:]...)
		}
	}
	return base64.RawStdEncoding.EncodeToString(raw)
}

// Parse reads what String has written. That of nothing is the zero Identity.
func Parse(text string) (Identity, error) {
	if text == "" {
		return Identity{}, nil
	}
	raw, err := base64.RawStdEncoding.DecodeString(text)
	switch {
	case err != nil:
		return Identity{}, err
	case len(raw) < 2 || raw[0] != identityForm:
		return Identity{}, errForm
	}
	identity, rest, err := identityFrom(raw[1], raw[2:])
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("%d bytes too many", len(rest))
	}
	return identity, err
}

var errCut = errors.New("it ends too early")

// identityFrom reads the keys that a mask announces, and returns what comes after them.
func identityFrom(mask byte, raw []byte) (identity Identity, rest []byte, err error) {
	for n := range attributes {
		if mask&(1<<n) == 0 {
			continue
		}
		if len(raw) < len(feed.Key{}) {
			return Identity{}, nil, errCut
		}
		identity.set(n, feed.Key(raw[:len(feed.Key{})]), mask&(1<<(attributes+n)) != 0)
		raw = raw[len(feed.Key{}):]
	}
	return identity, raw, nil
}
