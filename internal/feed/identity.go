// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feed

import (
	"crypto/sha256"
	"encoding/base32"
	"strings"
)

// Trust is how far a feed can be trusted to give different entries different attributes. A mark,
// once set, is never taken back.
type Trust struct {
	// GUIDsUntrusted is set once two different entries of one document shared a GUID.
	GUIDsUntrusted bool
	// URLsUntrusted is set once two different entries of one document shared a canonical URL.
	URLsUntrusted bool
}

// Observe returns the trust that is left after a document with these entries.
func (t Trust) Observe(entries []Entry) Trust {
	guids, urls := Shared(entries)
	t.GUIDsUntrusted = t.GUIDsUntrusted || len(guids) > 0
	t.URLsUntrusted = t.URLsUntrusted || len(urls) > 0
	return t
}

// Shared returns the GUIDs and the URLs that different entries of one document have in common.
// An entry that is listed twice, in all its identities the same, shares nothing.
func Shared(entries []Entry) (guids, urls map[Key]bool) {
	guids, urls = map[Key]bool{}, map[Key]bool{}
	byGUID, byURL := make(map[Key]Keys, len(entries)), make(map[Key]Keys, len(entries))
	for i := range entries {
		keys := Identify(entries[i])
		note(keys.GUID, keys, byGUID, guids)
		note(keys.URL, keys, byURL, urls)
	}
	return guids, urls
}

// note marks a key that another entry has already been seen with.
func note(key Key, keys Keys, first map[Key]Keys, shared map[Key]bool) {
	if key.IsZero() {
		return
	}
	if other, found := first[key]; !found {
		first[key] = keys
	} else if other != keys {
		shared[key] = true
	}
}

// A Key stands for one attribute of an entry: the first 8 bytes of SHA-256 over the attribute and
// its name. The zero Key stands for an attribute that the entry does not have.
type Key [8]byte

// IsZero says whether the entry does not have the attribute.
func (k Key) IsZero() bool { return k == Key{} }

// Keys are all that an entry can be known by, trusted or not.
type Keys struct {
	GUID Key
	URL  Key
	// Content stands for title and content; for GUID and URL where the entry has neither.
	Content Key
}

// Trusted returns the keys of the attributes by which the entry is told apart under the trust:
// GUID and URL as far as they are there and trusted, and Content when neither is.
func (k Keys) Trusted(trust Trust) Keys {
	var trusted Keys
	if !trust.GUIDsUntrusted {
		trusted.GUID = k.GUID
	}
	if !trust.URLsUntrusted {
		trusted.URL = k.URL
	}
	if trusted == (Keys{}) {
		trusted.Content = k.Content
	}
	return trusted
}

// Identify returns the keys of an entry.
func Identify(e Entry) Keys {
	keys := IdentifyItem(e.GUID, e.URL)
	if e.Title == "" && e.Content == "" {
		keys.Content = keyOf("bare", e.GUID, CanonicalURL(e.URL))
	} else {
		keys.Content = keyOf("content", e.Title, e.Content)
	}
	return keys
}

// IdentifyItem returns the keys that the specification of a FeedItem still has: of its content it
// may hold less than the entry did.
func IdentifyItem(guid, url string) Keys {
	var keys Keys
	if guid != "" {
		keys.GUID = keyOf("guid", guid)
	}
	if url != "" {
		keys.URL = keyOf("url", CanonicalURL(url))
	}
	return keys
}

// keyOf hashes the values with a zero byte before each.
func keyOf(attribute string, values ...string) Key {
	hash := sha256.New()
	var chunk [1024]byte // contents are long; copying one as a whole costs more than hashing it
	write := func(text string) {
		for len(text) > 0 {
			n := copy(chunk[:], text)
			hash.Write(chunk[:n])
			text = text[n:]
		}
	}
	write(attribute)
	for _, value := range values {
		write("\x00")
		write(value)
	}
	return Key(hash.Sum(chunk[:0])[:len(Key{})])
}

// longestName keeps the name of an item usable as a label's value and a host name.
const longestName = 63

var nameEncoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// ItemName returns the name of an entry's FeedItem: the name of its source, cut where it is long,
// and 13 characters that follow from the source's UID and the entry's first trusted attribute. So
// an entry that is created twice is refused by the API server the second time.
func ItemName(sourceName, sourceUID string, e Entry, t Trust) string {
	trusted := Identify(e).Trusted(t)
	key := trusted.GUID
	if key.IsZero() {
		key = trusted.URL
	}
	if key.IsZero() {
		key = trusted.Content
	}
	return ItemNameOf(sourceName, sourceUID, key)
}

// ItemNameOf returns the name of the FeedItem of an entry with that first trusted key.
func ItemNameOf(sourceName, sourceUID string, key Key) string {
	identity := keyOf("item", sourceUID, string(key[:]))
	suffix := nameEncoding.EncodeToString(identity[:])
	prefix := strings.TrimRight(sourceName[:min(len(sourceName), longestName-1-len(suffix))], "-.")
	if prefix == "" {
		return suffix
	}
	return prefix + "-" + suffix
}
