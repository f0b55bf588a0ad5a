// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/feed"
)

// keeper says whether an entry becomes an item at all, and if not, why.
type keeper func(entry feed.Entry) (kept bool, why string)

// keeperOf returns what the source says about which entries it wants: all of them.
func keeperOf(*v1alpha1.FeedSource) (keeper, error) {
	return func(feed.Entry) (bool, string) { return true, "" }, nil
}
