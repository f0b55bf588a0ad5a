// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feedsource

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/feed"
	"github.com/feed-operator/feed-operator/internal/redact"
	"github.com/feed-operator/feed-operator/internal/seen"
)

// hidesSecret reports whether something was masked in what an item is identified by.
func hidesSecret(item *v1alpha1.FeedItem) bool {
	return redact.IsMasked(item.Spec.GUID) || redact.IsMasked(item.Spec.URL)
}

// rememberMasked remembers the entries of which there are items that cannot be told any more by what
// they hold, because a secret was masked in it: by their names.
func rememberMasked(book *seen.Memory, source *v1alpha1.FeedSource, items []v1alpha1.FeedItem, entries []feed.Entry) {
	masked := map[string]bool{}
	for i := range items {
		if hidesSecret(&items[i]) {
			masked[items[i].Name] = true
		}
	}
	if len(masked) == 0 {
		return
	}
	for _, entry := range entries {
		named := func(uid types.UID) bool { return masked[feed.ItemName(source.Name, string(uid), entry, book.Trust())] }
		if named(source.UID) || named(v1alpha1.OriginalUID(source)) { // the latter where they were restored from a backup
			book.Remember(feed.Identify(entry))
		}
	}
}
