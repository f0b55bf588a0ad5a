// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/feed"
	"github.com/feed-operator/feed-operator/internal/filter"
)

// keeper says whether an entry becomes an item at all, and if not, why.
type keeper func(entry feed.Entry) (kept bool, why string)

// keeperOf makes the filters of a source ready. The error says what is wrong with them.
func keeperOf(source *v1alpha1.FeedSource) (keeper, error) {
	filters, err := filter.Compile(source.Spec.Filters)
	if err != nil {
		return nil, err
	}
	return filters.Keep, nil
}
