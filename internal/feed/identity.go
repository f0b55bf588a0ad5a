// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feed

import (
	"crypto/sha256"
	"encoding/base32"
	"strings"
)

// Trust is how far a feed can be trusted to give different entries different attributes. The zero Trust trusts all.
type Trust struct {
	// GUIDsUntrusted is set while no GUID of the feed identifies anything.
	GUIDsUntrusted bool
	// URLsUntrusted is set while no URL of the feed identifies anything.
	URLsUntrusted bool
	// Shared has the GUIDs, URLs and titles that different entries have come with. They identify none of them.
	Shared map[Key]bool
}

// A Key stands for one attribute of an entry: the first 8 bytes of SHA-256 over the attribute and
// its name. The zero Key stands for an attribute that the entry does not have.
type Key [8]byte

// IsZero reports whether the entry does not have the attribute.
func (k Key) IsZero() bool { return k == Key{} }

// Keys are all that an entry can be known by, trusted or not.
type Keys struct {
	GUID  Key
	URL   Key
	Title Key
	// Content stands for title and content; for GUID and URL where the entry has neither.
	Content Key
	// Telling is set when the entry has content, so that Content tells more than Title.
	Telling bool
	// GUIDFollowsURL is set when the GUID is the URL, in another form or with a fragment, in which some feeds count the
	// revisions of an article: another such GUID at the same URL says nothing of another entry.
	GUIDFollowsURL bool
}

// Trusted returns the keys by which the entry is told apart under the trust: GUID and URL as far as they are there and
// trusted. When neither is, the title; and the content where there is no title, or one that different entries have.
func (k Keys) Trusted(trust Trust) Keys {
	var trusted Keys
	if !trust.GUIDsUntrusted && !trust.Shared[k.GUID] {
		trusted.GUID = k.GUID
	}
	if !trust.URLsUntrusted && !trust.Shared[k.URL] {
		trusted.URL = k.URL
	}
	switch {
	case trusted != Keys{}:
	case trust.Shared[k.Title] || k.Title.IsZero():
		trusted.Content = k.Content
	default:
		trusted.Title = k.Title
	}
	return trusted
}

// First returns the key from which an entry with these trusted keys has its name.
func (k Keys) First() Key {
	for _, key := range []Key{k.GUID, k.URL, k.Title} {
		if !key.IsZero() {
			return key
		}
	}
	return k.Content
}

// Text returns the key of the title, and that of the content where there is no title.
func (k Keys) Text() Key {
	if k.Title.IsZero() {
		return k.Content
	}
	return k.Title
}

// Identify returns the keys of an entry.
func Identify(e Entry) Keys {
	keys := IdentifyItem(e.GUID, e.URL, e.Title)
	if e.Title == "" && e.Content == "" {
		keys.Content = keyOf("bare", e.GUID, CanonicalURL(e.URL))
	} else {
		keys.Content = keyOf("content", e.Title, e.Content)
	}
	keys.Telling = e.Content != ""
	return keys
}

// IdentifyItem returns the keys that the specification of a FeedItem still has: of its content it
// may hold less than the entry did.
func IdentifyItem(guid, link, title string) Keys {
	var keys Keys
	if guid != "" {
		keys.GUID = keyOf("guid", guid)
	}
	if link != "" {
		canonical := CanonicalURL(link)
		keys.URL = keyOf("url", canonical)
		keys.GUIDFollowsURL = followsURL(guid, canonical)
	}
	if title != "" {
		keys.Title = keyOf("title", title)
	}
	return keys
}

func followsURL(guid, canonical string) bool {
	if !strings.HasPrefix(guid, "http") {
		return false
	}
	page, _, _ := strings.Cut(guid, "#")
	return CanonicalURL(guid) == canonical || CanonicalURL(page) == canonical
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
	key := Identify(e).Trusted(t).First()
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
