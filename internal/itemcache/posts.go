// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package itemcache

import (
	"strings"
	"sync"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
)

// donePosts has what the cached form of a processed item keeps of its deliveries: to which destinations it was posted. Most
// items of a source have that in common, and share it.
var donePosts = &rowPool{most: 4096, known: map[string][]v1alpha1.Delivery{}}

// rowPool keeps deliveries that nobody writes to, each combination of destinations once, as far as there is room.
type rowPool struct {
	mu    sync.Mutex
	most  int
	known map[string][]v1alpha1.Delivery
}

// of returns the destinations to which the deliveries were posted, as deliveries; nil for none.
func (p *rowPool) of(rows []v1alpha1.Delivery) []v1alpha1.Delivery {
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
	p.mu.Lock()
	defer p.mu.Unlock()
	if done, ok := p.known[key]; ok {
		return done
	}
	done := make([]v1alpha1.Delivery, 0, len(names))
	for _, name := range names {
		done = append(done, v1alpha1.Delivery{Destination: shared(name), State: v1alpha1.DeliveryDone})
	}
	if len(p.known) >= p.most { // those that are still asked for come back
		clear(p.known)
	}
	p.known[strings.Clone(key)] = done
	return done
}
