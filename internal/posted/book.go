// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package posted

import (
	"slices"
	"time"

	"github.com/feed-operator/feed-operator/internal/feed"
)

const (
	// KeptFor is how long a post is remembered.
	KeptFor = 90 * 24 * time.Hour
	// MostChunks is how many chunks are kept. All but the last are full, so the latest 20,000 posts at least are remembered.
	MostChunks = 21
)

// A Book has what was posted at one place. It is kept in numbered chunks, of which only the last one grows. It is not for
// concurrent use.
type Book struct {
	// chunks, the oldest first.
	chunks []*chunk
	// last is the highest number that a chunk has, also of one that cannot be read.
	last int64
	// known has for each key what it tells.
	known map[feed.Key]told
}

type chunk struct {
	number  int64
	records []record
	// written is how many of them are known to be kept, and changed that others are to be.
	written int
	changed bool
	// forgotten is how often what was kept of it was deleted.
	forgotten int
}

// told is what a key tells.
type told struct {
	// post that the key stands for.
	post *record
	// shared is set for a key that different entries have come with: it identifies none of them.
	shared bool
}

// New returns a book of nothing.
func New() *Book { return &Book{known: map[feed.Key]told{}} }

// Load reads a chunk. An error says that it is damaged, or newer (ErrNewer); its number is not used again then.
func (b *Book) Load(number int64, data string) error {
	b.last = max(b.last, number)
	records, err := decode(data)
	if err != nil {
		return err
	}
	at, found := b.find(number)
	if found {
		b.merge(b.chunks[at], records)
		return nil
	}
	loaded := &chunk{number: number, records: records, written: len(records)}
	b.chunks = slices.Insert(b.chunks, at, loaded)
	b.index()
	return nil
}

// merge adds what somebody else has written into a chunk, which is kept there already.
func (b *Book) merge(into *chunk, theirs []record) {
	ours := into.records
	into.records = slices.Clone(theirs)
	into.written = len(theirs)
	for i := range ours {
		if !slices.ContainsFunc(theirs, func(r record) bool { return r.Identity == ours[i].Identity }) {
			into.records = append(into.records, ours[i])
		}
	}
	into.changed = len(into.records) > into.written
	b.index()
}

func (b *Book) find(number int64) (at int, found bool) {
	return slices.BinarySearchFunc(b.chunks, number, func(c *chunk, number int64) int { return int(c.number - number) })
}

// index works out anew what the keys tell.
func (b *Book) index() {
	clear(b.known)
	for _, c := range b.chunks {
		for i := range c.records {
			b.note(&c.records[i])
		}
	}
}

// note takes in a post. A value without trust identifies nothing, nor does a URL or title with which two entries were posted
// that are told apart by something else.
func (b *Book) note(r *record) {
	for attribute, key := range r.keys {
		if key.IsZero() {
			continue
		}
		_, tells := r.tells(attribute)
		before, found := b.known[key]
		now := told{post: r, shared: !tells || before.shared}
		if found && !now.shared {
			now.shared = attribute > guid && differ(before.post, r, guid) || attribute > url && differ(before.post, r, url)
		}
		b.known[key] = now
	}
}

// differ reports whether two posts are of entries that an attribute tells apart.
func differ(a, b *record, attribute int) bool {
	first, tells := a.tells(attribute)
	second, tellsToo := b.tells(attribute)
	return tells && tellsToo && first != second
}

// Find returns the post of an entry, if it was posted within the last 90 days: if its GUID or its URL was, as far as they
// told the entry apart then and do so now; where neither does, if its title was, or its content. It is the rule by which a
// source knows its entries (package seen).
func (b *Book) Find(identity Identity, now time.Time) (Post, bool) {
	r := b.search(identity, now)
	if r == nil {
		return Post{}, false
	}
	return r.post(), true
}

// search returns the post of an entry; nil without one.
func (b *Book) search(identity Identity, now time.Time) *record {
	decided := false
	for attribute := range attributes {
		key, tells := identity.tells(attribute)
		if attribute > url && decided {
			break
		}
		found := b.known[key]
		if !tells || found.shared {
			continue
		}
		decided = true
		if found.post != nil && now.Sub(time.Unix(found.post.at, 0)) < KeptFor {
			return found.post
		}
	}
	return nil
}

