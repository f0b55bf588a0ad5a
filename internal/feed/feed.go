// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package feed turns the bytes of a feed document into entries, and reports what an entry is known by.
//
// It knows RSS, Atom and JSON Feed as they are found out there: with wrong character sets, broken
// XML, escaped twice, without links, titles or dates. It must never know where the bytes came
// from or where the entries go: no HTTP, no Kubernetes, no clock. It takes what an attacker
// wrote: whatever the bytes are, it returns, within bounds of time and memory.
package feed

import (
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/feedxml"
	"github.com/feed-operator/feed-operator/internal/plaintext"
)

// MaxEntries is how many entries of one document are used, the first ones in document order.
const MaxEntries = feedxml.MaxEntries

// Accept is an Accept header that asks for feeds first, and takes what a server has.
const Accept = "application/atom+xml, application/rss+xml, application/feed+json, application/rdf+xml;q=0.9, " +
	"application/xml;q=0.8, text/xml;q=0.8, application/json;q=0.7, */*;q=0.1"

// Document is one feed at one time.
type Document struct {
	// Title as plain text, at most 512 characters.
	Title string
	// Format such as "RSS 2.0", "RSS 1.0", "Atom 1.0" or "JSON Feed 1.1"; without the version
	// where the document does not say.
	Format string
	// Link to the site of the feed, absolute, http or https; or empty.
	Link string
	// Language as the feed declares it, such as "en-us"; or empty.
	Language string
	// TTL is for how many minutes the feed says that it can be kept before it is read again; 0 where
	// it does not say.
	TTL int
	// Entries in document order, without exact repetitions.
	Entries []Entry
	// Omitted is how many entries came after the first MaxEntries and were left out.
	Omitted int
	// Damage says, for a person, what of the document could not be read; empty when it is whole.
	Damage string
}

// Warning says, for a person, what of the document was not used and why; empty when all was.
func (d *Document) Warning() string {
	var warnings []string
	if d.Damage != "" {
		warnings = append(warnings, fmt.Sprintf("The feed is damaged: %s. Entries that could be read: %d.", d.Damage, len(d.Entries)))
	}
	if d.Omitted > 0 {
		warnings = append(warnings, fmt.Sprintf("The feed lists %d entries, only the first %d are used.",
			MaxEntries+d.Omitted, MaxEntries))
	}
	return strings.Join(warnings, " ")
}

// Entry is one entry of a feed, in the bounds of v1alpha1.FeedItemSpec.
type Entry struct {
	// GUID is the feed's own identifier of the entry; or empty. One of more than 2048
	// characters is replaced by "sha256:" and its hash in hexadecimal.
	GUID string
	// URL of the article, absolute, http or https, without user info; or empty. One of more than
	// 4096 characters is dropped, because a cut one leads elsewhere.
	URL string
	// Title as plain text, at most 1024 characters.
	Title string
	// Author as plain text, at most 256 characters; several are joined by commas.
	Author string
	// Categories as plain text, at most 32 of at most 128 characters.
	Categories []string
	// Published in UTC; zero when the feed gives no usable date.
	Published time.Time
	// Content is the feed's own content as given, HTML or text; where there is none, the
	// description. It has no bound but that of the document: see itemcontent.
	Content string
	// Description as given, HTML or text, where it is something else than Content; or empty.
	Description string
	// Image that the feed gives the entry. Without a URL there is none.
	Image Image
}

// Image is a picture that a feed gives an entry, in the bounds of v1alpha1.EntryImage.
type Image struct {
	// URL, absolute, http or https, without user info.
	URL string
	// Description is its alternative text, as plain text of at most 1500 characters; or empty.
	Description string
}

// Parse reads a feed document. The content type is the HTTP header of that name and may be empty
// or wrong; base is the URL of the document, for relative links, and may be empty.
//
// What can be read of a damaged document is returned, and Document.Damage says so. An error is a
// *failure.Error of category Validation: of type NotAFeed when the document is something else (a
// web page, other JSON or XML, nothing), of type Malformed when nothing in it can be read.
// Parse never panics.
func Parse(body []byte, contentType, base string) (document *Document, err error) {
	defer func() {
		if value := recover(); value != nil {
			panicked := failure.Panicked(value, debug.Stack())
			failed := failure.Wrap(v1alpha1.CategoryValidation, failure.TypeMalformed,
				"The feed could not be read: it upsets the parser.", panicked)
			failed.Stack = panicked.Stack
			document, err = nil, failed
		}
	}()
	text := feedxml.Readable(body, contentType)
	switch {
	case len(text) == 0:
		return nil, notAFeed("The answer is empty, there is no feed in it.")
	case text[0] == '{' || text[0] == '[':
		document, err = parseJSON(text, base)
	default:
		document, err = parseXML(text, base)
	}
	if err != nil {
		return nil, err
	}
	document.Title = plaintext.Cut(document.Title, MaxTitle)
	document.Language = plaintext.Cut(plaintext.Line(document.Language), maxLanguage)
	document.Entries = distinct(document.Entries)
	return document, nil
}

// distinct leaves out entries that say nothing at all, and all but the first of entries that are
// exactly the same.
func distinct(entries []Entry) []Entry {
	listed := make(map[Keys]bool, len(entries))
	kept := make([]Entry, 0, len(entries))
	for _, entry := range entries {
		keys := Identify(entry)
		if listed[keys] || entry.GUID == "" && entry.URL == "" && entry.Title == "" && entry.Content == "" {
			continue
		}
		listed[keys] = true
		kept = append(kept, entry)
	}
	return kept
}

func notAFeed(message string) error {
	return failure.New(v1alpha1.CategoryValidation, failure.TypeNotAFeed, message)
}

func malformed(message string, err error) error {
	return failure.Wrap(v1alpha1.CategoryValidation, failure.TypeMalformed, message, err)
}
