// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package syndication publishes the summaries of a FeedSource as an Atom feed (RFC 4287) and as a
// JSON Feed (version 1.1), so that any feed reader can subscribe to what the operator wrote.
//
// It reads API objects and nothing else, and it writes none: every replica can serve it. It must
// never fetch anything from outside, never decide what happens to an item, and never publish
// spec.url of a source, which may carry a token in its query.
package syndication

import (
	"context"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
)

// Reader gives what a feed is made of.
type Reader interface {
	// Source returns a FeedSource, or an error for which apierrors.IsNotFound holds.
	Source(ctx context.Context, namespace, name string) (*v1alpha1.FeedSource, error)

	// Newest returns at most limit items of the source with that UID that are processed and have
	// a summary, in the order of NewestFirst. It is asked at every request and should answer from
	// a cache; no texts are needed.
	Newest(ctx context.Context, namespace, source string, uid types.UID, limit int) ([]Ref, error)

	// Item returns an item with all its text, or an error for which apierrors.IsNotFound holds.
	// It may be newer than the Ref.
	Item(ctx context.Context, ref Ref) (*v1alpha1.FeedItem, error)
}

// Ref is an item without its text: enough to order a feed and to notice that it has changed.
type Ref struct {
	Namespace       string
	Name            string
	UID             types.UID
	ResourceVersion string
	// Published is when the entry was published or, without a date, first seen.
	Published time.Time
	// Updated is when the item last changed its phase, which is when it was finished.
	Updated time.Time
}

// RefOf returns the reference of an item. It needs the item's metadata and times only, so that
// an item that is cached without its texts will do.
func RefOf(item *v1alpha1.FeedItem) Ref {
	return Ref{
		Namespace:       item.Namespace,
		Name:            item.Name,
		UID:             item.UID,
		ResourceVersion: item.ResourceVersion,
		Published:       item.Published().Time,
		Updated:         item.LastCheck().Time,
	}
}

// NewestFirst orders references for a feed, for use with slices.SortFunc: the newest published
// first, ties by name.
func NewestFirst(a, b Ref) int {
	if order := b.Published.Compare(a.Published); order != 0 {
		return order
	}
	return strings.Compare(a.Name, b.Name)
}