// ChunkOf returns the number of the chunk that has the post of an entry, and whether it is known to be kept there.
func (b *Book) ChunkOf(identity Identity, now time.Time) (number int64, kept bool) {
	found := b.search(identity, now)
	for _, c := range b.chunks {
		for i := range c.records {
			if &c.records[i] == found {
				return c.number, i < c.written
			}
		}
	}
	return 0, false
}

// Remember notes a post of an entry. That of one which is known already with all its keys is no news.
func (b *Book) Remember(identity Identity, post Post, now time.Time) {
	if identity.IsZero() || b.knows(identity, now) {
		return
	}
	if len(post.URL) > longestURL {
		post.URL = ""
	}
	last := b.head()
	if len(last.records) == cap(last.records) { // the keys point into it
		last.records = slices.Grow(last.records, len(last.records)+1)
		b.index()
	}
	last.records = append(last.records, record{identity, post.URL, post.Time.Unix()})
	last.changed = true
	b.note(&last.records[len(last.records)-1])
}

// knows reports whether a post of the entry is remembered with the very same keys.
func (b *Book) knows(identity Identity, now time.Time) bool {
	for _, key := range identity.keys {
		if key.IsZero() {
			continue
		}
		found := b.known[key].post
		return found != nil && found.Identity == identity && now.Sub(time.Unix(found.at, 0)) < KeptFor
	}
	return false
}

// head is the chunk that grows.
func (b *Book) head() *chunk {
	if n := len(b.chunks); n > 0 && len(b.chunks[n-1].records) < chunkSize && b.chunks[n-1].number == b.last {
		return b.chunks[n-1]
	}
	b.last++
	fresh := &chunk{number: b.last}
	b.chunks = append(b.chunks, fresh)
	return fresh
}

// Len is how many posts are remembered.
func (b *Book) Len() int {
	n := 0
	for _, c := range b.chunks {
		n += len(c.records)
	}
	return n
}

// A Chunk is a part of the book as it is kept.
type Chunk struct {
	Number int64
	// Posts is how many it has, Latest is when the last of them was made.
	Posts  int
	Latest time.Time
	Data   string
	// forgotten is that of the chunk.
	forgotten int
}

// Unwritten returns the chunks that are to be kept anew.
func (b *Book) Unwritten() []Chunk {
	var chunks []Chunk
	for _, c := range b.chunks {
		if !c.changed {
			continue
		}
		latest := int64(0)
		for i := range c.records {
			latest = max(latest, c.records[i].at)
		}
		chunks = append(chunks, Chunk{c.number, len(c.records), time.Unix(latest, 0).UTC(), encode(c.records), c.forgotten})
	}
	return chunks
}

// Wrote notes that a chunk is kept as Unwritten has returned it, unless it was forgotten since.
func (b *Book) Wrote(written Chunk) {
	if at, found := b.find(written.Number); found && b.chunks[at].forgotten == written.forgotten {
		c := b.chunks[at]
		c.written = max(c.written, written.Posts)
		c.changed = len(c.records) > c.written
	}
}

// Forget drops what was kept in a chunk that somebody has deleted.
func (b *Book) Forget(number int64) {
	at, found := b.find(number)
	if !found {
		return
	}
	c := b.chunks[at]
	c.records = slices.Clone(c.records[c.written:])
	c.written, c.changed = 0, len(c.records) > 0
	c.forgotten++
	if len(c.records) == 0 && number != b.last {
		b.chunks = slices.Delete(b.chunks, at, at+1)
	}
	b.index()
}

// Drop forgets the chunks of which all posts are older than 90 days, and the oldest where there are too many. It returns
// their numbers.
func (b *Book) Drop(now time.Time) (numbers []int64) {
	surplus := len(b.chunks) - MostChunks
	kept := b.chunks[:0:0]
	for n, c := range b.chunks {
		old := !slices.ContainsFunc(c.records, func(r record) bool { return now.Sub(time.Unix(r.at, 0)) < KeptFor })
		if n < surplus || old && c.number != b.last {
			numbers = append(numbers, c.number)
			continue
		}
		kept = append(kept, c)
	}
	if len(numbers) > 0 {
		b.chunks = kept
		b.index()
	}
	return numbers
}
