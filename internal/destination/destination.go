// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package destination holds what every receiver of posts has in common: the Destination
// interface, and how the text of a post is made and made to fit.
//
// A destination makes one call and reports what came of it. It knows nothing of retries, of
// waiting or of Kubernetes.
package destination

import (
	"context"
	"errors"
	"time"
)

// Post is what a destination is asked to publish.
type Post struct {
	// Text, complete: links, hashtags and all.
	Text string
	// ContentWarning hides the text behind a line of its own. May be empty.
	ContentWarning string
	// Link of the item that the post is about, as it stands in Text. May be empty.
	Link string
	// Language of the text as a BCP 47 tag, such as "ja". May be empty.
	Language string
	// Visibility, as the destination's API calls it. May be empty.
	Visibility string
	// ImageID is what an Illustrator has named the image of the post. May be empty.
	ImageID string
}

// Receipt is what a post has become.
type Receipt struct {
	// ID of the post at the destination. Empty for one that names none: then it is no Finder.
	ID string
	// URL where people see the post. May be empty.
	URL string
	// Duplicate is set if the other side says that it has had the post before.
	Duplicate bool
}

// Destination publishes posts.
type Destination interface {
	// Deliver makes one call. The same key marks the same post: where the other side honours it, a
	// call that is repeated makes no second post.
	//
	// An error is a *failure.Error. Where Certain(err) holds, nothing was published; else nobody
	// knows, and the other side has to be asked before the call is repeated.
	Deliver(ctx context.Context, key string, post Post) (Receipt, error)
}

// Repeater is a Destination that cannot be asked what was published, and whose owner has decided what is done where nobody knows.
type Repeater interface {
	// Repeats reports whether a call is made again with the same key, however long ago the first one was; else a person has to decide.
	Repeats() bool
}

// Query describes a post that may have been published.
type Query struct {
	// Since is the earliest time at which it can have been published, by the caller's clock.
	Since time.Time
	// Post as it would be published now.
	Post Post
	// TextHash of the post as it was to be published then, from TextHash: the template, the limits or
	// the name of the feed may have changed since.
	TextHash string
	// Timeout is how long one request of the search may take; 0 is for as long as the search.
	Timeout time.Duration
	// Taken means that a published post is known to be another item's.
	Taken func(Receipt) bool
}

// ErrTooMany is behind the failure of a search that has seen as many posts as it may, and not all: another one would see no more.
var ErrTooMany = errors.New("too many posts to look through")

// Finder is a Destination that can be asked what was published.
type Finder interface {
	// Find looks for a post. It returns false when it is certain that there is none, and an error
	// (a *failure.Error) when that cannot be said. The other side's clock may be another one than the
	// caller's: that is its to know.
	Find(ctx context.Context, query Query) (Receipt, bool, error)
}
