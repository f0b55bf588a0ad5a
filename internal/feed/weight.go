// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feed

// What Parse takes of memory for each byte of a document beside it, and at least, in bytes; measured by
// TestWhatParsingTakes. What a document may become beyond that is bounded: its entries, the depth of its elements, and
// what lists hold.
const (
	eachByte = 5
	smallest = 256 << 10
	// eachEntry is what an entry takes beside its texts, and beside what notes that it was seen.
	eachEntry = 512
)

// Weigh returns how much memory Parse takes for a document, in bytes beside it.
func Weigh(body []byte) int64 { return smallest + eachByte*int64(len(body)) }

// Weight is how much memory the document takes, in bytes.
func (d *Document) Weight() int64 {
	weight := int64(len(d.Entries)) * eachEntry
	for i := range d.Entries {
		e := &d.Entries[i]
		weight += int64(len(e.GUID) + len(e.URL) + len(e.Title) + len(e.Author) + len(e.Content) + len(e.Description) + len(e.Image.URL) + len(e.Image.Description))
		for _, category := range e.Categories {
			weight += int64(len(category))
		}
	}
	return weight
}
