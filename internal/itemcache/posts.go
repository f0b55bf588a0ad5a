// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package itemcache

import (
	"strings"

	"k8s.io/utils/lru"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
)

// donePosts has what the cached form of a processed item keeps of its deliveries: to which destinations it was posted. Most
// items of a source have that in common, and share it, as far as there is room.
var donePosts = lru.New(4096) // deliveries that nobody writes to, by the names of their destinations

// postsOf returns the destinations to which the deliveries were posted, as deliveries; nil for none.
func postsOf(rows []v1alpha1.Delivery) []v1alpha1.Delivery {
	var names []string
	for i := range rows {
		if rows[i].State == v1alpha1.DeliveryDone {
			names = append(names, rows[i].Destination)
		}
	}
	if len(names) == 0 {
		return nil
	}
	key := strings.Join(names, "/") // which no name has
	found, _ := donePosts.Get(key)
	if done, known := found.([]v1alpha1.Delivery); known {
		return done
	}
	done := make([]v1alpha1.Delivery, 0, len(names))
	for _, name := range names {
		done = append(done, v1alpha1.Delivery{Destination: shared(name), State: v1alpha1.DeliveryDone})
	}
	donePosts.Add(strings.Clone(key), done)
	return done
}
