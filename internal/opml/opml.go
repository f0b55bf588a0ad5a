// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package opml reads and writes lists of subscriptions, and turns them into FeedSources and back.
//
// It knows OPML as feed readers write it (https://opml.org/spec2.opml). It is pure: no files, no
// network, no API server. It takes what an attacker wrote: whatever the bytes are, it returns, within
// bounds of time and memory.
package opml

// Namespace is that of the attribute that keeps the name of a FeedSource: readers of OPML ignore what
// they do not know (OPML 2.0, "Extending OPML").
const Namespace = "https://github.com/feed-operator/feed-operator/opml"

// Bounds of a document.
const (
	// MaxBytes of a document.
	MaxBytes = 20 << 20
	// maxOutlines of a document, folders included.
	maxOutlines = 50_000
	// maxDepth of folders in each other. What lies deeper is in the last of them.
	maxDepth = 16
	// maxDepthRead is how deep a document may be at all.
	maxDepthRead = 256
	maxText      = 512
	maxURL       = 2048
)

// Document is a list of subscriptions.
type Document struct {
	// Title of the list. May be empty.
	Title string
	Feeds []Feed
	// Skipped is what is in the list and is no feed.
	Skipped []Skipped
}

// Feed is one subscription.
type Feed struct {
	// Name of the FeedSource, where the list was written by this package. May be empty.
	Name string
	// Title as the person or the feed calls it. May be empty.
	Title string
	// URL of the feed, as it stands in the list.
	URL string
	// Folder that the feed is in, the outermost first.
	Folder []string
}

// Skipped is an entry of a list of which nothing was made.
type Skipped struct {
	// Title of the entry, for a person.
	Title string
	// Why, for a person; never with a credential.
	Why string
	// Refused is set if the entry is a feed, and cannot be read as it is: a person has to do something.
	Refused bool
}
